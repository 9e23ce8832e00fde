"""The commands `tune` and `check`, and the budget of scripted runs."""

import json
import sys
from operator import lt

import pytest
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack import ContextPackPlugin, SettingError
from adk_context_pack.replay.command import Trial
from adk_context_pack.reports.token_use import TokenUse
from adk_context_pack.testing import check_budget
from tests.replay.test_command import run_command as run
from tests.support.events import event, user_said
from tests.support.plugin_apps import analyst
from tests.support.run import run_agent


def exchange(agent, tool, result, number, *, model_version=None, **args):
    call_id, run = f"{agent}-{number}-{tool}", {"invocation_id": f"turn-{number}"}
    call = types.FunctionCall(id=call_id, name=tool, args=args)
    response = types.FunctionResponse(id=call_id, name=tool, response=result)
    yield event(agent, types.Part(function_call=call), model_version=model_version, **run)
    yield event(agent, types.Part(function_response=response), role="user", **run)


def session_of(agent, folder, *, uses_rows, turns=5, **made):
    """Each turn fetches 60 orders, and then ships four of them or nothing."""
    events = []
    for number in range(turns):
        events.append(user_said(f"and now number {number}", invocation_id=f"turn-{number}"))
        rows = [{"order": f"ORD-{number}{place:04}", "note": f"left at door {place}"} for place in range(60)]
        events += exchange(agent, "fetch", {"rows": rows}, number, **made)
        chosen = [row["order"] for row in rows[40:44]] if uses_rows else "nothing"
        events += exchange(agent, "ship", {"status": "ok"}, number, order=chosen, **made)
        events.append(event(agent, types.Part(text="Done."), invocation_id=f"turn-{number}"))
    session = Session(id=f"{agent}-session", app_name="shop", user_id="u", events=events)
    (folder / f"{agent}.json").write_text(session.model_dump_json(by_alias=True, exclude_none=True), encoding="utf-8")


@pytest.fixture
def recordings(tmp_path):
    session_of("clerk", tmp_path, uses_rows=True)
    session_of("poet", tmp_path, uses_rows=False)
    return tmp_path


@pytest.mark.parametrize(("visible", "price"), [(99.5, 0.1), (0, 0.1), (99.5, 1.0)])
def test_the_recommended_settings_cost_what_is_said(recordings, capsys, monkeypatch, visible, price):
    """What is pasted costs in `replay` what `tune` printed, loses no more than allowed, and nothing tried is better."""
    options = (recordings, "--visible", visible, "--price-cached", price)
    code, out, err = run(capsys, "tune", *options)
    assert (code, err) == (0, "")
    found = json.loads(run(capsys, "tune", *options, "--json")[1])
    best = found["recommended"]
    assert best["visible"] >= visible / 100
    allowed = [each for each in found["trials"] if each["visible"] >= visible / 100]
    assert best["cost"] <= min(each["cost"] for each in allowed) / 0.98
    monkeypatch.setitem(sys.modules, "pasted_settings", type(sys)("pasted_settings"))
    exec(out[out.index("from adk_context_pack") :], vars(sys.modules["pasted_settings"]))  # noqa: S102 - as a user does
    answers = ("--answerability", "--plugin", "pasted_settings:plugin", "--price-cached", price)
    replayed = json.loads(run(capsys, "replay", recordings, "--json", *answers)[1])
    hidden = best["values"] - best["visible"] * best["values"]
    assert replayed["cost_with"] * (1 + 2 * hidden / replayed["calls"]) == pytest.approx(best["cost"])
    assert replayed["answerability"]["strategies"][1]["visible"] == best["visible"] * best["values"]


def test_agents_get_settings_of_their_own_where_that_helps(recordings, capsys):
    """The agent that needs rows keeps them, the other is shown little, and that costs less than one for both."""
    found = json.loads(run(capsys, "tune", recordings, "--json")[1])
    for_all = [each for each in found["trials"] if "agents=" not in each["settings"] and each["visible"] >= 0.995]
    assert ', agents={"poet": PackSettings(' in found["recommended"]["settings"]
    assert found["recommended"]["cost"] < 0.98 * min(each["cost"] for each in for_all)


@pytest.mark.parametrize("visible", [0, 100])
def test_few_values_recommend_nothing(recordings, capsys, monkeypatch, visible):
    """On fewer values than tell something the defaults are recommended, whatever is cheaper or shows more."""
    monkeypatch.setattr("adk_context_pack.replay.command._ENOUGH", 99)
    found = json.loads(run(capsys, "tune", recordings, "--visible", visible, "--json")[1])
    assert found["recommended"]["settings"] == "ContextPackPlugin()"


@pytest.mark.parametrize(("last", "needed"), [(2_500, 0), (2_501, 4_002)])
def test_no_budget_is_recommended_that_cuts_into_a_turn(last, needed):
    """A budget whose half is below what a turn adds comes after all others, and says what would do."""
    turns = {("a", "session", "turn-1"): [500, 900, last], ("b", "session", "turn-1"): [9_000, 9_100]}
    small, other = (Trial(source=source, agents={}, use=TokenUse(), turns=turns) for source in ("max_tokens=4_000", ""))
    assert (small.needed(), small.needed("a"), small.needed("b"), other.needed()) == (needed, needed, 0, 0)
    other.use.total.cost_with = 1.0
    assert (small.rank(0.9) < other.rank(0.9)) is (needed == 0)


@pytest.mark.parametrize(("less", "more"), [("1", "0"), ("0 gpt-4", "0"), ("0.1", "0.1 gemini-3")])
def test_prices_and_models_decide_what_is_cleared(tmp_path, capsys, less, more):
    """Results leave if cached tokens cost what others do or the window is small, unless too little would be cached."""
    found = []
    for price, _, name in (less.partition(" "), more.partition(" ")):
        session_of("clerk", tmp_path, uses_rows=True, turns=16, model_version=name or None)
        options = "--json", "--answerability", "--price-cached", price
        sent = json.loads(run(capsys, "replay", tmp_path, *options)[1])
        found.append((sent["tokens_with"], sent["answerability"]["strategies"][1]["characters"]))
    assert all(map(lt, *found))


def test_what_it_costs_to_read_all_back_is_said(recordings, capsys):
    """Each result is one call more, which sends the history once more, and from then on it is sent whole."""
    found = json.loads(run(capsys, "replay", recordings, "--json")[1])
    assert found["read_back"]["calls"] == 10
    assert 1.25 < found["read_back"]["tokens"] / found["tokens_without"] < 2
    assert f"10 calls more, at most {found['read_back']['tokens']:,} tokens" in found["notes"][0]


def test_what_cannot_be_tuned_is_said(tmp_path, capsys):
    """A share that is none is refused with its value, and recordings without a model call give no advice."""
    session_of("clerk", tmp_path, uses_rows=True, turns=0)
    assert [run(capsys, "tune", tmp_path, "--visible", share)[0] for share in ("101", "0.995")] == [64, 64]
    code, out, _ = run(capsys, "tune", tmp_path)
    assert (code, out) == (2, "no model calls found\n")
    assert run(capsys, "check", tmp_path, "--max-tokens", "9")[0] == 2
    assert {run(capsys, "check", tmp_path, *cost)[0] for cost in ((), ("--max-cost", "nan"))} == {64}


def test_check_fails_when_prompts_outgrow_their_budget(recordings, capsys):
    """The largest request and the dearest session are just within the budget, and over it once it is a little less."""
    found = json.loads(run(capsys, "replay", recordings, "--json")[1])
    largest, dearest = found["largest_with"], max(each["cost_with"] for each in found["sessions"])
    assert run(capsys, "check", recordings, "--max-tokens", largest, "--max-cost", dearest)[0] == 0
    code, out, err = run(capsys, "check", recordings, "--max-tokens", largest - 1, "--max-cost", dearest * 0.9999)
    assert code == 1
    assert f"tokens, over its budget of {largest - 1:,}, in call " in err
    assert len([line for line in err.splitlines() if "spent, over the budget" in line]) == 1
    assert out.startswith(f"30 model calls in 2 sessions, the largest of {largest:,} tokens, ")


async def test_a_scripted_run_is_held_to_a_budget():
    """`check_budget` passes at the largest request of a run, and names what is over a smaller budget."""
    plugin = ContextPackPlugin()
    await run_agent(analyst(), "Which campaign was best?", plugins=[plugin])
    largest = max(report.tokens_after for report in plugin.reports)
    check_budget(plugin.reports, max_tokens=largest)
    no_call = r"analyt: no call of this agent \(agents: analyst\)"
    for name, most, said in (("*", largest - 1, f"over its budget of {largest - 1:,}"), ("analyt", largest, no_call)):
        with pytest.raises(AssertionError, match=said):
            check_budget(plugin.reports, max_tokens={name: most})
    with pytest.raises(AssertionError, match="no report was made"):
        check_budget([], max_tokens=1)
    for wrong in ({}, {"max_tokens": "9"}, {"max_cost": "1"}):
        with pytest.raises(SettingError, match="max_"):
            check_budget(plugin.reports, **wrong)

"""PackSettings: what is done for one agent."""

from adk_context_pack import FitTokenBudget, PackSettings, StripForContext


def test_the_budget_is_four_fifths_of_the_models_window_or_ones_own():
    """Without a budget of one's own the model's name decides, and the default passes hold it."""
    assert PackSettings().budget_for("gemini-2.5-flash") == int(1_048_576 * 0.8)
    assert PackSettings(max_tokens=500).budget_for("gemini-2.5-flash") == 500
    fit = PackSettings().passes_within(1234)[-1]
    assert isinstance(fit, FitTokenBudget)
    assert fit.max_tokens == 1234


def test_passes_of_ones_own_stay_as_they_are():
    """They are taken in order, from any iterable, and an empty one means none."""
    strip = StripForContext()
    assert PackSettings(passes=iter([strip])).passes_within(1) == (strip,)
    assert PackSettings(passes=[]).passes_within(1) == ()


def test_a_counter_reaches_the_default_passes():
    """Budgets are counted by the tokenizer that is given."""
    assert PackSettings().passes_within(10, len)[-1].counter is len

"use strict";
// The first screen: where the tokens go, and what to do about it.
const use = data.use;
const SHOWN = 6;

function headline() {
  const { without, sent, cost_without: before, cost_sent: after } = use.total;
  const saved = without - sent;
  const verb = use.shadow ? "would save" : "saves";
  const text = `The pack ${saved < 0 ? verb.replace("save", "add") : verb} ${tokens(Math.abs(saved))} of ${tokens(without)} tokens`;
  return make("section", { class: "card head", "aria-label": "all calls" },
    make("p", { class: "big" }, make("span", { class: "was" }, tokens(without)), make("span", { "aria-label": "to", class: "arrow" }, " → "), make("strong", { id: "tokens-sent" }, tokens(sent)),
      make("span", { class: "unit" }, " tokens"), make("span", { class: `chip ${saved > 0 ? "good" : ""}` }, change(without, sent))),
    make("p", { class: "says" }, `${text}${use.priced ? ` and ${money(before - after)} of ${money(before)} (${change(before, after)})` : ""}.`),
    ...sides(without, sent), windows(), provider());
}

function sides(without, sent) {
  const largest = Math.max(without, sent);
  const of = (kind) => Object.fromEntries(use.categories.map((row) => [row.name, row[kind]]));
  return [["without", "without the pack", without], ["sent", "with the pack", sent]].map(([kind, name, whole]) =>
    make("div", { class: "side" }, make("span", { class: "name" }, name), make("span", { class: "track" }, stacked("tall", whole, of(kind), largest))));
}

function windows() {
  const most = use.windows[0];
  if (!most) return null;
  const share = percent(most.largest, most.window);
  return make("div", { class: "side" }, make("span", { class: "name" }, "model's window"),
    make("span", { class: "track meter", role: "img", "aria-label": `${share} of the window` }, plain("tall full", most.largest, Math.max(most.window, most.largest))),
    make("p", { class: "note" }, `The largest request has ${tokens(most.largest)} tokens, ${share} of the ${tokens(most.window)} ${most.known ? "of" : "assumed for"} ${most.model || "a model without a name"} (agent ${most.agent || "without a name"}).`));
}

function provider() {
  const lines = [];
  if (use.provider.prompt) lines.push(`The providers counted ${tokens(use.provider.prompt)} prompt tokens, ${tokens(use.provider.cached)} of them (${percent(use.provider.cached, use.provider.prompt)}) from a cache.`);
  if (use.prefix.previous) lines.push(`Prefix kept: ${Math.floor((100 * use.prefix.tokens) / use.prefix.previous)} %.`);
  if (use.unknown_results) lines.push(`The saving of ${count(use.unknown_results, "smaller result")} is not known, since an earlier process made them.`);
  lines.push(...use.read_back);
  if (use.shadow) lines.push("Shadow mode: ADK's own requests were sent. The figures are what the pack would have done.");
  return lines.length ? make("p", { class: "note" }, lines.join(" ")) : null;
}

function worst() {
  const items = data.offenders.map((each) => make("li", {},
    make("span", { class: "share" }, percent(each.tokens, use.total.sent)),
    make("div", {}, make("strong", {}, each.what), make("span", { class: "soft whole" }, count(each.tokens, "token")), make("p", {}, each.advice))));
  return make("section", { class: "card worst", "aria-labelledby": "worst" }, make("h2", { id: "worst" }, "What takes most, and what to do"),
    items.length ? make("ol", {}, ...items) : make("p", { class: "none" }, "Nothing stands out."));
}

function named(row, largest, label, kind) {
  return make("div", { class: "named" }, make("span", { class: "label" }, label),
    plain("thin was", row.without, largest), plain(`thin ${kind}`, row.sent, largest));
}

// Without the pack and with it, one row for each agent, tool or category.
function sumCard(title, rows, { label = (row) => row.name, kind = () => "now", more = null, empty }) {
  const largest = Math.max(0, ...rows.map((row) => Math.max(row.without, row.sent)));
  const heads = ["", "without", "with", "change", ...(more ? [more[0]] : []), ...(use.priced ? ["$cost without", "cost with"] : [])];
  const cells = rows.map((row) => [named(row, largest, label(row), kind(row)), tokens(row.without), tokens(row.sent),
    change(row.without, row.sent), ...(more ? [more[1](row)] : []), ...(use.priced ? [money(row.cost_without), money(row.cost_sent)] : [])]);
  return card(title, heads, cells, empty);
}

function card(title, heads, cells, empty) {
  const shape = (rows) => table(title, heads, rows);
  let body = rows(false);
  function rows(all) {
    return cells.length ? shape(all ? cells : cells.slice(0, SHOWN)) : make("p", { class: "none" }, empty);
  }
  const section = make("section", { class: "card", "data-card": title }, make("h2", {}, title), body);
  if (cells.length > SHOWN) {
    const button = make("button", { type: "button", class: "link", "aria-expanded": "false", onclick: () => {
      const all = button.getAttribute("aria-expanded") !== "true";
      body.replaceWith((body = rows(all)));
      button.setAttribute("aria-expanded", String(all));
      button.textContent = all ? "show fewer" : `show all ${cells.length}`;
    } }, `show all ${cells.length}`);
    section.append(button);
  }
  return section;
}

function passCard() {
  const largest = Math.max(0, ...use.passes.map((row) => row.without));
  const whole = use.total.without;
  const cells = use.passes.map((row) => [
    make("div", { class: "named" }, make("span", { class: "label" }, row.name.replaceAll("_", " "), row.failed ? make("span", { class: "bad" }, ` failed ${tokens(row.failed)} times`) : null), plain("thin now", row.without, largest)),
    tokens(row.without), percent(row.without, whole), ...(use.priced ? [money(row.cost_without)] : [])]);
  return card("By pass", ["", "tokens saved", "of all", ...(use.priced ? ["cost saved"] : [])], cells, "No pass ran.");
}

function overview() {
  const inWindow = Object.fromEntries(use.windows.map((each) => [each.agent, percent(each.largest, each.window)]));
  const categories = data.categories.map((name) => use.categories.find((row) => row.name === name)).filter(Boolean);
  return [
    make("p", { class: "soft sub" }, `${count(use.total.calls, "model call")} of ${count(use.agents.length, "agent")} in ${count(use.sessions, "session")}`),
    make("div", { class: "columns" },
      make("div", { class: "column" }, headline(),
        sumCard("By agent", use.agents, { label: (row) => row.name || "no name", more: ["of window", (row) => inWindow[row.name] || "–"], empty: "No calls." }),
        passCard()),
      make("div", { class: "column" }, worst(),
        sumCard("By category", categories, { label: (row) => make("span", {}, swatch(row.name), words(row.name)), kind: (row) => color(row.name), empty: "No tokens." }),
        sumCard("By tool: calls and results", use.tools, { empty: "No tool was called." }))),
    make("p", { class: "note legend" },
      "Prefix kept is the share of the agent's previous request with which this one still begins: the most that a provider can read from its prompt cache instead of charging it in full. ",
      use.priced ? "The cost of a part is its share of the tokens times the cost of its request." : null),
  ];
}

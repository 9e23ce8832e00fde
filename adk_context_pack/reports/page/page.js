"use strict";
// Texts of requests go in as text nodes only: nothing here ever parses them as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const number = new Intl.NumberFormat("en");
const tokens = (value) => number.format(value);
const words = (name) => name.replaceAll("_", " ");

function make(tag, settings, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(settings || {})) {
    if (name === "class") element.className = value;
    else if (name === "style") Object.assign(element.style, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const percent = (part, whole) => (whole ? Math.round((100 * part) / whole) : 0);
const change = (before, after) => `${before > after ? "−" : before < after ? "+" : ""}${percent(Math.abs(before - after), before)} %`;

function said(kind, whole, categories) {
  const parts = data.categories.filter((name) => categories[name]).map((name) => `${words(name)} ${tokens(categories[name])}`);
  return `${kind} ${tokens(whole)} tokens: ${parts.join(", ") || "nothing"}`;
}

function bar(kind, whole, categories, largest) {
  const element = make("span", { class: `bar ${kind}`, style: { width: `${largest ? (100 * whole) / largest : 0}%` } });
  data.categories.forEach((name, place) => {
    const value = categories[name] || 0;
    if (value) element.append(make("span", { class: `c${place}`, style: { flex: `${value} 0 0` }, title: `${words(name)}: ${tokens(value)} tokens` }));
  });
  return element;
}

function table(caption, heads, rows) {
  const text = (place) => (heads[place][0] === "<" ? { class: "text" } : {});
  return make("div", {}, make("h2", {}, caption), make("table", { "aria-label": caption },
    make("thead", {}, make("tr", {}, ...heads.map((head, place) => make("th", { scope: "col", ...text(place) }, head.replace("<", ""))))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, place) => make(place ? "td" : "th", place ? text(place) : { scope: "row" }, cell)))))));
}

// ADK alone would have sent the full results, and none of the plugin's own tools.
function without(call) {
  const before = call.categories_before;
  const results = Object.values(call.results).reduce((total, saved) => total + saved, 0);
  return { ...before, tool_calls_and_results: (before.tool_calls_and_results || 0) + results, tool_declarations: Math.max((before.tool_declarations || 0) - call.pack_tools, 0) };
}

function boundaryRows(call) {
  const rows = [];
  let whole = call.tokens_without_pack;
  const row = (name, saved, note) => rows.push([name, tokens(whole), tokens((whole -= saved)), tokens(saved), "", note]);
  for (const [tool, saved] of Object.entries(call.results)) row(`results of ${tool}`, saved, "made smaller where they were made");
  if (call.pack_tools) row("read-back tools", -call.pack_tools, "declared by the plugin");
  return rows;
}

function passTable(call) {
  const rows = call.passes.map((each) => [
    each.name, tokens(each.tokens_before), tokens(each.tokens_after), tokens(each.tokens_before - each.tokens_after),
    (each.seconds * 1000).toFixed(1),
    each.error ? make("span", { class: "bad" }, `failed and was skipped: ${each.error}`) : each.note || "",
  ]);
  rows.unshift(...boundaryRows(call));
  rows.push(["whole request", tokens(call.tokens_without_pack), tokens(call.tokens_after), tokens(call.tokens_without_pack - call.tokens_after), "", ""]);
  return table("What each pass took away", ["pass", "before", "after", "taken", "ms", "<what it did"], rows);
}

function categoryTable(call) {
  const before = without(call);
  const names = data.categories.filter((name) => call.categories[name] || before[name]);
  return table("Tokens by category", ["category", "without", "with"], names.map((name) => [
    make("span", {}, make("span", { class: `swatch c${data.categories.indexOf(name)}`, "aria-hidden": "true" }), words(name)),
    tokens(before[name] || 0), tokens(call.categories[name] || 0),
  ]));
}

function prefixText(call) {
  if (!call.prefix.previous) return "first request of this agent";
  return `prefix kept ${Math.floor(100 * call.prefix.share)} %`;
}

function pieces(side, tag) {
  return side.map(([index, different]) => (different ? make(tag, {}, data.texts[index]) : data.texts[index]));
}

function cell(row, name, tag) {
  const side = row[name];
  const place = name === "before" ? "left" : "right";
  if (!side) {
    const why = name === "before" ? "not there before" : "taken away";
    return make("div", { class: `cell ${place}` }, make("span", { class: "label" }, row.label), make("span", { class: "none" }, why));
  }
  const body = make("pre", { tabindex: "0", "aria-label": `${row.label}, ${row.status}` }, ...pieces(side, tag));
  if (row.status !== "same") return make("div", { class: `cell ${place}` }, make("span", { class: "label" }, `${row.label} · ${row.status}`), body);
  const first = side.map(([index]) => data.texts[index]).join("").slice(0, 90);
  return make("div", { class: `cell ${place}` }, make("details", {}, make("summary", {}, `${row.label} · ${first}`), body));
}

function comparison(call) {
  if (!call.rows) return make("p", { class: "none" }, "The requests of this call were not kept. Build the pipeline with keep_requests=True to see them here.");
  const rows = call.rows.map((row) => make("div", { class: `row ${row.status}` }, cell(row, "before", "del"), cell(row, "after", "ins")));
  return make("section", {}, make("h2", {}, "The request"), make("div", { class: "rows" },
    make("div", { class: "heads" }, make("div", {}, "as ADK had built it"), make("div", {}, "as the model received it")), ...rows));
}

function detail(call) {
  const prefix = call.prefix.previous
    ? `${tokens(call.prefix.tokens)} of the ${tokens(call.prefix.previous)} tokens of this agent's previous request still stand at the beginning.`
    : "This is the agent's first request in the session, so there is no prefix to keep.";
  const provider = call.prompt_tokens === null ? "The provider said nothing about this call."
    : `The provider counted ${tokens(call.prompt_tokens)} prompt tokens, ${tokens(call.cached_tokens || 0)} of them from its cache.`;
  return make("div", {},
    make("p", {}, prefix), make("p", {}, provider),
    call.unknown_results ? make("p", {}, `The saving of ${tokens(call.unknown_results)} smaller results is not known, since an earlier process made them.`) : null,
    call.shadow ? make("p", {}, "Shadow mode: ADK's own request was sent. The figures are what the pack would have done.") : null,
    make("p", { class: "who" }, make("small", {}, `${call.model || "model not named"} · run ${call.invocation_id} · session ${call.session_id}`)),
    make("div", { class: "facts" }, passTable(call), categoryTable(call)), comparison(call));
}

function callItem(call, place, largest) {
  const panel = make("div", { class: "detail", id: `call-${place}`, hidden: "" });
  const toggle = (event, open = panel.hidden) => {
    if (open && !panel.firstChild) panel.append(detail(call));
    panel.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  const label = `call ${place + 1}, ${call.agent}. ${said("Without the pack", call.tokens_without_pack, without(call))}. `
    + `${said("With the pack", call.tokens_after, call.categories)}. ${prefixText(call)}.`;
  const button = make("button", { class: "call", type: "button", "aria-expanded": "false", "aria-controls": panel.id, "aria-label": label, onclick: toggle },
    make("span", { class: "who" }, `${place + 1} · ${call.agent || "no agent"}`, make("small", {}, prefixText(call))),
    make("span", { class: "bars" }, bar("without", call.tokens_without_pack, without(call), largest), bar("with", call.tokens_after, call.categories, largest)),
    make("span", { class: "what" }, `${tokens(call.tokens_without_pack)} → ${tokens(call.tokens_after)}`,
      make("small", { class: call.tokens_after < call.tokens_without_pack ? "good" : "" }, change(call.tokens_without_pack, call.tokens_after))));
  const item = make("li", { "data-agent": call.agent, "data-session": call.session_id }, button, panel);
  item.open = (open) => toggle(null, open);
  return item;
}

function sums(calls) {
  const sum = (read) => calls.reduce((total, call) => total + read(call), 0);
  const before = sum((call) => call.tokens_without_pack);
  const after = sum((call) => call.tokens_after);
  const previous = sum((call) => call.prefix.previous);
  const entries = [["model calls", number.format(calls.length)], ["tokens without the pack", tokens(before)], ["tokens with it", tokens(after)],
    ["change", change(before, after)], ["prefix kept", previous ? `${Math.floor((100 * sum((call) => Math.min(call.prefix.tokens, call.prefix.previous))) / previous)} %` : "–"]];
  return make("dl", { class: "sums" }, ...entries.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

function chooser(name, key, apply) {
  const values = [...new Set(data.calls.map((call) => call[key]))];
  if (values.length < 2) return null;
  const select = make("select", { onchange: apply, "data-key": key }, make("option", { value: "" }, `all ${name}s`), ...values.map((value, place) => make("option", { value: String(place) }, value)));
  select.chosen = () => (select.value === "" ? null : values[Number(select.value)]);
  return make("label", {}, `${name} `, select);
}

function start() {
  const page = document.getElementById("page");
  const largest = data.calls.reduce((most, call) => Math.max(most, call.tokens_without_pack, call.tokens_after), 0);
  const items = data.calls.map((call, place) => callItem(call, place, largest));
  const total = make("div", { "aria-live": "polite" });
  const apply = () => {
    const wanted = [...document.querySelectorAll(".tools select")].map((select) => [select.dataset.key, select.chosen()]);
    const shown = data.calls.filter((call, place) => !(items[place].hidden = wanted.some(([key, value]) => value !== null && call[key] !== value)));
    total.replaceChildren(sums(shown));
  };
  const all = (open) => items.filter((item) => !item.hidden).forEach((item) => item.open(open));
  const used = data.categories.filter((name) => data.calls.some((call) => call.categories[name] || call.categories_before[name]));
  page.replaceChildren(total,
    make("ul", { class: "legend", "aria-label": "categories" }, ...used.map((name) => make("li", {}, make("span", { class: `swatch c${data.categories.indexOf(name)}`, "aria-hidden": "true" }), words(name)))),
    make("div", { class: "tools" }, chooser("agent", "agent", apply), chooser("session", "session_id", apply),
      make("button", { type: "button", onclick: () => all(true) }, "open all"), make("button", { type: "button", onclick: () => all(false) }, "close all")),
    make("p", { class: "who" }, make("small", {}, "Each call has two bars: above what ADK alone would have sent, below what the model received. Open a call for its passes and its request; arrow keys move between calls.")),
    make("ol", { class: "calls" }, ...items));
  page.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.classList.contains("call")) return;
    const buttons = items.filter((item) => !item.hidden).map((item) => item.querySelector(".call"));
    const next = buttons[buttons.indexOf(event.target) + step];
    if (next) { next.focus(); event.preventDefault(); }
  });
  apply();
}

start();

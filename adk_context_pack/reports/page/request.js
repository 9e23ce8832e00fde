"use strict";
// One call in detail. Bodies are built when they come into view or are opened.
const [SAME, REMOVED, ADDED, CHANGED] = [0, 1, 2, 3];

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
    words(each.name), tokens(each.tokens_before), tokens(each.tokens_after), tokens(each.tokens_before - each.tokens_after),
    (each.seconds * 1000).toFixed(1),
    each.error ? make("span", { class: "bad" }, `failed and was skipped: ${each.error}`) : each.note || "",
  ]);
  rows.unshift(...boundaryRows(call));
  rows.push(["whole request", tokens(call.tokens_without_pack), tokens(call.tokens_after), tokens(call.tokens_without_pack - call.tokens_after), "", ""]);
  return make("div", {}, make("h3", {}, "What each pass took away"), table("What each pass took away", ["pass", "before", "after", "taken", "ms", "<what it did"], rows));
}

function categoryTable(call) {
  const names = data.categories.filter((name) => call.categories[name] || call.without[name]);
  return make("div", {}, make("h3", {}, "Tokens by category"), table("Tokens by category", ["category", "without", "with"], names.map((name) => [
    make("span", {}, swatch(name), words(name)), tokens(call.without[name] || 0), tokens(call.categories[name] || 0),
  ])));
}

function prefixText(call) {
  if (!call.prefix.previous) return "first request of this agent";
  return `prefix kept ${Math.floor(100 * call.prefix.share)} %`;
}

const textOf = (part) => data.texts[data.parts[part][1]];

function pieces(side, tag) {
  return side.map(([index, different]) => (different ? make(tag, {}, data.texts[index]) : data.texts[index]));
}

function cell(side, part, status, content) {
  const label = data.parts[part][0];
  return make("div", { class: `cell ${side}` }, make("span", { class: "label" }, status ? `${label} · ${status}` : label),
    make("pre", { tabindex: "0", "aria-label": `${label}${status ? `, ${status}` : ""}` }, ...content));
}

function missing(side, part, why) {
  return make("div", { class: `cell ${side}` }, make("span", { class: "label" }, data.parts[part][0]), make("span", { class: "none" }, why));
}

// Summaries whose body is built when they are first opened.
function folded(summary, build) {
  const element = make("details", { ontoggle: () => { if (element.open && element.children.length === 1) element.append(...build()); } }, make("summary", {}, summary));
  return element;
}

function foldedPart(part) {
  const [label] = data.parts[part];
  return folded(`${label} · ${textOf(part).slice(0, 90)}`, () => [make("pre", { tabindex: "0", "aria-label": label }, textOf(part))]);
}

function unchanged(row) {
  const parts = [];
  for (let place = 1; place < row.length; place += 2) for (let step = 0; step < row[place + 1]; step += 1) parts.push(row[place] + step);
  const body = parts.length <= 3 ? parts.map(foldedPart) : [folded(`${parts.length} parts unchanged`, () => parts.map(foldedPart))];
  return make("div", { class: "row same" }, make("div", { class: "cell both" }, ...body));
}

function rowOf(row) {
  const [status, part] = row;
  if (status === SAME) return unchanged(row);
  if (status === REMOVED) return make("div", { class: "row removed" }, cell("left", part, "removed", [textOf(part)]), missing("right", part, "taken away"));
  if (status === ADDED) return make("div", { class: "row added" }, missing("left", part, "not there before"), cell("right", part, "added", [textOf(part)]));
  return make("div", { class: "row changed" }, cell("left", part, "changed", pieces(data.changes[row[3]][0], "del")), cell("right", row[2], "changed", pieces(data.changes[row[3]][1], "ins")));
}

// A long run of removed parts is folded, since a retold history takes many away.
function rowsOf(rows) {
  const found = [];
  for (let place = 0; place < rows.length; place += 1) {
    let end = place;
    while (end < rows.length && rows[end][0] === REMOVED) end += 1;
    if (end - place <= 3) { found.push(rowOf(rows[place])); continue; }
    const parts = rows.slice(place, end).map((row) => row[1]);
    found.push(make("div", { class: "row removed" },
      make("div", { class: "cell left" }, folded(`${parts.length} parts removed`, () => parts.map((part) => foldedPart(part)))),
      make("div", { class: "cell right" }, make("span", { class: "none" }, "taken away"))));
    place = end - 1;
  }
  return found;
}

function comparison(call) {
  if (!call.rows) return make("p", { class: "none" }, "The request of this call was not kept. With keep_requests=True the newest ones are.");
  return make("section", {}, make("h3", {}, "The request"), make("div", { class: "rows" },
    make("div", { class: "heads" }, make("div", {}, "as ADK had built it"), make("div", {}, "as the model received it")), ...rowsOf(call.rows)));
}

function detail(call) {
  const prefix = call.prefix.previous
    ? `${tokens(call.prefix.tokens)} of the ${tokens(call.prefix.previous)} tokens of this agent's previous request are still at the beginning of this one.`
    : "This is the agent's first request in the session, so there is no prefix to keep.";
  const heard = call.prompt_tokens === null ? "The provider gave no figures for this call."
    : `The provider counted ${tokens(call.prompt_tokens)} prompt tokens, ${tokens(call.cached_tokens || 0)} of them from its cache.`;
  return make("div", {},
    make("p", {}, `${prefix} ${heard}`),
    call.unknown_results ? make("p", {}, `The saving of ${count(call.unknown_results, "smaller result")} is not known, since an earlier process made them.`) : null,
    call.shadow ? make("p", {}, "Shadow mode: ADK's own request was sent. The figures are what the pack would have done.") : null,
    make("p", { class: "note" }, `${call.model || "model not named"} · run ${call.invocation_id} · session ${call.session_id}`),
    make("div", { class: "facts" }, passTable(call), categoryTable(call)), comparison(call));
}

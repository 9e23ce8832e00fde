"use strict";
// The calls: a chart, and a list to sort, filter and search.
const ORDERS = {
  "in order": null,
  "most tokens": (call) => -call.tokens_after,
  "most saved": (call) => call.tokens_after - call.tokens_without_pack,
  "least prefix kept": (call) => (call.prefix.previous ? call.prefix.share : 2),
  "slowest passes": (call) => -sum(call.passes, (each) => each.seconds),
};
const SVG = "http://www.w3.org/2000/svg";
const builders = new WeakMap();
const nearby = new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && build(entry.target)), { rootMargin: "600px" });

function build(item) {
  nearby.unobserve(item);
  const panel = item.lastElementChild;
  if (panel.hidden || panel.firstChild) return;
  panel.append(detail(builders.get(item)));
}

function said(kind, whole, categories) {
  const parts = data.categories.filter((name) => categories[name]).map((name) => `${words(name)} ${tokens(categories[name])}`);
  return `${kind} ${tokens(whole)} tokens: ${parts.join(", ") || "nothing"}`;
}

function callItem(call, place, largest) {
  const panel = make("div", { class: "detail", id: `call-${place}`, hidden: "" });
  const label = `call ${place + 1}, ${call.agent}. ${said("Without the pack", call.tokens_without_pack, call.without)}. `
    + `${said("With the pack", call.tokens_after, call.categories)}. ${prefixText(call)}.`;
  const button = make("button", { class: "call", type: "button", "aria-expanded": "false", "aria-controls": panel.id, "aria-label": label, onclick: () => item.open(panel.hidden) },
    make("span", { class: "who" }, make("span", { class: "at" }, String(place + 1)), call.agent || "no name", make("small", {}, prefixText(call))),
    make("span", { class: "bars" }, stacked("without", call.tokens_without_pack, call.without, largest), stacked("with", call.tokens_after, call.categories, largest)),
    make("span", { class: "what" }, `${tokens(call.tokens_without_pack)} → ${tokens(call.tokens_after)}`,
      make("small", { class: call.tokens_after < call.tokens_without_pack ? "good" : "" }, change(call.tokens_without_pack, call.tokens_after))));
  const item = make("li", {}, button, panel);
  builders.set(item, call);
  item.open = (open, { later = false } = {}) => {
    panel.hidden = !open;
    item.classList.toggle("open", open);
    button.setAttribute("aria-expanded", String(open));
    if (open && !panel.firstChild) later ? nearby.observe(item) : build(item);
  };
  return item;
}

// What ADK alone would have sent as a pale column, and what was sent in the colors of its categories.
function chart(calls, jump) {
  const largest = Math.max(1, ...calls.map((call) => Math.max(call.tokens_without_pack, call.tokens_after)));
  const svg = document.createElementNS(SVG, "svg");
  const gap = calls.length > 150 ? 0 : 0.15;
  const column = (place, from, to) => `M${place + gap} ${100 - (100 * to) / largest}h${1 - 2 * gap}V${100 - (100 * from) / largest}h${2 * gap - 1}z`;
  const paint = (kind, path) => {
    if (!path) return;
    const element = document.createElementNS(SVG, "path");
    element.setAttribute("class", kind);
    element.setAttribute("d", path);
    svg.append(element);
  };
  svg.setAttribute("viewBox", `0 0 ${Math.max(calls.length, 8)} 100`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  paint("ghost", calls.map((call, place) => column(place, 0, call.tokens_without_pack)).join(""));
  const base = calls.map(() => 0);
  for (const name of data.categories) {
    paint(color(name), calls.map((call, place) => (call.categories[name] ? column(place, base[place], (base[place] += call.categories[name])) : "")).join(""));
  }
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    jump(Math.floor(((event.clientX - box.left) / box.width) * Math.max(calls.length, 8)));
  });
  return svg;
}

// The number of each matching part, summed up, tells at once whether a run of parts holds a match.
function matcher(query) {
  const wanted = query.toLowerCase();
  const has = (text) => text.toLowerCase().includes(wanted);
  const found = data.texts.map(has);
  const before = [0];
  for (const [label, text] of data.parts) before.push(before[before.length - 1] + (found[text] || has(label) ? 1 : 0));
  const inRow = (row) => {
    if (row[0] === SAME) {
      for (let place = 1; place < row.length; place += 2) if (before[row[place] + row[place + 1]] > before[row[place]]) return true;
      return false;
    }
    return (row[0] === CHANGED ? [row[1], row[2]] : [row[1]]).some((part) => before[part + 1] > before[part]);
  };
  return (call) => [call.agent, call.model, call.invocation_id, call.session_id, ...Object.keys(call.tools), ...Object.keys(call.results)].some(has)
    || call.passes.some((each) => has(words(each.name)) || has(each.note || "") || has(each.error || "")) || (call.rows || []).some(inRow);
}

function chooser(name, key, apply) {
  const values = [...new Set(data.calls.map((call) => call[key]))];
  if (values.length < 2) return null;
  const select = make("select", { onchange: apply, "data-key": key }, make("option", { value: "" }, `all ${name}s`), ...values.map((value, place) => make("option", { value: String(place) }, value || "no name")));
  select.allows = (call) => select.value === "" || call[key] === values[Number(select.value)];
  return make("label", {}, `${name} `, select);
}

function leftOut() {
  const lines = [];
  const older = use.total.calls - data.calls.length;
  if (older > 0) lines.push(`The newest ${tokens(data.calls.length)} of ${tokens(use.total.calls)} calls are shown here. The sums above count all.`);
  if (data.dropped) lines.push(`${count(data.dropped, "older report was", "older reports were")} no longer kept, and no sum counts ${data.dropped === 1 ? "it" : "them"}.`);
  return lines.length ? make("p", { class: "note left-out" }, lines.join(" ")) : null;
}

function timeline() {
  const largest = Math.max(0, ...data.calls.map((call) => Math.max(call.tokens_without_pack, call.tokens_after)));
  const items = data.calls.map((call, place) => callItem(call, place, largest));
  const list = make("ol", { class: "calls" });
  const status = make("p", { class: "status", role: "status" });
  const graph = make("div", { class: "chart" });
  const search = make("input", { type: "search", placeholder: "search agents, tools, texts", "aria-label": "search calls", oninput: () => { clearTimeout(search.waits); search.waits = setTimeout(apply, 150); } });
  const order = make("select", { onchange: () => apply(), "data-key": "order" }, ...Object.keys(ORDERS).map((name) => make("option", { value: name }, name)));
  const filters = [chooser("agent", "agent", () => apply()), chooser("session", "session_id", () => apply())].filter(Boolean);
  let shown = [];
  function apply() {
    const matches = search.value.trim() ? matcher(search.value.trim()) : () => true;
    const key = ORDERS[order.value];
    shown = data.calls.map((call, place) => place).filter((place) => filters.every((each) => each.lastElementChild.allows(data.calls[place])) && matches(data.calls[place]));
    if (key) shown.sort((one, other) => key(data.calls[one]) - key(data.calls[other]) || one - other);
    const calls = shown.map((place) => data.calls[place]);
    const [before, after] = [sum(calls, (call) => call.tokens_without_pack), sum(calls, (call) => call.tokens_after)];
    list.replaceChildren(...shown.map((place) => items[place]));
    graph.replaceChildren(chart(calls, (at) => shown[at] !== undefined && show(items[shown[at]])));
    status.textContent = `${tokens(calls.length)} of ${count(data.calls.length, "call")}: ${tokens(before)} → ${tokens(after)} tokens (${change(before, after)})`;
  }
  function show(item) {
    item.open(true);
    item.firstElementChild.focus();
    item.scrollIntoView({ block: "center" });
  }
  const all = (open) => shown.forEach((place) => items[place].open(open, { later: true }));
  list.addEventListener("keydown", (event) => {
    const item = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    const next = item && event.target.classList.contains("call") && event.target.parentElement[item];
    if (next) { next.firstElementChild.focus(); event.preventDefault(); }
  });
  window.addEventListener("beforeprint", () => items.forEach(build));
  apply();
  return make("section", { class: "timeline", "aria-labelledby": "calls" }, make("h2", { id: "calls" }, "Calls"), leftOut(), graph,
    make("div", { class: "tools" }, search, ...filters, make("label", {}, "sort ", order),
      make("button", { type: "button", onclick: () => all(true) }, "open all"), make("button", { type: "button", onclick: () => all(false) }, "close all")),
    status,
    make("p", { class: "note" }, "Above: what ADK alone would have sent. Below: what the model received. Open a call for its passes and its request. Arrow keys move between calls."),
    list);
}

document.getElementById("page").replaceChildren(...overview(), timeline());

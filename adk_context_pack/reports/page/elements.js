"use strict";
// Texts of requests go in as text nodes only: nothing here ever parses them as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const number = new Intl.NumberFormat("en");
const tokens = (value) => number.format(value);
const words = (name) => name.replaceAll("_", " ");
const sum = (list, read) => list.reduce((total, each) => total + read(each), 0);
const count = (value, one, many = `${one}s`) => `${tokens(value)} ${value === 1 ? one : many}`;

function make(tag, settings, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(settings || {})) {
    if (name === "class") element.className = value;
    else if (name === "style") Object.assign(element.style, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// One decimal where rounding would hide a difference: -99.6 % is not -100 %.
function rounded(share) {
  const whole = Math.round(share);
  return (whole === 0 || whole === 100) && share !== whole ? share.toFixed(1) : String(whole);
}

const percent = (part, whole) => `${rounded(whole ? (100 * part) / whole : 0)}\u00a0%`;

function change(before, after) {
  if (!before || before === after) return "0\u00a0%";
  return `${before > after ? "−" : "+"}${percent(Math.abs(before - after), before)}`;
}

// Costs are millionths of the currency.
function money(micros) {
  const amount = micros / 1e6;
  if (amount === 0) return "0";
  return Math.abs(amount) >= 1 ? amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })
    : amount.toLocaleString("en", { maximumSignificantDigits: 3 });
}

const color = (name) => `c${data.categories.indexOf(name)}`;
const swatch = (name) => make("span", { class: `swatch ${color(name)}`, "aria-hidden": "true" });

// A bar whose segments are the categories of a request.
function stacked(kind, whole, categories, largest) {
  const element = make("span", { class: `bar ${kind}`, style: { width: `${largest ? (100 * whole) / largest : 0}%` } });
  for (const name of data.categories) {
    const value = categories[name] || 0;
    if (value > 0) element.append(make("span", { class: color(name), style: { flex: `${value} 0 0` }, title: `${words(name)}: ${tokens(value)} tokens` }));
  }
  return element;
}

function plain(kind, value, largest) {
  return make("span", { class: `bar ${kind}`, style: { width: `${largest > 0 ? (100 * Math.max(value, 0)) / largest : 0}%` } });
}

// Heads that begin with "<" are of columns with text, those with "$" of columns that narrow screens go without.
function table(caption, heads, rows) {
  const text = (place) => ({ "<": { class: "text" }, $: { class: "money" } })[heads[place][0]] || {};
  return make("div", { class: "scroll" }, make("table", { "aria-label": caption },
    make("thead", {}, make("tr", {}, ...heads.map((head, place) => make("th", { scope: "col", ...text(place) }, head.replace(/^[<$]/, ""))))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, place) => make(place ? "td" : "th", place ? text(place) : { scope: "row" }, cell)))))));
}

// This script draws recordings. Their data are JSON in #data, a list of Data in data.go. A live page requests them, see
// page_live.js. Texts of recordings become text nodes and attributes, never HTML. All times are seconds since the start
// of the recording.
const page = document.getElementById("page");
const embedded = JSON.parse(document.getElementById("data").textContent);
const live = embedded?.live ? { kind: embedded.live, name: embedded.live === "player" ? "player" : "recorder",
  version: "", state: {}, heard: 0, missed: 0, asked: 0, orders: 0,
  token: new URLSearchParams(location.search).get("token") ?? "" } : null;
let recordings = list(embedded);
const refreshers = new Set(); // functions that are called when a live page has new data

// always calls f now, and again whenever a live page has new data.
function always(f) {
  f();
  refreshers.add(f);
}

// ---- Texts and numbers -------------------------------------------------------------------------------------------

function array(v) { return Array.isArray(v) ? v : []; }

function list(v) { return array(v).filter(x => x != null); }

function finite(v, otherwise = 0) { return typeof v === "number" && isFinite(v) ? v : otherwise; }

// Characters that are invisible or change their neighbours: control, bidi, private use, half surrogates.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
const ESCAPES = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

// plain returns a text of the recording that can be shown: cut to max characters, with unprintable ones escaped.
function plain(s, max = 160) {
  s = String(s ?? "");
  const cut = (s.length > max ? s.slice(0, max).replace(/[\ud800-\udbff]$/, "") : s)
    .replace(/(\p{M}{3})\p{M}+/gu, "$1")
    .replace(UNPRINTABLE, c => ESCAPES[c] || `\\u{${c.codePointAt(0).toString(16)}}`);
  return s.length > max ? `${cut}… (${count(s.length)} characters)` : cut;
}

// lines is plain for a text of several lines.
function lines(s, max) {
  s = String(s ?? "");
  return s.slice(0, max).split("\n").map(l => plain(l, max)).join("\n") + (s.length > max ? "…" : "");
}

function count(n) { return finite(n).toLocaleString("en"); }

function plural(n, one, many = one + "s") { return `${count(n)} ${n === 1 ? one : many}`; }

// number returns a text of n with four digits.
function number(n) {
  if (!isFinite(n)) return "–";
  const a = Math.abs(n);
  if (a !== 0 && (a < 1e-3 || a >= 1e6)) return n.toExponential(2).replace("e+", "e").replace("-", "−");
  return String(+n.toPrecision(a >= 1e4 ? 6 : 4)).replace("-", "−");
}

function bytes(n) {
  n = finite(n);
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  while (n >= 999.5 && units.length > 1) { n /= 1000; units.shift(); }
  return `${units[0] === "B" ? n : +n.toPrecision(3)} ${units[0]}`;
}

// seconds returns a text of a length of time.
function seconds(s) {
  const a = Math.abs(s);
  if (a === 0) return "0 s";
  if (a < 1e-3) return `${+(s * 1e6).toPrecision(3)} µs`;
  if (a < 1) return `${+(s * 1e3).toPrecision(3)} ms`;
  if (a < 60) return `${+s.toPrecision(3)} s`;
  if (a < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (a >= 1e11) return `${number(s)} s`;
  if (a < 172800) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  return `${count(Math.floor(s / 86400))} d ${Math.floor(s % 86400 / 3600)} h`;
}

// clock returns a text of a time since the start, exact to step.
function clock(t, step = 0.001) {
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step) - 1e-9)));
  const sign = t < 0 ? "−" : "", two = n => String(n).padStart(2, "0");
  t = Math.round(Math.abs(t) * 10 ** digits) / 10 ** digits;
  const s = (t % 60).toFixed(digits), m = Math.floor(t / 60) % 60, h = Math.floor(t / 3600) % 24,
    d = Math.floor(t / 86400);
  if (t < 60) return `${sign}${s} s`;
  const rest = `${t < 3600 ? m : two(m)}:${s.padStart(digits ? digits + 3 : 2, "0")}`;
  return sign + (d ? `${count(d)} d ` : "") + (t >= 3600 ? `${d ? two(h) : h}:` : "") + rest;
}

// dates returns texts of a time in UTC and in the time zone of the reader. They are empty if the start is unknown.
function dates(data, t) {
  const start = Date.parse(String(data.start ?? "").replace(/(\.\d{3})\d+/, "$1"));
  const ms = Math.round(start + t * 1000);
  if (!(start > -6e13) || !(Math.abs(ms) < 8.6e15)) return { utc: "", local: "" };
  const text = ms => new Date(ms).toISOString().slice(0, -1).replace("T", " ");
  const offset = -new Date(ms).getTimezoneOffset(), pad = n => String(Math.floor(n)).padStart(2, "0");
  const zone = `${offset < 0 ? "−" : "+"}${pad(Math.abs(offset) / 60)}:${pad(Math.abs(offset) % 60)}`;
  return { utc: `${text(ms)} UTC`, local: `${text(ms + offset * 60000)} local (${zone})` };
}

// nice returns the least of 1, 2, 5, 10, … that is not less than x.
function nice(x) {
  const p = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].find(m => m * p >= x * (1 - 1e-9)) * p;
}

// timeStep is nice for times.
function timeStep(x) {
  if (x <= 1) return nice(x);
  const steps = [2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  return steps.find(s => s >= x) || 86400 * nice(x / 86400);
}

// extent returns the lowest and the highest number.
function extent(numbers) {
  let low = Infinity, high = -Infinity;
  for (const v of numbers) { low = Math.min(low, v); high = Math.max(high, v); }
  return [low, high];
}

// append adds an item to the list of a key in a map.
function append(map, key, item) { if (!map.get(key)?.push(item)) map.set(key, [item]); }

// decode decodes base64.
function decode(base64) { return Uint8Array.from(atob(base64 || ""), c => c.charCodeAt(0)); }

// nearest returns the index of the item whose time is closest to t, -1 without items. at returns the time of an item.
function nearest(items, t, at = item => item.at) {
  let low = 0, high = items.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(items[middle]) < t) low = middle + 1; else high = middle;
  }
  return low > 0 && t - at(items[low - 1]) <= at(items[low]) - t ? low - 1 : high < 0 ? -1 : low;
}

// save makes the browser store a text as a file.
function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: plain(name, 80).replace(/[^\p{L}\p{N}._-]+/gu, "_") }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

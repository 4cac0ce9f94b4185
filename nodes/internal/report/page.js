// Draws recordings, which are the JSON in #data: a list of Data, see data.go. A live page asks for them, see
// page_live.js. Texts of recordings become text nodes and attributes, never HTML. All times are seconds since the start
// of the recording.
const page = document.getElementById("page");
const embedded = JSON.parse(document.getElementById("data").textContent);
const live = embedded?.live ? { kind: embedded.live } : null; // of a player or a recorder
let recordings = list(embedded);
const refreshers = new Set(); // called when a live page has got more

// ---- Texts and numbers -------------------------------------------------------------------------------------------

function list(v) { return Array.isArray(v) ? v.filter(x => x != null) : []; }

function finite(v, otherwise = 0) { return typeof v === "number" && isFinite(v) ? v : otherwise; }

// Characters that show nothing or change how their neighbours are shown: control, bidi, private use, half surrogates.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
const ESCAPES = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

// plain returns a text of the recording as it can be shown: not longer than max, unprintable characters escaped.
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

// number returns n with four digits.
function number(n) {
  if (!isFinite(n)) return "–";
  const a = Math.abs(n);
  if (a !== 0 && (a < 1e-3 || a >= 1e6)) return n.toExponential(2).replace("e+", "e").replace("-", "−");
  return String(+n.toPrecision(a >= 1e4 ? 6 : 4)).replace("-", "−");
}

function bytes(n) {
  n = finite(n);
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let i = 0;
  for (; n >= 999.5 && i < units.length - 1; i++) n /= 1000;
  return `${i ? +n.toPrecision(3) : n} ${units[i]}`;
}

// seconds returns a length of time.
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

// clock returns a time since the start, exact to step.
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

// dates returns a time as UTC and in the zone of the reader, or nothing where the start is unknown.
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

// append adds an item to the list that a map has for a key.
function append(map, key, item) { if (!map.get(key)?.push(item)) map.set(key, [item]); }

// decode returns the bytes of base64.
function decode(base64) {
  const s = atob(base64 || ""), b = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) b[i] = s.charCodeAt(i);
  return b;
}

// nearest returns the index of the item whose time is closest to t, -1 without items. at returns the time of an item.
function nearest(items, t, at = item => item.at) {
  let low = 0, high = items.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(items[middle]) < t) low = middle + 1; else high = middle;
  }
  return low > 0 && t - at(items[low - 1]) <= at(items[low]) - t ? low - 1 : high < 0 ? -1 : low;
}

// save has the browser store a text as a file.
function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: plain(name, 80).replace(/[^\p{L}\p{N}._-]+/gu, "_") }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// ---- Elements ----------------------------------------------------------------------------------------------------

// el makes an element. Properties that begin with "on" are listeners, the others attributes. Children are nodes or
// texts.
function el(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value != null && value !== false) e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat(Infinity).filter(c => c != null && c !== false));
  return e;
}

// name shows a name, which may be broken after its separators. Its direction changes nothing around it.
function name(s, max) {
  return el("bdi", null, plain(s, max).split(/(?<=[/_.])/).flatMap((part, i) => i ? [el("wbr"), part] : part));
}

// facts makes a list of what is known: pairs of name and value, of which those without a value are left out.
function facts(pairs) {
  return el("dl", { class: "facts" },
    pairs.filter(f => f[1]).map(([k, v]) => el("div", null, el("dt", null, k), el("dd", null, v))));
}

// verdict shows whether something is good, in a line, and what else was found.
function verdict(good, lines, otherwise) {
  const items = lines => el("ul", { class: "findings" }, lines.map(l => el("li", null, plain(l, 600))));
  return [el("p", { class: `verdict${good ? "" : " bad"}` }, el("i", { "aria-hidden": "true" }, good ? "✓" : "!"),
    el("span", null, lines.length ? plain(lines[0], 400) : otherwise)),
  lines.length > 1 && items(lines.slice(1, 6)),
  lines.length > 6 && el("details", null, el("summary", null, plural(lines.length - 6, "more finding")),
    items(lines.slice(6, 506)))];
}

function button(text, label, onclick, properties) {
  return el("button", { type: "button", "aria-label": label === text ? null : label, title: label, onclick,
    ...properties }, text);
}

function options(label, names, onchange) {
  return el("select", { "aria-label": label, onchange }, names.map((n, i) => el("option", { value: i }, n)));
}

function section(id, title, note, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("div", { class: "heading" }, el("h2", { id: `${id}-title` }, title),
      note && el("span", { class: "note" }, note)), children);
}

// timeLink is a button that moves the cursor.
function timeLink(t) {
  return el("button", { type: "button", class: "link", title: dates(now.data, t).utc, onclick: () => jump(t) },
    clock(t));
}

// table makes a table that can be sorted, searched and filtered. Columns have a name, cell (what is shown of a row),
// and perhaps key (what they are sorted by), number, class and first (is the row's heading). changed is called with
// the rows that are shown. The first rows are shown, the others when they are wanted.
function table({ caption, columns, rows, search, text, choices, empty, changed, first = 300 }) {
  const body = el("tbody"), status = el("span", { class: "mute", role: "status" });
  const input = search && el("input",
    { type: "search", placeholder: search, "aria-label": search, spellcheck: "false", oninput: fill });
  const values = choices && [...new Set(rows.map(choices.value))].sort();
  const choice = values && values.length > 1 && options(choices.name, [`All (${count(rows.length)})`,
    ...values.map(v => `${plain(v, 30)} (${count(rows.filter(r => choices.value(r) === v).length)})`)], fill);
  const more = button("", "", () => { first = Infinity; fill(); });
  const style = c => [c.class, c.number && "number"].filter(Boolean).join(" ") || null;
  const heads = columns.map(c => {
    const press = () => {
      const up = head.getAttribute("aria-sort");
      for (const h of heads) h.removeAttribute("aria-sort");
      head.setAttribute("aria-sort",
        up ? (up === "ascending" ? "descending" : "ascending") : c.number ? "descending" : "ascending");
      fill();
    };
    const head = el("th", { scope: "col", class: style(c) },
      c.key ? el("button", { type: "button", onclick: press }, c.name) : c.name);
    return head;
  });
  const none = v => v == null || v !== v; // what is unknown comes last
  function fill() {
    const words = input ? input.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const kind = choice && +choice.value ? values[choice.value - 1] : null;
    const matches = t => words.every(w => t.includes(w));
    const shown = rows.filter(r => (!words.length || matches(text(r).toLowerCase())) &&
      (kind === null || !choice || choices.value(r) === kind));
    const sorted = heads.findIndex(h => h.hasAttribute("aria-sort"));
    if (sorted >= 0) {
      const key = columns[sorted].key, turn = heads[sorted].getAttribute("aria-sort") === "ascending" ? 1 : -1;
      const order = typeof key(rows[0] || {}) === "string" ? new Intl.Collator("en", { numeric: true }).compare
        : (a, b) => a - b;
      shown.sort((a, b) => none(key(a)) - none(key(b)) || turn * order(key(a), key(b)) || 0);
    }
    body.replaceChildren(...shown.slice(0, first).map(r => el("tr", null, columns.map(c =>
      el(c.first ? "th" : "td", { scope: c.first && "row", class: style(c) }, c.cell(r))))));
    if (!shown.length) body.append(el("tr", null,
      el("td", { colspan: columns.length, class: "mute" }, empty || "Nothing matches")));
    more.hidden = shown.length <= first;
    more.textContent = `Show all ${count(shown.length)}`;
    status.textContent = shown.length === rows.length ? "" : `${count(shown.length)} of ${count(rows.length)}`;
    if (changed) changed(shown);
  }
  fill();
  if (live) refreshers.add(fill);
  return el("div", null, (input || choice) && el("div", { class: "tools" }, input, choice, status),
    el("div", { class: "sheet", tabindex: "0", role: "region", "aria-label": caption }, el("table", null,
      el("caption", null, el("span", { class: "hidden" }, caption)), el("thead", null, el("tr", null, heads)), body)),
    more);
}

// ---- Colours -----------------------------------------------------------------------------------------------------

const SERIES = 7;
const colour = {}; // those of the style sheet by name, as the theme has them
let dark = false, hatch = {};

const VIRIDIS = ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b",
  "#fde725"];
const BLUES = { light: ["#d8e7f5", "#9cc6e6", "#5b9bd0", "#2a6dae", "#08306b"],
  dark: ["#16344f", "#1f5586", "#3584c4", "#74b8ec", "#d8eeff"] };

// ramp returns 32 colours between those of stops, from and to being where it begins and ends, 0 to 1.
function ramp(stops, from = 0, to = 1) {
  const rgb = stops.map(s => [1, 3, 5].map(i => parseInt(s.slice(i, i + 2), 16)));
  return Array.from({ length: 32 }, (_, i) => {
    const t = (from + (to - from) * i / 31) * (rgb.length - 1), k = Math.min(rgb.length - 2, Math.floor(t));
    return `rgb(${rgb[k].map((c, j) => Math.round(c + (rgb[k + 1][j] - c) * (t - k))).join(" ")})`;
  });
}

// shade returns the colour of v between low and high.
function shade(colours, v, low, high) {
  return colours[high > low ? Math.max(0, Math.min(31, Math.floor((v - low) / (high - low) * 32))) : 16];
}

function setTheme(night) {
  dark = night;
  document.documentElement.dataset.theme = night ? "dark" : "light";
  const style = getComputedStyle(document.documentElement);
  const names = ["bg", "panel", "line", "text", "mute", "accent", "good", "bad", "warn", "void"];
  for (let i = 0; i < SERIES; i++) names.push(`s${i}`);
  for (const n of names) colour[n] = style.getPropertyValue(`--${n}`).trim();
  colour.density = ramp(dark ? BLUES.dark : BLUES.light);
  colour.scale = dark ? ramp(VIRIDIS, 0.25, 1) : ramp(VIRIDIS, 0, 0.88);
  hatch = {};
  for (const b of boards) b.redraw();
}

// hatched returns a pattern of slanted lines.
function hatched(ctx, name) {
  if (hatch[name]) return hatch[name];
  const tile = el("canvas", { width: 8, height: 8 }), c = tile.getContext("2d");
  c.strokeStyle = colour[name];
  c.lineWidth = 1.6;
  for (const d of [-8, 0, 8]) { c.beginPath(); c.moveTo(d, 8); c.lineTo(d + 8, 0); c.stroke(); }
  return hatch[name] = ctx.createPattern(tile, "repeat");
}

// write draws a text that is cut to the given width.
function write(ctx, text, x, y, width = Infinity, style = colour.text) {
  ctx.fillStyle = style;
  ctx.textBaseline = "middle";
  if (width < Infinity && ctx.measureText(text).width > width) {
    let low = 0, high = text.length; // the end tells more of a topic than its beginning
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ctx.measureText(`…${text.slice(middle)}`).width <= width) high = middle; else low = middle + 1;
    }
    text = `…${text.slice(low)}`;
  }
  ctx.fillText(text, x, y);
}

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const SMALL = FONT.replace("12", "11");

// ---- Boards: canvases that are drawn when they are seen, and need it -----------------------------------------------

const boards = new Set();
const followers = new Set(); // called when the cursor has moved
let frame = 0, moved = false;

function schedule() { frame ||= requestAnimationFrame(paint); }

function paint() {
  frame = 0;
  if (moved) for (const f of followers) f();
  moved = false;
  for (const b of boards) if (b.stale && b.visible) b.paint();
}

const seen = new IntersectionObserver(entries => {
  for (const e of entries) if (e.target.board) e.target.board.visible = e.isIntersecting;
  schedule();
}, { rootMargin: "200px" });
const sized = new ResizeObserver(entries => { for (const e of entries) if (e.target.board) e.target.board.redraw(); });

class Board {
  // draw gets a context and the size in CSS pixels.
  constructor(label, style, draw, focus = true) {
    this.canvas = el("canvas", { role: "img", tabindex: focus ? 0 : -1, "aria-label": label });
    this.box = el("div", { class: `board ${style}` }, this.canvas);
    this.box.board = this;
    this.draw = draw;
    this.stale = true;
    this.visible = false;
    boards.add(this);
    seen.observe(this.box);
    sized.observe(this.box);
  }

  redraw() { this.stale = true; schedule(); }

  paint() {
    const w = this.width = this.box.clientWidth, h = this.height = this.box.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    if (!w || !h) return;
    this.stale = false;
    if (this.canvas.width !== Math.round(w * ratio)) this.canvas.width = Math.round(w * ratio);
    if (this.canvas.height !== Math.round(h * ratio)) this.canvas.height = Math.round(h * ratio);
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, w, h);
    ctx.font = FONT;
    this.draw(ctx, w, h);
  }

  // gestures has a mouse, fingers and the wheel call: hover(x, y), drag(dx, dy, event, x, began), slide(dx, dy),
  // drop(), tap(x, y), zoom(factor, x, y) and wheel(event), which reports whether the wheel zooms.
  gestures(on) {
    const c = this.canvas, fingers = new Map();
    let dragged = false;
    const at = e => { const r = c.getBoundingClientRect(); return { x: e.clientX - r.left, y: e.clientY - r.top }; };
    c.addEventListener("pointerdown", e => {
      if (!this.width || e.button > 1 && !on.buttons) return;
      if (!fingers.size) dragged = false;
      fingers.set(e.pointerId, { ...at(e), began: at(e) });
      c.setPointerCapture(e.pointerId);
      if (e.pointerType === "mouse") c.focus({ preventScroll: true });
    });
    c.addEventListener("pointermove", e => {
      const p = at(e), f = fingers.get(e.pointerId);
      if (!this.width) return;
      if (!f) { if (e.pointerType === "mouse") on.hover?.(p.x, p.y, e); return; }
      if (!dragged && Math.hypot(p.x - f.began.x, p.y - f.began.y) < 4) return;
      dragged = true;
      tip();
      const other = [...fingers].find(([id]) => id !== e.pointerId)?.[1];
      if (other) {
        const before = Math.hypot(f.x - other.x, f.y - other.y), after = Math.hypot(p.x - other.x, p.y - other.y);
        if (before > 5 && after > 5) on.zoom?.(after / before, (p.x + other.x) / 2, (p.y + other.y) / 2);
        on.slide?.((p.x - f.x) / 2, (p.y - f.y) / 2);
      } else on.drag?.(p.x - f.x, p.y - f.y, e, p.x, f.began.x);
      Object.assign(f, p);
    });
    const end = e => {
      const f = fingers.get(e.pointerId);
      fingers.delete(e.pointerId);
      if (!f || fingers.size) return;
      on.drop?.();
      if (!dragged && e.type === "pointerup") on.tap?.(f.x, f.y, e);
    };
    c.addEventListener("pointerup", end);
    c.addEventListener("pointercancel", end);
    c.addEventListener("pointerleave", () => { tip(); on.leave?.(); });
    c.addEventListener("wheel", e => {
      if (!this.width || !on.wheel(e)) return;
      e.preventDefault();
      const p = at(e), lines = e.deltaMode ? 30 : 1;
      const sideways = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
      if (on.slide && sideways) on.slide(-(e.deltaX || e.deltaY) * lines, 0);
      else on.zoom(Math.exp(-e.deltaY * lines * 0.002), p.x, p.y);
    }, { passive: false });
  }
}

const tips = el("div", { id: "tip", hidden: true });

// tip shows a text beside the mouse, or nothing.
function tip(text, e) {
  tips.hidden = !text;
  if (!text) return;
  tips.textContent = text;
  const r = tips.getBoundingClientRect();
  tips.style.left = `${Math.max(8, Math.min(e.clientX + 14, innerWidth - r.width - 8))}px`;
  tips.style.top = `${e.clientY + 18 + r.height > innerHeight ? e.clientY - r.height - 12 : e.clientY + 18}px`;
}

// ---- Time --------------------------------------------------------------------------------------------------------

let now = null; // the recording that is shown: data, scope (its main one), marks (times of events)
const cursor = { at: 0, pinned: false };

function moveCursor(t) {
  cursor.at = Math.max(0, Math.min(now.end, t));
  moved = true;
  schedule();
}

function pin(on) {
  cursor.pinned = on;
  document.body.classList.toggle("pinned", on);
  moveCursor(cursor.at);
}

// jump pins the cursor at t, and has the time line show it.
function jump(t) {
  if (plays()) { seek(t); return; }
  moveCursor(t);
  pin(true);
  const s = now.scope, width = s.until - s.from;
  if (t < s.from || t > s.until) s.show(t - width / 2, t + width / 2);
  say(`Cursor at ${clock(t)}`);
}

// Scope is a length of time of which boards show the same part.
class Scope {
  constructor(first, last) {
    this.first = this.from = first;
    this.last = this.until = last > first ? last : first + 1;
    this.boards = [];
    this.listeners = [];
  }

  show(from, until) {
    const whole = this.last - this.first, width = Math.min(whole, Math.max(until - from, whole * 1e-6, 1e-6));
    this.from = Math.max(this.first, Math.min(this.last - width, from + (until - from - width) / 2));
    this.until = this.from + width;
    for (const b of this.boards) b.redraw();
    for (const f of this.listeners) f();
    moved = true;
    schedule();
  }

  // grow has the time go on until last: what is shown goes with it if it was the end.
  grow(last) {
    const d = last - this.last, ends = this.until === this.last, whole = ends && this.from === this.first;
    this.last = last;
    if (ends) this.show(whole ? this.first : this.from + d, last);
  }

  zoom(factor, at = (this.from + this.until) / 2) {
    const width = Math.min(this.last - this.first, Math.max((this.until - this.from) / factor, 1e-6));
    const part = (at - this.from) / (this.until - this.from);
    this.show(at - part * width, at + (1 - part) * width);
  }

  pan(part) {
    const d = Math.max(this.first - this.from, Math.min(this.last - this.until, part * (this.until - this.from)));
    this.show(this.from + d, this.until + d);
  }

  // ticks returns the times of an axis of w pixels, and their step.
  ticks(w) {
    const step = timeStep((this.until - this.from) / Math.max(1, w / 90)), times = [];
    const start = Math.ceil((this.from - this.first) / step - 1e-9);
    const end = Math.min(start + 200, (this.until - this.first) / step + 1e-6);
    for (let i = start; i <= end; i++) times.push(this.first + i * step);
    return { times, step };
  }
}

const phone = matchMedia("(max-width: 640px)");
function narrow() { return phone.matches; }

// TimeBoard has the time of a scope from left to right, and the line of the cursor.
class TimeBoard extends Board {
  constructor(scope, label, style, draw, { gutter = () => 0, hint, focus = false, brush = false } = {}) {
    super(label, style, draw, focus);
    Object.assign(this, { scope, gutter, brushes: brush });
    scope.boards.push(this);
    this.line = el("div", { class: "cursor", hidden: true });
    this.box.append(this.line);
    followers.add(() => this.follow());
    const cursorTo = x => { if (x >= this.gutter()) moveCursor(this.t(x)); };
    this.gestures({
      hover: (x, y, e) => { if (!cursor.pinned && !live) cursorTo(x); tip(hint?.(x, y), e); },
      drag: (dx, dy, e, x, began) => {
        if (this.brushes || e.shiftKey || this.mark) this.select(began, x);
        else this.scope.pan(-dx / (this.width - this.gutter()));
      },
      slide: dx => scope.pan(-dx / (this.width - this.gutter())),
      drop: () => this.select(),
      tap: (x, y, e) => {
        if (x < this.gutter()) return;
        if (plays()) { seek(this.t(x)); return; }
        const again = cursor.pinned && Math.abs(this.x(cursor.at) - x) < 4;
        cursorTo(x);
        pin(!again);
        if (cursor.at < scope.from || cursor.at > scope.until) jump(cursor.at);
        tip(hint?.(x, y), e);
      },
      zoom: (factor, x) => this.scope.zoom(factor, this.t(x)),
      wheel: e => brush || e.ctrlKey || e.metaKey || e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY),
    });
  }

  paint() { super.paint(); this.follow(); }

  // View is what the board shows; the overview's is all.
  get view() { return this.scope; }

  // x returns where a time is, t which time is there.
  x(t) {
    const g = this.gutter(), { from, until } = this.view;
    return g + (t - from) / (until - from) * (this.width - g);
  }

  t(x) {
    const g = this.gutter(), { from, until } = this.view;
    return from + (x - g) / (this.width - g) * (until - from);
  }

  follow() {
    if (!this.visible) return;
    const x = this.x(cursor.at), hide = !(x >= this.gutter() - 0.5 && x <= this.width + 0.5);
    if (this.line.hidden !== hide) this.line.hidden = hide;
    if (!hide) this.line.style.transform = `translateX(${Math.min(x, this.width - 1).toFixed(1)}px)`;
  }

  // select marks what a drag will show when it ends: without x it has ended.
  select(began, x) {
    if (x === undefined) {
      if (this.mark) { this.mark.remove(); this.scope.show(this.t(this.range[0]), this.t(this.range[1])); }
      this.mark = null;
      return;
    }
    if (!this.mark) this.box.append(this.mark = el("div", { class: "brush" }));
    this.range = [Math.max(this.gutter(), Math.min(began, x)), Math.min(this.width, Math.max(began, x))];
    this.mark.style.left = `${this.range[0]}px`;
    this.mark.style.width = `${this.range[1] - this.range[0]}px`;
  }

  // grid draws the lines of an axis of time.
  grid(ctx, w, h) {
    ctx.fillStyle = colour.line;
    for (const t of this.scope.ticks(w - this.gutter()).times) ctx.fillRect(Math.round(this.x(t)), 0, 1, h);
  }

  // spans draws lengths of time.
  spans(ctx, pairs, y, h, name, w) {
    for (const p of list(pairs)) {
      const from = Math.max(this.gutter(), this.x(p[0])), until = Math.min(w, Math.max(this.x(p[1]), this.x(p[0]) + 2));
      if (!(until > from)) continue;
      ctx.fillStyle = hatched(ctx, name);
      ctx.fillRect(from, y, until - from, h);
      ctx.strokeStyle = colour[name];
      ctx.lineWidth = 1;
      if (until - from > 3) ctx.strokeRect(from + 0.5, y + 0.5, until - from - 1, h - 1);
    }
  }
}

// Overview shows the whole time of a scope, and which part the other boards show.
class Overview extends TimeBoard {
  get view() { return { from: this.scope.first, until: this.scope.last }; }
}

// ruler draws an axis of time.
function ruler(scope, style = "ruler", gutter = () => 0) {
  const board = new TimeBoard(scope, "Axis of time", style, (ctx, w, h) => drawRuler(board, ctx, w, h), { gutter });
  return board;
}

function drawRuler(board, ctx, w, h) {
  const { times, step } = board.scope.ticks(w - board.gutter());
  ctx.textAlign = "center";
  ctx.font = SMALL;
  for (const t of times) {
    const x = board.x(t), text = clock(t - board.scope.first, step), half = ctx.measureText(text).width / 2;
    ctx.fillStyle = colour.mute;
    ctx.fillRect(Math.round(x), h - 4, 1, 4);
    write(ctx, text, Math.max(board.gutter() + half, Math.min(w - half - 1, x)), h - 12, Infinity, colour.mute);
  }
  ctx.textAlign = "left";
}

// ---- Events ------------------------------------------------------------------------------------------------------

// How the kinds of events are drawn: a name, a shape and a colour.
const KINDS = {
  lost: ["lost in transport", "down", "bad"], drop: ["dropped by the recorder", "cross", "bad"],
    gap: ["gap", "down", "s4"],
  pause: ["pause", "bars", "s6"], throttle: ["left out on purpose", "diamond", "s6"], split: ["split", "flag", "s0"],
  disk: ["disk", "square", "s3"], snapshot: ["snapshot", "circle", "s2"], damage: ["damage", "square", "bad"],
  missing: ["missing file", "square", "bad"], unfinished: ["unfinished file", "square", "s4"],
    check: ["check", "diamond", "s3"],
};

function kind(name) { return Object.hasOwn(KINDS, name) ? KINDS[name] : [plain(name, 30), "circle", "s6"]; }

const SHAPES = {
  down: c => { c.moveTo(-5, -4); c.lineTo(5, -4); c.lineTo(0, 5); },
  diamond: c => { c.moveTo(0, -5); c.lineTo(5, 0); c.lineTo(0, 5); c.lineTo(-5, 0); },
  square: c => c.rect(-4, -4, 8, 8),
  circle: c => c.arc(0, 0, 4.5, 0, 7),
  bars: c => { c.rect(-4, -4, 3, 8); c.rect(1, -4, 3, 8); },
  flag: c => { c.rect(-1, -5, 1.5, 11); c.moveTo(0, -5); c.lineTo(7, -2); c.lineTo(0, 1); },
  cross: c => {
    const xy = [-5, -3, -3, -5, 0, -2, 3, -5, 5, -3, 2, 0, 5, 3, 3, 5, 0, 2, -3, 5, -5, 3, -2, 0];
    for (let i = 0; i < xy.length; i += 2) c.lineTo(xy[i], xy[i + 1]);
  },
};

function drawMark(ctx, name, x, y) {
  const [, shape, style] = kind(name);
  ctx.save();
  ctx.translate(x, y);
  ctx.beginPath();
  SHAPES[shape](ctx);
  ctx.closePath();
  ctx.strokeStyle = colour.bg;
  ctx.lineWidth = 2;
  ctx.stroke();
  ctx.fillStyle = colour[style];
  ctx.fill();
  ctx.restore();
}

// drawEvents draws events in a row whose middle is y, and returns where the marks are.
function drawEvents(board, ctx, events, y, w) {
  const marks = [], last = {};
  for (const e of events) {
    const from = board.x(e.from), until = board.x(e.until);
    if (until < board.gutter() || from > w) continue;
    if (until - from >= 2) board.spans(ctx, [[e.from, e.until]], y - 5, 10, kind(e.kind)[2], w);
    const x = Math.max(from, board.gutter() + 5);
    marks.push({ event: e, from: Math.min(from, x) - 6, until: Math.max(until, x + 6) });
    if (last[e.kind] !== undefined && x - last[e.kind] < 3) continue;
    last[e.kind] = x;
    drawMark(ctx, e.kind, x, y);
  }
  return marks;
}

function eventText(e) {
  const long = e.until > e.from ? ` to ${clock(e.until)} (${seconds(e.until - e.from)})` : "";
  return [`${kind(e.kind)[0]}: ${clock(e.from)}${long}`, e.topic && plain(e.topic),
    e.count > 0 && plural(e.count, "message"),
    e.text && plain(e.text, 300)].filter(Boolean).join("\n");
}

// replace fills a box anew. Boards that were in it are drawn no more.
function replace(box, ...children) {
  const old = [...boards].filter(b => box.contains(b.box));
  box.replaceChildren(...children);
  for (const b of old) if (!box.contains(b.box)) { boards.delete(b); seen.unobserve(b.box); sized.unobserve(b.box); }
}

// icon draws something small for a legend, again when the theme changes.
function icon(width, draw) {
  const board = new Board("", "", (ctx, w, h) => draw(ctx, w, h), false);
  board.canvas.setAttribute("aria-hidden", "true");
  board.box.style.cssText = `width:${width}px;height:14px;flex:none`;
  return board.box;
}

// gradient draws a scale of colours.
function gradient(name) {
  return icon(120, (ctx, w) => colour[name].forEach((c, i) => {
    ctx.fillStyle = c;
    ctx.fillRect(i * w / 32, 2, w / 32 + 1, 10);
  }));
}

// ---- Head --------------------------------------------------------------------------------------------------------

function head(data) {
  const good = Boolean(data.good), from = dates(data, 0), until = dates(data, now.end);
  const topics = data.topics.length ? ` of ${plural(data.topics.length, "topic")}` : "";
  return el("header", { id: "head" },
    el("h1", null, plain(data.name, 200) || "Recording"),
    verdict(good, list(data.verdict),
      good ? "Nothing is known to be wrong." : "Something is wrong with this recording."),
    facts([
      ["Format", plain(data.format, 60)],
      ["Size", bytes(data.size) + (data.files > 1 ? ` in ${plural(data.files, "file")}` : "")],
      ["Duration", seconds(now.end)],
      ["Messages", count(data.messages) + topics],
      ["From", from.utc.replace(/\.\d+/, "")],
      ["Until", until.utc.replace(/\.\d+/, "")],
      ["Local time", from.local.includes("+00:00") ? "" : from.local.replace(/\.\d+ local/, "")],
    ]));
}

// ---- Topics ------------------------------------------------------------------------------------------------------

function topics(data, changed) {
  const total = data.topics.reduce((sum, t) => sum + finite(t.bytes), 0);
  const share = t => total > 0 ? finite(t.bytes) / total : 0;
  const named = s => el("bdi", { title: plain(s, 400) }, plain(s)),
    zero = n => el("span", { class: n > 0 ? "alarm" : "zero" }, count(n));
  const latency = i => t => Array.isArray(t.latency) ? finite(t.latency[i], NaN) : NaN;
  const time = v => isFinite(v) ? seconds(v) : el("span", { class: "zero" }, "–");
  return section("topics", "Topics", null, table({
    caption: `Topics of ${plain(data.name)}`, rows: data.topics, changed, search: "Search topics and types",
    text: t => `${t.name} ${t.type}`, empty: data.topics.length ? "No topic matches" : "No topics",
    columns: [
      { name: "Topic", key: t => String(t.name), cell: t => named(t.name), first: true, class: "key" },
      { name: "Type", key: t => String(t.type), cell: t => named(t.type), class: "one" },
      { name: "Messages", key: t => t.messages, cell: t => count(t.messages), number: true },
      { name: "Bytes", key: t => t.bytes, cell: t => bytes(t.bytes), number: true },
      { name: "Share", key: share, number: true, cell: t => {
        const bar = el("i");
        bar.style.width = `${share(t) * 100}%`;
        return el("span", null, `${(share(t) * 100).toFixed(1)} %`,
          el("span", { class: "share", "aria-hidden": "true" }, bar));
      } },
      { name: "Hz", key: t => t.rate, cell: t => t.rate > 0 ? number(t.rate) : el("span", { class: "zero" }, "–"),
        number: true },
      { name: "Worst gap", key: t => t.gap, cell: t => time(t.gap > 0 ? t.gap : NaN), number: true },
      { name: "Dropped", key: t => t.dropped, cell: t => zero(t.dropped), number: true },
      { name: "Lost", key: t => t.lost, cell: t => zero(t.lost), number: true },
      { name: "Latency median", key: latency(0), cell: t => time(latency(0)(t)), number: true },
      { name: "Latency 99 %", key: latency(1), cell: t => time(latency(1)(t)), number: true },
      { name: "QoS", key: t => String(t.qos ?? ""), cell: t => t.qos ? named(t.qos) : "–", class: "one" },
    ],
  }));
}

// ---- Timeline ----------------------------------------------------------------------------------------------------

// smooth returns the rate of a topic in each part of the duration: the mean over some messages around, so that a steady
// topic has one colour, but 0 where there are none for longer than one interval.
function smooth(topic, end) {
  if (topic.smooth) return topic.smooth;
  const d = Float64Array.from(list(topic.density), v => finite(v)), n = d.length, out = new Float32Array(n);
  const near = topic.rate > 0 && end > 0 ? Math.ceil(n / end / topic.rate) : 0, far = 2 * near + 1;
  topic.sparse = !near || far > n / 8;
  if (topic.sparse) return topic.smooth = Float32Array.from(d); // so few messages that each is a line
  // window returns the sum of a list from i - half to i + half, for each i.
  const window = (a, half) => {
    const sums = new Float64Array(n + 1);
    a.forEach((v, i) => { sums[i + 1] = sums[i] + v; });
    return Float64Array.from(a, (_, i) => sums[Math.min(n, i + half + 1)] - sums[Math.max(0, i - half)]);
  };
  const there = window(d, near).map(v => v > 1e-6 ? 1 : 0), twice = a => window(window(a, far), far);
  const sum = twice(d), width = twice(there);
  for (let i = 0; i < n; i++) if (there[i]) out[i] = sum[i] / width[i];
  return topic.smooth = out;
}

class Timeline {
  constructor(data, scope) {
    Object.assign(this, { data, scope, order: data.topics, marks: new Map() });
    this.measure();
    const gutter = () => narrow() ? 0 : 210; // as --gutter
    const gaps = data.topics.reduce((n, t) => n + list(t.gaps).length, 0);
    this.axis = new TimeBoard(scope, "Axis of time with all events", "axis", (ctx, w, h) => this.drawAxis(ctx, w, h),
      { gutter, hint: x => this.hint(this.laneMarks, x) });
    this.rows = new TimeBoard(scope,
      `Messages per second of ${plural(data.topics.length, "topic")} over ${seconds(now.end)}, ` +
      `with ${plural(gaps, "gap")} and ${plural(data.events.length, "event")}; the tables say the same`,
    "body", (ctx, w, h) => this.drawRows(ctx, w, h), { gutter, hint: (x, y) => this.rowHint(x, y), focus: true });
    this.inner = el("div", null, this.axis.box, this.rows.box);
    this.scroller = el("div", { class: "rows", onscroll: () => this.rows.redraw() }, this.inner);
    this.rows.canvas.addEventListener("keydown", e => {
      const d = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 }[e.key];
      if (!d || this.scroller.scrollHeight <= this.scroller.clientHeight) return;
      this.scroller.scrollTop += d * this.rowHeight;
      e.preventDefault();
    });
    this.layout();
  }

  measure() {
    const { data } = this;
    Object.assign(this, { low: Infinity, high: 0, events: new Map() });
    for (const t of data.topics) {
      for (const v of smooth(t, now.end)) {
        if (v > 0) this.low = Math.min(this.low, v);
        this.high = Math.max(this.high, v);
      }
    }
    this.low = Math.max(this.low, this.high / 1e5);
    for (const e of data.events) if (e.topic) append(this.events, e.topic, e);
    this.everywhere = data.events.filter(e => !e.topic &&
      ["pause", "gap", "disk", "split", "throttle"].includes(e.kind));
  }

  // layout gives the rows their place; all of them when the page is printed.
  layout(whole) {
    this.rowHeight = narrow() ? 36 : 22;
    const axis = 48, n = Math.max(1, this.order.length) * this.rowHeight;
    const h = whole ? Math.min(n, 300 * this.rowHeight) : Math.min(n, Math.max(220, Math.min(innerHeight * 0.6, 560)));
    this.axis.box.style.height = `${axis}px`;
    this.rows.box.style.height = `${h}px`;
    this.rows.box.style.top = `${axis}px`;
    this.inner.style.height = `${axis + n}px`;
    this.scroller.style.height = `${axis + h + 2}px`;
    this.rows.redraw();
    document.documentElement.style.setProperty("--bar",
      `${this.scroller.offsetWidth - this.scroller.clientWidth - 2}px`);
  }

  show(order) { this.order = order; this.layout(); }

  drawAxis(ctx, w, h) {
    drawRuler(this.axis, ctx, w, 26);
    if (this.axis.gutter()) { ctx.font = FONT; write(ctx, "Events", 8, h - 11, 190, colour.mute); }
    ctx.save();
    ctx.beginPath();
    ctx.rect(this.axis.gutter(), 0, w, h);
    ctx.clip();
    this.laneMarks = drawEvents(this.axis, ctx, this.data.events, h - 11, w);
    ctx.restore();
  }

  drawRows(ctx, w, h) {
    const b = this.rows, size = this.rowHeight, gutter = b.gutter(), top = this.scroller.scrollTop;
    if (!this.order.length) write(ctx, "No topics", 8, size / 2, w, colour.mute);
    const band = { y: gutter ? 3 : 19, h: gutter ? size - 6 : size - 22 };
    b.grid(ctx, w, h);
    this.marks.clear();
    const last = Math.min(this.order.length, Math.ceil((top + h) / size));
    for (let i = Math.floor(top / size); i < last; i++) {
      const t = this.order[i], y = i * size - top;
      ctx.font = FONT;
      write(ctx, plain(t.name), 8, gutter ? y + size / 2 : y + 10, gutter ? gutter - 18 : w - 16);
      this.drawDensity(ctx, t, y + band.y, band.h, w);
      ctx.save();
      ctx.beginPath();
      ctx.rect(gutter, y, w - gutter, size);
      ctx.clip();
      b.spans(ctx, t.gaps, y + band.y, band.h, "s1", w);
      this.marks.set(i, drawEvents(b, ctx, this.events.get(t.name) || [], y + band.y + band.h / 2, w));
      ctx.restore();
    }
    for (const e of this.everywhere) {
      const from = Math.max(gutter, b.x(e.from)), until = Math.min(w, b.x(e.until));
      if (until < gutter || from > w) continue;
      ctx.globalAlpha = 0.5;
      ctx.fillStyle = colour[kind(e.kind)[2]];
      if (until - from < 2) ctx.fillRect(from, 0, 1, h);
        else b.spans(ctx, [[e.from, e.until]], 0, h, kind(e.kind)[2], w);
      ctx.globalAlpha = 1;
    }
  }

  // drawDensity draws a colour for each pixel, as wide as it stays the same.
  drawDensity(ctx, t, y, h, w) {
    const b = this.rows, d = smooth(t, now.end), n = d.length, per = n / (b.scope.last - b.scope.first);
    const low = Math.log(this.low), high = Math.log(this.high), gutter = b.gutter();
    const first = b.scope.from * per, pixel = (b.scope.until - b.scope.from) / (w - gutter) * per;
    let from = gutter, style = null;
    const flush = x => {
      if (style) { ctx.fillStyle = style; ctx.fillRect(from, y, Math.max(x - from, 2), h); }
      from = x;
    };
    for (let x = gutter; x < w && n; x++) {
      const i = Math.max(0, Math.floor(first + (x - gutter) * pixel));
      const j = Math.min(n, Math.max(i + 1, Math.floor(first + (x + 1 - gutter) * pixel)));
      let sum = 0;
      for (let k = i; k < j; k++) sum += d[k];
      const v = Math.max(Math.log(sum / (j - i)), t.sparse ? (low + high) / 2 : -Infinity); // a line must be seen
      const s = sum > 0 ? shade(colour.density, v, low, high) : null;
      if (s !== style) { flush(x); style = s; }
    }
    flush(w);
  }

  hint(marks, x) {
    const found = (marks || []).filter(m => x >= m.from && x <= m.until);
    return found.slice(-4).map(m => eventText(m.event)).join("\n\n") +
      (found.length > 4 ? `\n\nand ${found.length - 4} more` : "");
  }

  rowHint(x, y) {
    const i = Math.floor((y + this.scroller.scrollTop) / this.rowHeight), t = this.order[i];
    if (!t) return "";
    const name = plain(t.name), at = this.rows.t(x);
    if (x < this.rows.gutter()) return `${name}\n${plain(t.type)}\n${plural(finite(t.messages), "message")}`;
    const event = this.hint(this.marks.get(i), x);
    if (event) return event;
    const gap = list(t.gaps).find(g => x >= this.rows.x(g[0]) - 2 && x <= this.rows.x(g[1]) + 2);
    if (gap) return `${name}\nsilent from ${clock(gap[0])} to ${clock(gap[1])} (${seconds(gap[1] - gap[0])})`;
    const d = smooth(t, now.end), v = d[Math.floor(at * d.length / (this.scope.last - this.scope.first))];
    return `${name}\n${v > 0 ? `${number(v)} messages/s` : "nothing"} at ${clock(at)}`;
  }

  // legend explains the colours and marks, again when they change.
  legend() {
    const box = el("div"), fill = () => {
      const scale = [this.low, this.high].map(v => v.toPrecision(2));
      const key = JSON.stringify([scale, this.data.events.map(e => e.kind)]);
      if (key !== box.dataset.key) replace(box, this.explain());
      box.dataset.key = key;
    };
    fill();
    if (live) refreshers.add(fill);
    return box;
  }

  explain() {
    const kinds = [...new Set(this.data.events.map(e => e.kind))];
    const scale = this.scale ??= gradient("density");
    return el("div", { class: "legend" },
      this.high > 0 && el("span", null, `${number(+this.low.toPrecision(2))}`, scale,
        `${number(+this.high.toPrecision(2))} messages/s (logarithmic)`),
      this.data.topics.some(t => list(t.gaps).length) && el("span", null, icon(20, (ctx, w) => {
        ctx.fillStyle = hatched(ctx, "s1");
        ctx.fillRect(0, 2, w, 10);
        ctx.strokeStyle = colour.s1;
        ctx.strokeRect(0.5, 2.5, w - 1, 9);
      }), "silent for longer than usual"),
      kinds.slice(0, 20).map(k => el("span", null, icon(14, ctx => drawMark(ctx, k, 7, 7)), kind(k)[0])));
  }

  section() {
    const hint = "Drag to pan, Shift + drag or Ctrl + wheel to zoom, click to pin the cursor; ? for the keys";
    return section("timeline", "Timeline", el("span", { class: "hint" }, hint), this.scroller, this.legend());
  }
}

// ---- Pictures ----------------------------------------------------------------------------------------------------

function source(thumb) { return `data:image/jpeg;base64,${thumb.jpeg}`; }

// pictures returns the cameras' pictures at the cursor, and a strip for each that follows the scope.
function pictures(cameras, scope) {
  for (const c of cameras) c.thumbs = list(c.thumbs);
  const views = cameras.map(c => {
    const image = el("img", { alt: "", hidden: true, onerror: () => show(null) }),
      none = el("span", { class: "mute" }, "no picture");
    const time = el("span", { class: "mute" });
    let shown = null;
    const show = jpeg => {
      image.hidden = !jpeg;
      none.hidden = Boolean(jpeg);
      none.textContent = shown ? "cannot be read" : "no picture";
    };
    followers.add(() => {
      const thumb = live && !cursor.pinned && c.latest || c.thumbs[nearest(c.thumbs, cursor.at)];
      if (thumb === shown) return;
      shown = thumb;
      show(thumb?.jpeg);
      if (thumb?.jpeg) { image.src = source(thumb); image.alt = `${plain(c.topic)} at ${clock(thumb.at)}`; }
      time.textContent = thumb ? clock(thumb.at) : "";
    });
    return el("figure", null, el("div", { class: "frame" }, image, none),
      el("figcaption", null, el("b", null, name(c.topic)), time));
  });
  const strips = cameras.map(c => {
    const size = c.width > 0 && c.height > 0 ? `${c.width} × ${c.height}` : "";
    return el("div", { class: "row" }, el("div", { class: "side" }, el("b", null, name(c.topic)),
      el("div", { class: "mute" }, [size, plain(c.kind, 40)].filter(Boolean).join(", "))), strip(c, scope).box);
  });
  const times = el("div", { class: "row" }, el("div"), ruler(scope).box);
  return [el("div", { class: `views${views.length < 3 ? " few" : ""}` }, views), strips, times];
}

function strip(camera, scope) {
  const height = 56, pool = new Map();
  const width = Math.round(height * Math.max(0.4, Math.min(3, camera.width / camera.height || 4 / 3)));
  const board = new TimeBoard(scope, `${plural(camera.thumbs.length, "picture")} of ${plain(camera.topic)}`, "strip",
    (ctx, w, h) => {
    board.grid(ctx, w, h);
    const keep = new Set();
    let right = -Infinity;
    for (const thumb of camera.thumbs) { // from the first one on, so that panning changes nothing
      const x = board.x(thumb.at) - width / 2;
      if (x < right) continue;
      right = x + width + 2;
      if (right < 0 || x > w) continue;
      keep.add(thumb);
      let e = pool.get(thumb);
      if (!e) {
        e = thumb.jpeg ? el("img", { alt: "", src: source(thumb), decoding: "async" }) : el("i", null, "unreadable");
        e.style.width = `${width}px`;
        pool.set(thumb, e);
        board.box.insertBefore(e, board.line);
      }
      e.style.transform = `translateX(${Math.round(x)}px)`;
    }
    for (const [thumb, e] of pool) if (!keep.has(thumb)) { e.remove(); pool.delete(thumb); }
  });
  return board;
}

// ---- Curves ------------------------------------------------------------------------------------------------------

// Curve is a number over time: its bins are equal parts of first to last.
class Curve {
  constructor(name, low, high, first, last) {
    this.name = name;
    this.hidden = false;
    this.set(low, high, first, last);
  }

  set(low, high, first, last) {
    this.low = Float64Array.from(Array.isArray(low) ? low : [], v => v ?? NaN);
    this.high = Float64Array.from(Array.isArray(high) ? high : [], v => v ?? NaN);
    const n = this.count = Math.min(this.low.length, this.high.length);
    Object.assign(this, { first, bin: n ? ((last - first) || 1) / n : 1 });
    // A line joins values that are not much farther from each other than most are.
    const steps = [];
    for (let i = 0, last = -1; i < n; i++) {
      if (this.low[i] !== this.low[i]) continue;
      if (last >= 0) steps.push(i - last);
      last = i;
    }
    steps.sort((a, b) => a - b);
    this.join = steps.length ? Math.max(3, 8 * steps[Math.floor(steps.length / 2)]) : 1;
  }

  index(t) { return Math.floor((t - this.first) / this.bin); }

  // value returns the bin with a value that is nearest to t, -1 if there is none near.
  value(t) {
    const at = Math.min(this.count - 1, Math.max(0, this.index(t)));
    for (let d = 0; d <= this.join; d++) {
      for (const i of [at - d, at + d]) if (this.low[i] === this.low[i] && this.low[i] !== undefined) return i;
    }
    return -1;
  }

  // points returns one point per pixel from x = 0 to w, null between those that no line joins: [x, low, high].
  points(board, w) {
    const from = Math.max(0, this.index(board.t(0)) - this.join),
      until = Math.min(this.count - 1, this.index(board.t(w)) + this.join);
    const points = [];
    let last = -1, p = null;
    for (let i = from; i <= until; i++) {
      if (this.low[i] !== this.low[i]) continue;
      const x = board.x(this.first + (i + 0.5) * this.bin);
      if (last >= 0 && i - last > this.join) { points.push(null); p = null; }
      if (p && Math.floor(p[0]) === Math.floor(x)) p.splice(1, 2, Math.min(p[1], this.low[i]),
        Math.max(p[2], this.high[i]));
      else points.push(p = [x, this.low[i], this.high[i]]);
      last = i;
    }
    return points;
  }
}

// plot returns a row with curves and their legend. spans are lengths of time that are marked: [pairs, colour].
function plot({ title, note, unit, curves, scope, spans = [] }) {
  let visible = 12;
  const outputs = curves.map(() => el("output"));
  const of = unit ? ` ${unit}` : "";
  const board = new TimeBoard(scope, `Curves of ${title}: ${curves.slice(0, 12).map(c => c.name).join(", ")}`,
    "curve", (ctx, w, h) => {
    update();
    board.grid(ctx, w, h);
    const shown = curves.filter(c => !c.hidden), all = shown.map(c => c.points(board, w));
    const values = all.flat().filter(Boolean), seen = values.filter(p => p[0] >= -1 && p[0] <= w + 1);
    let low = Infinity, high = -Infinity;
    for (const p of seen.length ? seen : values) { low = Math.min(low, p[1]); high = Math.max(high, p[2]); }
    ctx.globalAlpha = 0.55;
    for (const [pairs, name] of spans) board.spans(ctx, pairs, 0, h, name, w);
    ctx.globalAlpha = 1;
    ctx.font = SMALL;
    if (low > high) return write(ctx, shown.length ? "no values" : "all curves are hidden", 8, h / 2, w, colour.mute);
    if (high - low <= Math.abs(high) * 1e-9) {
      const d = Math.abs(high) * 0.05 || 1;
      [low, high] = [low - d, high + d];
    }
    const y = v => 8 + (high - v) / (high - low) * (h - 16), step = nice((high - low) / 3);
    const labels = [];
    for (let v = Math.ceil(low / step) * step, i = 0; v <= high && i < 9; v += step, i++) {
      ctx.fillStyle = colour.line;
      ctx.fillRect(0, Math.round(y(v)), w, 1);
      labels.push([Math.abs(v) < step / 1e6 ? 0 : v, y(v)]);
    }
    all.forEach((points, i) => drawCurve(ctx, points, y, curves.indexOf(shown[i])));
    labels.forEach(([v, y], i) => {
      const text = number(v) + (i === labels.length - 1 ? of : ""), cy = Math.max(8, Math.min(h - 7, y));
      ctx.lineWidth = 3;
      ctx.strokeStyle = colour.panel;
      ctx.textBaseline = "middle";
      ctx.strokeText(text, 5, cy);
      write(ctx, text, 5, cy, Infinity, colour.mute);
    });
  });
  const update = () => {
    curves.forEach((c, i) => {
      const k = c.value(cursor.at);
      const upper = c.high[k] > c.low[k] ? ` … ${number(c.high[k])}` : "";
      outputs[i].textContent = k < 0 ? "–" : number(c.low[k]) + upper;
    });
  };
  followers.add(() => { if (board.visible) update(); });
  const keys = el("ul", { class: "keys" });
  const rest = button(`${curves.length - visible} more`, "Show all in the legend",
    () => { visible = Infinity; fill(); });
  const fill = () => keys.replaceChildren(...curves.slice(0, visible).map((c, i) => {
    const swatch = el("i", { class: i % (2 * SERIES) >= SERIES ? "dash" : null });
    swatch.style.borderTopColor = `var(--s${i % SERIES})`;
    const toggle = e => {
      c.hidden = !c.hidden;
      e.currentTarget.setAttribute("aria-pressed", String(!c.hidden));
      board.redraw();
    };
    const title = `Show or hide ${c.name}`;
    const properties = { type: "button", "aria-pressed": String(!c.hidden), title, onclick: toggle };
    return el("li", null, el("button", properties, swatch, el("span", null, c.name), outputs[i]));
  }), curves.length > visible ? el("li", null, rest) : "");
  fill();
  return el("div", { class: "row" },
    el("div", { class: "side" }, el("b", null, name(title, 400)),
      el("div", { class: "mute" }, [note, unit && `in ${unit}`].filter(Boolean).join(", ")), keys), board.box);
}

function drawCurve(ctx, points, y, index) {
  ctx.strokeStyle = ctx.fillStyle = colour[`s${index % SERIES}`];
  ctx.lineWidth = 1.4;
  ctx.lineJoin = "round";
  ctx.setLineDash(index % (2 * SERIES) >= SERIES ? [3, 3] : []);
  for (let i = 0; i < points.length; i++) {
    if (!points[i]) continue;
    const start = i;
    while (i + 1 < points.length && points[i + 1]) i++;
    const run = points.slice(start, i + 1);
    if (run.length === 1) {
      const [x, low, high] = run[0];
      ctx.fillRect(x - 1.25, y(high) - 1.25, 2.5, y(low) - y(high) + 2.5);
      continue;
    }
    if (run.some(p => y(p[1]) - y(p[2]) > 1.5)) {
      ctx.globalAlpha = 0.3;
      ctx.beginPath();
      for (const p of run) ctx.lineTo(p[0], y(p[2]));
      for (const p of run.reverse()) ctx.lineTo(p[0], y(p[1]));
      ctx.fill();
      ctx.globalAlpha = 1;
    }
    ctx.beginPath();
    for (const p of run) ctx.lineTo(p[0], y(p[1] + (p[2] - p[1]) / 2));
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

function curves(data, scope) {
  const groups = new Map();
  for (const s of data.signals) append(groups, `${s.group || s.path}\0${s.topic}`, s);
  const plots = [...groups.values()].map(signals => {
    const group = String(signals[0].group ?? ""), topic = data.topics.find(t => t.name === signals[0].topic);
    const path = String(signals[0].path ?? ""), dot = path.lastIndexOf(".");
    const parent = signals.length > 1 && dot > 0 &&
      signals.every(s => String(s.path).startsWith(path.slice(0, dot + 1))) ? path.slice(0, dot) : "";
    return plot({
      title: plain(signals[0].topic),
      note: parent ? plain(parent) : signals.length > 1 ? plain(group.replace(signals[0].topic, "")) : "",
      unit: plain(signals[0].unit, 20), scope, spans: [[topic?.gaps, "s6"]],
      curves: signals.map(s => {
        const c = new Curve(plain(parent ? String(s.path).slice(dot + 1) : s.path, 80), s.low, s.high, 0, scope.last);
        if (live) refreshers.add(() => c.set(s.low, s.high, 0, scope.last));
        return c;
      }),
    });
  });
  const drawn = data.fields.filter(f => f.drawn).length;
  const box = el("div", { class: "curves" }, plots.slice(0, 16));
  const more = plots.length > 16 && button(`Show ${plural(plots.length - 16, "more plot")}`, "Show all plots", () => {
    box.append(...plots.slice(16));
    more.remove();
  });
  return section("curves", "Curves",
    !plots.length ? "no numbers are drawn" : live && !plays() ? "of some messages a second"
      : "lowest to highest value in each part of the time",
    box, plots.length > 0 && el("div", { class: "row" }, el("div"), ruler(scope).box), more,
    data.fields.length > 0 && el("details", null,
      el("summary", null, `All numeric fields (${count(data.fields.length)}, ${count(drawn)} drawn)`),
      el("p", { class: "note" }, "Others are drawn with converter report --plot TOPIC.FIELD"),
      table({
        caption: "Numeric fields", rows: data.fields, search: "Search fields", first: 100,
        text: f => `${f.topic} ${f.path}`,
        choices: { name: "Drawn or not", value: f => f.drawn ? "drawn" : "not drawn" },
        columns: [
          { name: "Topic", key: f => String(f.topic), cell: f => name(f.topic), first: true },
          { name: "Field", key: f => String(f.path), cell: f => name(f.path) },
          { name: "Drawn", key: f => f.drawn ? "yes" : "no", cell: f => f.drawn ? "✓ yes" : "no" },
        ],
      })));
}

// ---- Where -------------------------------------------------------------------------------------------------------

// degrees returns the lines of a track as longitude, latitude and height. A degree is as long as where Go made metres
// of it.
function degrees(track) {
  const north = 6371008.8 * Math.PI / 180, east = north * Math.cos(track.origin[0] * Math.PI / 180), lines = [[]];
  for (const [t, x, y, z] of track.points) {
    if (x == null || y == null) { lines.push([]); continue; }
    lines.at(-1).push({ t, at: [+(track.origin[1] + x / east).toFixed(9), +(track.origin[0] + y / north).toFixed(9),
      ...(z == null ? [] : [z])] });
  }
  return lines.filter(l => l.length > 1);
}

function geoJSON(data, tracks) {
  return JSON.stringify({ type: "FeatureCollection", features: tracks.map(t => {
    const lines = degrees(t);
    return { type: "Feature", properties: { recording: data.name, topic: t.topic, name: t.name, start: data.start,
      seconds: lines.map(l => l.map(p => p.t)) },
      geometry: { type: "MultiLineString", coordinates: lines.map(l => l.map(p => p.at)) } };
  }) }, null, 1);
}

function kml(data, tracks) {
  const xml = s => plain(s, 200).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
  const line = l => `<LineString><coordinates>${l.map(p => p.at.join(",")).join(" ")}</coordinates></LineString>`;
  const mark = t => `<Placemark><name>${xml(trackName(t))}</name>` +
    `<MultiGeometry>${degrees(t).map(line).join("")}</MultiGeometry></Placemark>\n`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2"><Document>` +
    `<name>${xml(data.name)}</name>\n${tracks.map(mark).join("")}</Document></kml>\n`;
}

function trackName(t) { return [t.topic, t.name].filter(Boolean).join(" "); }

// place returns where a track is at a time and its heading, nothing where it is not.
function place(track, t) {
  const p = track.points, i = nearest(p, t, q => q[0]);
  if (i < 0 || p[i][1] == null || p[i][2] == null || t < p[0][0] - 1 || t > p.at(-1)[0] + 1) return null;
  let [x, y] = [p[i][1], p[i][2]];
  const j = t > p[i][0] ? i + 1 : i - 1, other = p[j];
  if (other && other[1] != null && other[0] !== p[i][0]) {
    const part = Math.max(0, Math.min(1, (t - p[i][0]) / (other[0] - p[i][0])));
    x += part * (other[1] - x);
    y += part * (other[2] - y);
  }
  let heading = null; // from points around that are far enough from each other
  for (let d = 1; d < 40 && heading === null; d++) {
    const a = p[Math.max(0, i - d)], b = p[Math.min(p.length - 1, i + d)];
    if ([a[1], a[2], b[1], b[2]].includes(null)) continue;
    if (Math.hypot(b[1] - a[1], b[2] - a[2]) > 0.2) heading = Math.atan2(b[2] - a[2], b[1] - a[1]);
  }
  return { x, y, z: p[i][3], heading, speed: track.speed[i] };
}

function where(data) {
  const tracks = data.tracks.map(t => ({ ...t, points: list(t.points), speed: Array.isArray(t.speed) ? t.speed : [],
    of: t, origin: Array.isArray(t.origin) && t.origin.length === 2 && t.origin.every(isFinite) ? t.origin : null }));
  const frames = [...new Set(tracks.map(t => String(t.frame ?? "")))];
  let shown = [], view = null, mode = "time", range = [0, 1];
  const fit = () => {
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const t of shown) {
      for (const [, x, y] of t.points) {
        if (x == null || y == null) continue;
        left = Math.min(left, x); right = Math.max(right, x); low = Math.min(low, y); high = Math.max(high, y);
      }
    }
    if (left > right) [left, right, low, high] = [-5, 5, -5, 5];
    const scale = Math.min((board.width - 70) / Math.max(right - left, 1),
      (board.height - 90) / Math.max(high - low, 1));
    view = { x: (left + right) / 2, y: (low + high) / 2, scale: Math.max(scale, 1e-9), home: true };
    view.fitted = view.scale;
  };
  const label = tracks.slice(0, 8).map(t => plain(trackName(t), 60)).join(", ");
  const board = new Board(`Map with ${plural(tracks.length, "track")}: ${label}`,
    "map free", (ctx, w, h) => {
      read();
      if (!view || view.home) fit();
      const X = x => w / 2 + (x - view.x) * view.scale, Y = y => h / 2 - (y - view.y) * view.scale;
      const step = nice(90 / view.scale);
      ctx.fillStyle = colour.line;
      const left = Math.ceil((view.x - w / 2 / view.scale) / step),
        low = Math.ceil((view.y - h / 2 / view.scale) / step);
      for (let i = 0; i * step * view.scale < w; i++) ctx.fillRect(Math.round(X((left + i) * step)), 0, 1, h);
      for (let i = 0; i * step * view.scale < h; i++) ctx.fillRect(0, Math.round(Y((low + i) * step)), w, 1);
      shown.forEach((t, n) => drawTrack(ctx, t, n, X, Y));
      shown.forEach((t, n) => {
        const p = place(t, cursor.at);
        if (p) drawArrow(ctx, X(p.x), Y(p.y), p.heading, mode === "track" ? colour[`s${n % SERIES}`] : colour.s1);
      });
      const long = step * view.scale; // the scale bar
      ctx.fillStyle = colour.bg;
      ctx.globalAlpha = 0.8;
      ctx.fillRect(8, h - 34, long + 16, 28);
      ctx.globalAlpha = 1;
      ctx.fillStyle = colour.text;
      ctx.fillRect(16, h - 13, long, 2);
      ctx.fillRect(16, h - 17, 1, 6);
      ctx.fillRect(15 + long, h - 17, 1, 6);
      ctx.font = SMALL;
      write(ctx, step >= 1000 ? `${number(step / 1000)} km` : step < 0.01 ? `${number(step * 1000)} mm`
        : `${number(step)} m`, 16, h - 24);
      write(ctx, "N ↑", w - 30, 16, Infinity, colour.mute);
    });
  function drawTrack(ctx, t, n, X, Y) {
    ctx.lineWidth = 2.5;
    ctx.lineCap = ctx.lineJoin = "round";
    let style = null, before = null;
    t.points.forEach((p, i) => {
      if (p[1] == null || p[2] == null) { before = null; return; }
      const v = mode === "time" ? p[0] : t.speed[i];
      const s = mode === "track" || v == null ? colour[mode === "track" ? `s${n % SERIES}` : "mute"]
        : shade(colour.scale, v, ...range);
      const at = [X(p[1]), Y(p[2])];
      if (s !== style || !before) {
        if (style) ctx.stroke();
        ctx.beginPath();
        ctx.strokeStyle = style = s;
        ctx.moveTo(...(before || at));
      }
      ctx.lineTo(...at);
      before = at;
    });
    if (style) ctx.stroke();
    const first = t.points.find(p => p[1] != null && p[2] != null);
    if (!first) return;
    ctx.beginPath();
    ctx.arc(X(first[1]), Y(first[2]), 4, 0, 7);
    ctx.fillStyle = colour.bg;
    ctx.fill();
    ctx.lineWidth = 2;
    ctx.strokeStyle = colour.text;
    ctx.stroke();
  }
  function drawArrow(ctx, x, y, heading, style) {
    ctx.save();
    ctx.translate(x, y);
    ctx.beginPath();
    if (heading === null) ctx.arc(0, 0, 6, 0, 7);
    else {
      ctx.rotate(-heading);
      for (const p of [[12, 0], [-8, 7], [-4, 0], [-8, -7]]) ctx.lineTo(...p);
      ctx.closePath();
    }
    ctx.fillStyle = style;
    ctx.strokeStyle = colour.bg;
    ctx.lineWidth = 3;
    ctx.stroke();
    ctx.fill();
    ctx.restore();
  }
  const pan = (dx, dy) => {
    if (!view) return;
    Object.assign(view, { home: false, x: view.x - dx / view.scale, y: view.y + dy / view.scale });
    board.redraw();
  };
  const zoom = (f, x = board.width / 2, y = board.height / 2) => {
    if (!view) return;
    f = Math.max(view.fitted / 50, Math.min(view.fitted * 2000, view.scale * f)) / view.scale;
    const dx = x - board.width / 2, dy = y - board.height / 2;
    view.x += dx / view.scale * (1 - 1 / f);
    view.y -= dy / view.scale * (1 - 1 / f);
    view.scale *= f;
    view.home = false;
    board.redraw();
  };
  const home = () => { if (view) view.home = true; board.redraw(); };
  board.gestures({ drag: pan, slide: pan, zoom,
    wheel: e => e.ctrlKey || e.metaKey || document.activeElement === board.canvas });
  ownKeys(board, { pan: (x, y) => pan(-40 * x, 40 * y), zoom, home });
  const legend = el("div", { class: "legend" }), readout = el("div", { class: "readout" }), tones = gradient("scale");
  const files = el("span", { class: "buttons" });
  const fill = () => {
    shown = tracks.filter(t => String(t.frame ?? "") === frames[+frame.value || 0]);
    const values = shown.flatMap(t => mode === "time" ? t.points.map(p => p[0])
      : t.speed.filter(v => v != null)).sort((a, b) => a - b);
    range = values.length ? [values[0],
      mode === "time" ? values.at(-1) : values[Math.floor((values.length - 1) * 0.99)]] : [0, 1];
    const text = v => mode === "time" ? clock(v, 0.1) : `${number(v)} m/s`;
    const scale = el("span", null, text(range[0]), tones, text(range[1]));
    const keys = () => shown.slice(0, 30).map((t, n) => el("span", null, icon(14, (ctx, w) => {
      ctx.fillStyle = colour[`s${n % SERIES}`];
      ctx.fillRect(0, 6, w, 3);
    }), name(trackName(t), 60)));
    replace(legend, ...(mode === "track" ? keys() : [scale]), el("span", null, "○ start"),
      el("span", null, "▲ at the cursor"));
    const known = shown.filter(t => t.origin && t.points.length), file = plain(data.name, 60) || "track";
    files.replaceChildren(...(known.length ? [
      button("GeoJSON", "Download the tracks as GeoJSON",
        () => save(`${file}.geojson`, "application/geo+json", geoJSON(data, known))),
      button("KML", "Download the tracks as KML",
        () => save(`${file}.kml`, "application/vnd.google-earth.kml+xml", kml(data, known)))] : []));
    board.redraw();
    moved = true;
  };
  const frame = options("Frame of the map", frames.map(f => plain(f, 60) || "no frame"), () => { fill(); home(); });
  const modes = options("Colours of the tracks", ["coloured by time", "coloured by speed", "a colour per track"], e => {
    mode = ["time", "speed", "track"][e.target.value];
    fill();
    home();
  });
  const read = () => {
    const lines = [], metres = v => v.toFixed(2).replace("-", "−");
    for (const t of shown.slice(0, 4)) {
      const p = place(t, cursor.at);
      if (!p) continue;
      const heading = p.heading === null ? "" : `, heading ${Math.round((450 - p.heading * 180 / Math.PI) % 360)}°`;
      const speed = p.speed == null ? "" : `, ${number(+p.speed.toFixed(2))} m/s`;
      lines.push(`${plain(trackName(t), 60)}: x ${metres(p.x)}, y ${metres(p.y)} m${heading}${speed}`);
    }
    readout.textContent = lines.join("\n");
  };
  followers.add(() => board.redraw());
  fill();
  if (live) refreshers.add(() => {
    for (const t of tracks) Object.assign(t, { points: t.of.points, speed: t.of.speed });
    fill();
  });
  return section("where", "Where",
    `east and north in metres${frames.length === 1 && frames[0] ? `, frame ${plain(frames[0], 60)}` : ""}`,
    el("div", { class: "tools" }, frames.length > 1 && frame, modes, zoomButtons(zoom, home), files), board.box,
      legend, readout);
}

// ownKeys has a board that has the focus pan, turn and zoom by keys instead of moving the cursor.
function ownKeys(board, { pan, turn, zoom, home }) {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  board.canvas.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const a = arrows[e.key];
    if (a) (turn && !e.shiftKey ? turn : pan)(...a);
    else if (e.key === "+" || e.key === "=") zoom(1.25);
    else if (e.key === "-") zoom(0.8);
    else if (e.key === "0") home();
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
}

function zoomButtons(zoom, home) {
  return el("span", { class: "buttons" }, button("+", "Zoom in", () => zoom(1.5), { class: "icon" }),
    button("−", "Zoom out", () => zoom(1 / 1.5), { class: "icon" }), button("Fit", "Show all", home));
}

// ---- Words -------------------------------------------------------------------------------------------------------

const ALARMS = new Map([
  ...["error", "fatal", "lost", "drop", "damage", "missing", "check"].map(l => [l, "alarm"]),
  ...["warn", "gap", "unfinished", "disk"].map(l => [l, "warning"]),
]);

function words(data) {
  const rows = [], gather = () => rows.splice(0, Infinity, ...[...data.words.map(w =>
    ({ at: finite(w.at), level: plain(w.level, 20) || "–", from: w.from, text: w.text })),
    ...data.events.map(e => ({ at: e.from, level: e.kind, from: e.topic, event: true,
      text: [e.until > e.from && seconds(e.until - e.from),
      e.count > 0 && plural(e.count, "message"), e.text].filter(Boolean).join("; ") }))].sort((a, b) => a.at - b.at));
  gather();
  if (live) refreshers.add(gather);
  const metadata = Object.entries(data.metadata || {}).map(([key, value]) => ({ key, value }));
  return [rows.length > 0 && section("log", "Log and events", "a time moves the cursor", table({
    caption: "Log and events", rows, search: "Search the log", text: r => `${r.level} ${r.from} ${r.text}`,
      choices: { name: "Level", value: r => r.level },
    columns: [
      { name: "Time", key: r => r.at, cell: r => timeLink(r.at), number: true },
      { name: "Level", key: r => r.level,
        cell: r => el("span", { class: `level ${ALARMS.get(r.level) || ""}` }, plain(r.level, 30)) },
      { name: "From", key: r => String(r.from ?? ""), cell: r => name(r.from), class: "key" },
      { name: "Text", key: r => String(r.text ?? ""), cell: r => el("bdi", null, lines(r.text, 1000)), class: "text" },
    ],
  })), metadata.length > 0 && section("metadata", "Metadata", null, table({
    caption: "Metadata", rows: metadata, search: metadata.length > 12 && "Search the metadata",
      text: r => `${r.key} ${r.value}`,
    columns: [
      { name: "Name", key: r => r.key, cell: r => name(r.key), first: true, class: "key" },
      { name: "Value", cell: r => el("pre", null, lines(r.value, 4000)) },
    ],
  })), data.left.length > 0 && section("left", "Not shown", null,
    el("ul", null, data.left.slice(0, 1000).map(l => el("li", null, plain(l, 600)))))];
}

// ---- Episodes ----------------------------------------------------------------------------------------------------

function episodes(data) {
  const box = el("div"), result = e => e.success == null ? "–" : e.success ? "✓ success" : "✗ failure";
  const length = e => finite(e.until) - finite(e.from);
  const mine = new Set(); // the boards and followers of the episode that is shown
  const choose = e => {
    for (const b of mine) { boards.delete(b); followers.delete(b); }
    const before = new Set([...boards, ...followers]);
    const scope = new Scope(finite(e.from), finite(e.until)), cameras = list(e.cameras), panels = list(e.panels);
    const plots = panels.map(p => plot({
      title: plain(p.name), unit: plain(p.unit, 20), scope, spans: [[e.dropped, "s1"], [p.gaps, "s6"]],
      curves: list(p.columns).map(c => new Curve(plain(c.name, 80), c.low, c.high, scope.first, scope.last)),
    }));
    const dropped = list(e.dropped), lost = dropped.reduce((sum, d) => sum + d[1] - d[0], 0);
    box.replaceChildren(...[
      el("h3", null, plain(e.name) || "Episode"),
      verdict(Boolean(e.good), list(e.verdict),
        e.good ? "Nothing is known to be wrong." : "Something is wrong with this episode."),
      facts([["Task", plain(e.task, 200)], ["Result", result(e)], ["From", clock(finite(e.from))],
        ["Duration", seconds(length(e))],
        ["Rows to train on", `${count(e.rows)} of ${count(e.points)}`],
          ["Dropped", dropped.length ? seconds(lost) : ""]]),
      el("div", { class: "legend" },
        ...[dropped.length > 0 && ["s1", "makes no row"],
        panels.some(p => list(p.gaps).length) && ["s6", "gap"]].filter(Boolean)
        .map(([s, text]) => el("span", null,
          icon(20, (ctx, w) => { ctx.fillStyle = hatched(ctx, s); ctx.fillRect(0, 2, w, 10); }), text))),
      el("div", { class: "tools" }, zoomButtons(f => scope.zoom(f), () => scope.show(scope.first, scope.last))),
      cameras.length > 0 && pictures(cameras, scope), el("div", { class: "curves" }, plots),
      plots.length > 0 && el("div", { class: "row" }, el("div"), ruler(scope).box)].flat(Infinity).filter(Boolean));
    for (const b of [...boards, ...followers]) if (!before.has(b)) mine.add(b);
    moved = true;
    schedule();
  };
  const pick = e => { choose(e); jump(finite(e.from)); };
  choose(data.episodes[0]);
  return section("episodes", "Episodes", plural(data.episodes.length, "episode"),
    data.episodes.length > 1 && table({
      caption: "Episodes", rows: data.episodes, search: data.episodes.length > 12 && "Search episodes",
        text: e => `${e.name} ${e.task} ${list(e.verdict).join(" ")}`,
      columns: [
        { name: "Episode", key: e => String(e.name), first: true,
          cell: e => el("button", { type: "button", class: "link", onclick: () => pick(e) },
          plain(e.name, 80) || "–") },
        { name: "Task", key: e => String(e.task ?? ""), cell: e => plain(e.task, 100) },
        { name: "Result", key: result, cell: result },
        { name: "Duration", key: length, cell: e => seconds(length(e)), number: true },
        { name: "Rows", key: e => e.rows, cell: e => count(e.rows), number: true },
        { name: "Points", key: e => e.points, cell: e => count(e.points), number: true },
        { name: "Verdict", key: e => list(e.verdict).join(" "), class: "wide",
          cell: e => el("span", { class: e.good ? null : "alarm" },
            `${e.good ? "✓" : "!"} ${plain(list(e.verdict)[0], 160)}`) },
      ],
    }), el("div", { class: "episode" }, box));
}

// ---- Page --------------------------------------------------------------------------------------------------------

const announcer = el("div", { class: "hidden", role: "status", "aria-live": "polite" });

// say has a screen reader speak a text.
function say(text) { announcer.textContent = text; }

const KEYS = [
  ["← →", "move the cursor"], ["Space", "pin the cursor, or let it follow the mouse"], ["Shift + ← →", "pan"],
  ["+ −", "zoom in and out at the cursor"], ["0", "show all the time"],
  ["Home End", "cursor to the start, to the end"],
  ["N P", "next, previous event or line of the log"], ["/", "search topics"], ["T", "light or dark"],
    ["Esc", "unpin the cursor"],
];

const help = el("dialog", { "aria-labelledby": "help-title" }, el("h2", { id: "help-title" }, "Keys and mouse"),
  el("table", null, el("caption", { class: "hidden" }, "Keys"),
    el("tbody", null, KEYS.map(([k, what]) =>
    el("tr", null, el("th", { scope: "row" }, el("kbd", null, k)), el("td", null, what))))),
  el("p", null, "Over the timeline, pictures and curves: move the mouse to move the cursor, click to pin it, drag to " +
    "pan, Shift + drag or Ctrl + wheel to zoom. A drag in the strip at the top chooses what is shown. Map and 3D, " +
    "once clicked: arrows pan or turn, the wheel, + and − zoom, 0 shows all."),
  el("form", { method: "dialog" }, el("p", null, el("br"), el("button", null, "Close"))));

function bar(data, index) {
  const { scope } = now;
  const b = el("b"), utc = el("span"), local = el("span", { class: "local" }),
    state = el("i", { hidden: true }, "pinned");
  const readout = el("div", { class: "clock", id: "cursor", title: "Time of the cursor" }, b, utc, local, state);
  const sums = new Float32Array(2048);
  let bins = 1;
  const sum = () => {
    sums.fill(0);
    for (const t of data.topics) list(t.density).forEach((v, i) => { sums[i % 2048] += finite(v); });
    bins = Math.max(1, ...data.topics.map(t => list(t.density).length));
  };
  sum();
  if (live) refreshers.add(sum);
  const overview = new Overview(scope, "The whole time: drag to choose what is shown, click to move the cursor",
    "overview", (ctx, w, h) => {
    const most = sums.reduce((a, v) => Math.max(a, v), 0);
    ctx.fillStyle = colour.s0;
    ctx.globalAlpha = 0.55;
    for (let x = 0; x < w && most > 0; x++) {
      let top = 0;
      const last = Math.min(bins - 1, Math.floor((x + 1) / w * bins));
      for (let i = Math.floor(x / w * bins); i <= last; i++) top = Math.max(top, sums[i]);
      const y = top > 0 ? Math.max(2, Math.sqrt(top / most) * (h - 6)) : 0;
      ctx.fillRect(x, h - y, 1, y);
    }
    data.episodes.forEach(e => {
      const from = overview.x(finite(e.from));
      ctx.fillStyle = e.good ? colour.s2 : colour.s1;
      ctx.fillRect(from, h - 8, Math.max(1.5, overview.x(finite(e.until)) - from - 1), 8);
    });
    ctx.globalAlpha = 1;
    for (const e of data.events) {
      ctx.fillStyle = colour[kind(e.kind)[2]];
      ctx.fillRect(overview.x(e.from) - 0.5, 0, 1.5, 6);
    }
    const from = overview.x(scope.from), until = overview.x(scope.until);
    ctx.fillStyle = colour.bg;
    ctx.globalAlpha = 0.72;
    ctx.fillRect(0, 0, from, h);
    ctx.fillRect(until, 0, w, h);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colour.accent;
    ctx.lineWidth = 1.5;
    if (until - from < w - 1) ctx.strokeRect(from + 0.75, 0.75, Math.max(1, until - from - 1.5), h - 1.5);
  }, { brush: true, focus: true });
  const shown = () => Object.assign(overview.box.dataset, { from: scope.from, until: scope.until });
  scope.listeners.push(shown);
  shown();
  followers.add(() => {
    const step = Math.min(0.001, 10 ** Math.floor(Math.log10((scope.until - scope.from) / 1000)));
    const d = dates(data, cursor.at);
    readout.dataset.at = cursor.at;
    b.textContent = clock(cursor.at, step);
    state.hidden = !cursor.pinned;
    utc.textContent = d.utc;
    local.textContent = d.local;
  });
  const names = recordings.map(r => `${r.good ? "✓" : "!"} ${plain(r.name, 80) || "Recording"}`);
  const recording = names.length > 1 && options("Recording", names, e => showRecording(+e.target.value));
  if (recording) recording.value = index;
  const buttons = el("span", { class: "buttons" },
    button("+", "Zoom in", () => scope.zoom(2, cursor.at), { class: "icon" }),
    button("−", "Zoom out", () => scope.zoom(0.5, cursor.at), { class: "icon" }),
    button("All", "Show all the time", () => scope.show(scope.first, scope.last)),
    button("◐", "Light or dark", () => setTheme(!dark), { class: "icon" }),
    button("?", "Help: keys and mouse", () => help.showModal(), { class: "icon" }));
  return el("div", { class: "bar" },
    el("div", { class: "line" }, recording, readout, el("span", { class: "grow" }), buttons), live?.box, overview.box);
}

const LISTS = ["topics", "events", "cameras", "signals", "fields", "tracks", "clouds", "words", "episodes", "left"];

// prepare returns a recording as the panels want it.
function prepare(recording) {
  const data = { ...recording };
  for (const name of LISTS) data[name] = list(data[name]);
  data.events = data.events.filter(e => e.kind !== "totals").map(e =>
    ({ ...e, kind: String(e.kind ?? ""), from: finite(e.from), until: Math.max(finite(e.from), finite(e.until)) }))
    .sort((a, b) => a.from - b.from);
  return data;
}

// marksOf returns the times of what the keys N and P go to, each with what is said there.
function marksOf(data) {
  return [...data.events.map(e => [e.from, () => eventText(e)]),
    ...data.words.map(w => [finite(w.at), () => `${plain(w.level, 20)}: ${plain(w.text, 300)}`])]
    .sort((a, b) => a[0] - b[0]);
}

// showRecording draws the recording of that index.
function showRecording(index) {
  for (const b of boards) { seen.unobserve(b.box); sized.unobserve(b.box); }
  boards.clear();
  followers.clear();
  refreshers.clear();
  const data = prepare(recordings[index]);
  const end = Math.max(0, finite(data.duration)), scope = new Scope(0, end);
  now = { data, end, scope, index, marks: marksOf(data) };
  Object.assign(cursor, { at: 0, pinned: false });
  document.body.classList.remove("pinned");
  document.title = `${plain(data.name, 80) || "Recording"} – tapedeck ${live?.name ?? "report"}`;
  const timeline = now.timeline = new Timeline(data, scope), busy = timeline.high > 0;
  const pair = [data.tracks.some(t => list(t.points).length) && where(data),
    data.clouds.length > 0 && scene(data)].filter(Boolean);
  const parts = [
    (data.topics.length > 0 || !data.episodes.length) && topics(data, order => timeline.show(order)),
    (busy || data.events.length > 0 || !data.episodes.length) && timeline.section(),
    data.cameras.length > 0 && section("pictures", "Pictures", plural(data.cameras.length, "camera"),
      pictures(data.cameras, scope)),
    (data.signals.length > 0 || data.fields.length > 0) && curves(data, scope),
    pair.length > 0 && el("div", { class: `pair${pair.length > 1 ? " two" : ""}` }, pair),
    data.episodes.length > 0 && episodes(data), ...words(data),
  ].filter(Boolean);
  const links = parts.flatMap(p => [...(p.id ? [p] : p.children)]).map(s =>
    el("a", { href: `#${s.id}` }, s.querySelector("h2").textContent));
  page.replaceChildren(bar(data, index), head(data), el("nav", { "aria-label": "Parts of this page" }, links), ...parts,
    el("footer", null, live ? `Served by tapedeck's ${live.name}.`
      : "Made by tapedeck. This page is one file and loads nothing from anywhere."), tips, announcer, help);
  timeline.layout();
  moved = true;
  schedule();
}

// next moves the cursor to the next event or line of the log, or the one before.
function next(forward) {
  const marks = now.marks, mark = forward ? marks.find(m => m[0] > cursor.at + 1e-6)
    : marks.findLast(m => m[0] < cursor.at - 1e-6);
  if (!mark) return;
  jump(mark[0]);
  say(mark[1]());
}

document.addEventListener("keydown", e => {
  if (!now || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea, dialog")) return;
  const { scope } = now, step = (scope.until - scope.from) / 200;
  const keys = {
    ArrowLeft: () => e.shiftKey ? scope.pan(-0.2) : jump(cursor.at - step),
    ArrowRight: () => e.shiftKey ? scope.pan(0.2) : jump(cursor.at + step),
    "+": () => scope.zoom(1.5, cursor.at), "=": () => scope.zoom(1.5, cursor.at),
    "-": () => scope.zoom(1 / 1.5, cursor.at), 0: () => scope.show(scope.first, scope.last),
    Home: () => jump(0), End: () => jump(now.end), n: () => next(true), p: () => next(false),
    " ": () => plays() ? toggle() : pin(!cursor.pinned), Escape: () => pin(false), t: () => setTheme(!dark),
    "?": () => help.showModal(),
    "/": () => page.querySelector("input[type=search]")?.focus(),
  };
  const key = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
  const own = e.key === " " ? "button, summary, a, .sheet" : e.key.startsWith("Arrow") ? ".sheet" : "";
  if (!key || own && e.target.closest(own)) return;
  e.preventDefault();
  key();
});

// A print is light and has all that is drawn.
let night = false;
addEventListener("beforeprint", () => {
  night = dark;
  document.body.classList.add("printing");
  now?.timeline.layout(true);
  setTheme(false);
  for (const b of boards) { b.visible = true; b.paint(); }
});
addEventListener("afterprint", () => {
  document.body.classList.remove("printing");
  now?.timeline.layout();
  setTheme(night);
});
addEventListener("resize", () => now?.timeline.layout());


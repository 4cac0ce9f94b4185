// ---- Colours -----------------------------------------------------------------------------------------------------

const SERIES = 7;
const colour = {}; // colours of the style sheet in the present theme, by name
let dark = false, hatch = {};

// ramp returns 32 colours that interpolate stops, a list of colours in the style sheet.
function ramp(stops) {
  const rgb = stops.trim().split(" ").map(s => [1, 3, 5].map(i => parseInt(s.slice(i, i + 2), 16)));
  return Array.from({ length: 32 }, (_, i) => {
    const t = i / 31 * (rgb.length - 1), k = Math.min(rgb.length - 2, Math.floor(t));
    return `rgb(${rgb[k].map((c, j) => Math.round(c + (rgb[k + 1][j] - c) * (t - k))).join(" ")})`;
  });
}

// tone returns the index of the colour, of 32, for v between low and high.
function tone(v, low, high) {
  return high > low ? Math.max(0, Math.min(31, Math.floor((v - low) / (high - low) * 32))) : 16;
}

// shade returns the colour for v between low and high.
function shade(colours, v, low, high) { return colours[tone(v, low, high)]; }

function setTheme(night) {
  dark = night;
  document.documentElement.dataset.theme = night ? "dark" : "light";
  const style = getComputedStyle(document.documentElement);
  const names = ["bg", "panel", "line", "text", "mute", "accent", "bad"];
  for (let i = 0; i < SERIES; i++) names.push(`s${i}`);
  for (const n of names) colour[n] = style.getPropertyValue(`--${n}`).trim();
  for (const [name, stops] of [["density", "--blues"], ["scale", "--viridis"]]) {
    colour[name] = ramp(style.getPropertyValue(stops));
    document.documentElement.style.setProperty(`--${name}`, `linear-gradient(90deg, ${colour[name]})`); // for legends
  }
  hatch = {};
  for (const b of boards) b.redraw();
}

// pen sets the style and width of lines.
function pen(ctx, style, width) { Object.assign(ctx, { strokeStyle: style, lineWidth: width }); }

// block draws a filled rectangle.
function block(ctx, style, x, y, w, h) { ctx.fillStyle = style; ctx.fillRect(x, y, w, h); }

// stamp draws an SVG path with an edge around it.
function stamp(ctx, shape, x, y, style, edge, turn = 0) {
  const path = new Path2D(shape);
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(turn);
  pen(ctx, edge, 2.5);
  ctx.stroke(path);
  ctx.fillStyle = style;
  ctx.fill(path);
  ctx.restore();
}

// hatched returns a pattern of slanted lines.
function hatched(ctx, name) {
  if (hatch[name]) return hatch[name];
  const tile = el("canvas", { width: 8, height: 8 }), c = tile.getContext("2d");
  pen(c, colour[name], 1.6);
  for (const d of [-8, 0, 8]) { c.beginPath(); c.moveTo(d, 8); c.lineTo(d + 8, 0); c.stroke(); }
  return hatch[name] = ctx.createPattern(tile, "repeat");
}

// write draws a text, cut to a width.
function write(ctx, text, x, y, width = Infinity, style = colour.text) {
  ctx.fillStyle = style;
  ctx.textBaseline = "middle";
  if (width < Infinity && ctx.measureText(text).width > width) {
    let low = 0, high = text.length; // keep the end: it tells more about a topic than the beginning
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

// ---- Boards: canvases that are drawn when they are visible and stale -----------------------------------------------

const boards = new Set();
const followers = new Set(); // functions that are called when the cursor has moved
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
  // draw is called with a context and the size in CSS pixels.
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

  // gestures makes mouse, fingers and wheel call functions: hover(x, y), drag(dx, dy, event, x, began), slide(dx, dy),
  // drop(), tap(x, y), zoom(factor, x, y), and wheel(event), which reports whether the wheel zooms.
  gestures(on) {
    const c = this.canvas, fingers = new Map();
    let dragged = false;
    const at = e => { const r = c.getBoundingClientRect(); return { x: e.clientX - r.left, y: e.clientY - r.top }; };
    c.addEventListener("pointerdown", e => {
      if (!this.width) this.paint(); // a click may come before the first frame
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
    c.addEventListener("pointerleave", () => tip());
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

const tips = document.getElementById("tip");

// tip shows a text beside the mouse. Without a text it hides the last one.
function tip(text, e) {
  tips.hidden = !text;
  if (!text) return;
  tips.textContent = text;
  const r = tips.getBoundingClientRect();
  tips.style.left = `${Math.max(8, Math.min(e.clientX + 14, innerWidth - r.width - 8))}px`;
  tips.style.top = `${e.clientY + 18 + r.height > innerHeight ? e.clientY - r.height - 12 : e.clientY + 18}px`;
}

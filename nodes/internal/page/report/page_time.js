// ---- Time --------------------------------------------------------------------------------------------------------

let now = null; // the recording that is shown: data, scope (the main one), marks (times of events)
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

// jump pins the cursor at t, and makes the timeline show it.
function jump(t) {
  if (plays()) { seek(t); return; }
  moveCursor(t);
  pin(true);
  const s = now.scope, width = s.until - s.from;
  if (t < s.from || t > s.until) s.show(t - width / 2, t + width / 2);
  say(`Cursor at ${clock(t)}`);
}

// Scope is a time range from first to last. Its boards all show the same range in it, from to until.
class Scope {
  constructor(first, last) {
    this.first = this.from = first;
    this.last = this.until = last > first ? last : first + 1;
    this.boards = [];
  }

  show(from, until) {
    const whole = this.last - this.first, width = Math.min(whole, Math.max(until - from, whole * 1e-6, 1e-6));
    this.from = Math.max(this.first, Math.min(this.last - width, from + (until - from - width) / 2));
    this.until = this.from + width;
    for (const b of this.boards) b.redraw();
    moved = true;
    schedule();
  }

  // grow extends the time range until last. If the boards show its end, they move with it.
  grow(last) {
    const d = last - this.last, ends = this.until === this.last, whole = ends && this.from === this.first;
    this.last = last;
    if (ends) this.show(whole ? this.first : this.from + d, last);
  }

  zoom(factor, at = (this.from + this.until) / 2) {
    const width = Math.min(this.last - this.first, Math.max((this.until - this.from) / factor, 1e-6));
    const fraction = (at - this.from) / (this.until - this.from);
    this.show(at - fraction * width, at + (1 - fraction) * width);
  }

  // pan moves the shown range by a fraction of its length.
  pan(fraction) {
    const d = Math.max(this.first - this.from, Math.min(this.last - this.until, fraction * (this.until - this.from)));
    this.show(this.from + d, this.until + d);
  }

  // ticks returns the times of the ticks on an axis of w pixels, and their distance.
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

// TimeBoard is a board whose x axis is the time of a scope. It shows the line of the cursor.
class TimeBoard extends Board {
  constructor(scope, label, style, draw, { gutter = () => 0, hint, focus = false, whole = false } = {}) {
    super(label, style, draw, focus);
    Object.assign(this, { scope, gutter, whole });
    scope.boards.push(this);
    this.line = el("div", { class: "cursor", hidden: true });
    this.mark = el("div", { class: "brush", hidden: true }); // the range that will be shown after a drag
    this.box.append(this.line, this.mark);
    followers.add(() => this.follow());
    const pan = dx => scope.pan(-dx / (this.width - this.gutter()));
    const cursorTo = x => { if (x >= this.gutter()) moveCursor(this.t(x)); };
    this.gestures({
      hover: (x, y, e) => { if (!cursor.pinned && !live) cursorTo(x); tip(hint?.(x, y), e); },
      drag: (dx, dy, e, x, began) => {
        if (!whole && !e.shiftKey && this.mark.hidden) { pan(dx); return; }
        this.range = [Math.max(this.gutter(), Math.min(began, x)), Math.min(this.width, Math.max(began, x))];
        this.mark.hidden = false;
        this.mark.style.cssText = `left: ${this.range[0]}px; width: ${this.range[1] - this.range[0]}px`;
      },
      slide: pan,
      drop: () => {
        if (!this.mark.hidden) scope.show(this.t(this.range[0]), this.t(this.range[1]));
        this.mark.hidden = true;
      },
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
      wheel: e => whole || e.ctrlKey || e.metaKey || e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY),
    });
  }

  paint() { super.paint(); this.follow(); }

  // view returns the time range that the board shows. The overview, with whole, shows the whole scope.
  get view() { return this.whole ? { from: this.scope.first, until: this.scope.last } : this.scope; }

  // x returns the position of a time in pixels.
  x(t) {
    const g = this.gutter(), { from, until } = this.view;
    return g + (t - from) / (until - from) * (this.width - g);
  }

  // t returns the time at a position in pixels.
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

  // grid draws vertical lines at the ticks.
  grid(ctx, w, h) {
    for (const t of this.scope.ticks(w - this.gutter()).times) block(ctx, colour.line, Math.round(this.x(t)), 0, 1, h);
  }

  // spans draws time ranges, pairs of begin and end.
  spans(ctx, pairs, y, h, name, w) {
    for (const p of list(pairs)) {
      const from = Math.max(this.gutter(), this.x(p[0])), until = Math.min(w, Math.max(this.x(p[1]), this.x(p[0]) + 2));
      if (!(until > from)) continue;
      block(ctx, hatched(ctx, name), from, y, until - from, h);
      pen(ctx, colour[name], 1);
      if (until - from > 3) ctx.strokeRect(from + 0.5, y + 0.5, until - from - 1, h - 1);
    }
  }
}

// ruler returns a board with a time axis.
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
    block(ctx, colour.mute, Math.round(x), h - 4, 1, 4);
    write(ctx, text, Math.max(board.gutter() + half + 3, Math.min(w - half - 1, x)), h - 12, Infinity, colour.mute);
  }
  ctx.textAlign = "left";
}

// ---- Events ------------------------------------------------------------------------------------------------------

// Name, shape and colour of the kinds of events.
const KINDS = {
  lost: ["lost in transport", "down", "bad"], drop: ["dropped by the recorder", "cross", "bad"],
  gap: ["gap", "down", "s4"], pause: ["pause", "bars", "s6"], throttle: ["left out on purpose", "diamond", "s6"],
  split: ["split", "flag", "s0"], snapshot: ["snapshot", "circle", "s2"], disk: ["disk", "square", "s3"],
  damage: ["damage", "square", "bad"], missing: ["missing file", "square", "bad"],
  unfinished: ["unfinished file", "square", "s4"], check: ["check", "diamond", "s3"],
};

function kind(name) { return Object.hasOwn(KINDS, name) ? KINDS[name] : [plain(name, 30), "circle", "s6"]; }

// SVG paths of the shapes, 14 × 14 pixels.
const SHAPES = {
  down: "M2 3H12L7 12Z", diamond: "M7 2L12 7L7 12L2 7Z", square: "M3 3H11V11H3Z",
  circle: "M2.5 7A4.5 4.5 0 0 1 11.5 7A4.5 4.5 0 0 1 2.5 7Z", bars: "M3 3H6V11H3ZM8 3H11V11H8Z",
  flag: "M6 2H7.5L14 5L7.5 8V13H6Z", cross: "M2 4L4 2L7 5L10 2L12 4L9 7L12 10L10 12L7 9L4 12L2 10L5 7Z",
};

function drawMark(ctx, name, x, y) {
  const [, shape, style] = kind(name);
  stamp(ctx, SHAPES[shape], x - 7, y - 7, colour[style], colour.bg);
}

// markIcon returns a mark for a legend.
function markIcon(name) {
  const [, shape, style] = kind(name);
  return el("i", { class: "mark", style: `background: var(--${style}); clip-path: path("${SHAPES[shape]}")` });
}

// drawEvents draws events in a row whose middle is y, and returns the positions of their marks.
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

// gradient returns a colour ramp for a legend.
function gradient(name) { return el("i", { class: "ramp", style: `background: var(--${name})` }); }

// striped returns the pattern of spans for a legend.
function striped(name) { return el("i", { class: "stripes", style: `--stripe: var(--${name})` }); }

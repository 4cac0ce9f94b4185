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
    write(ctx, text, Math.max(board.gutter() + half + 3, Math.min(w - half - 1, x)), h - 12, Infinity, colour.mute);
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

// striped draws what spans are drawn with.
function striped(name) {
  return icon(20, (ctx, w) => {
    ctx.fillStyle = hatched(ctx, name);
    ctx.fillRect(0, 2, w, 10);
    ctx.strokeStyle = colour[name];
    ctx.strokeRect(0.5, 2.5, w - 1, 9);
  });
}

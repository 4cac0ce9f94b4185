// ---- Curves ------------------------------------------------------------------------------------------------------

// Curve is a number over time, in equal bins between first and last.
class Curve {
  constructor(name, low, high, first, last) {
    Object.assign(this, { name, hidden: false });
    this.set(low, high, first, last);
  }

  set(low, high, first, last) {
    this.low = Float64Array.from(array(low), v => v ?? NaN);
    this.high = Float64Array.from(array(high), v => v ?? NaN);
    const n = this.count = Math.min(this.low.length, this.high.length);
    Object.assign(this, { first, bin: n ? ((last - first) || 1) / n : 1 });
    // A line joins values whose distance is not much longer than usual.
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

  // value returns the bin with a value nearest to t, -1 if there is none near t.
  value(t) {
    const at = Math.min(this.count - 1, Math.max(0, this.index(t)));
    for (let d = 0; d <= this.join; d++) {
      for (const i of [at - d, at + d]) if (this.low[i] === this.low[i] && this.low[i] !== undefined) return i;
    }
    return -1;
  }

  // runs returns the lines from x = 0 to w. Each is a list of points [x, low, high], at most one per pixel.
  runs(board, w) {
    const from = Math.max(0, this.index(board.t(0)) - this.join),
      until = Math.min(this.count - 1, this.index(board.t(w)) + this.join);
    const runs = [];
    let last = -Infinity;
    for (let i = from; i <= until; i++) {
      if (this.low[i] !== this.low[i]) continue;
      if (i - last > this.join) runs.push([]);
      const x = board.x(this.first + (i + 0.5) * this.bin), p = runs.at(-1).at(-1);
      if (p && Math.floor(p[0]) === Math.floor(x))
        p.splice(1, 2, Math.min(p[1], this.low[i]), Math.max(p[2], this.high[i]));
      else runs.at(-1).push([x, this.low[i], this.high[i]]);
      last = i;
    }
    return runs;
  }
}

// plot returns a row with curves and their legend. spans are marked time ranges: [pairs, colour].
function plot({ title, note, unit, curves, scope, spans = [] }) {
  const outputs = curves.map(() => el("output"));
  const suffix = unit ? ` ${unit}` : "";
  const board = new TimeBoard(scope, `Curves of ${title}: ${curves.slice(0, 12).map(c => c.name).join(", ")}`,
    "curve", (ctx, w, h) => {
    update();
    board.grid(ctx, w, h);
    const shown = curves.filter(c => !c.hidden), all = shown.map(c => c.runs(board, w));
    const values = all.flat(2), seen = values.filter(p => p[0] >= -1 && p[0] <= w + 1);
    let [low, high] = extent((seen.length ? seen : values).flatMap(p => [p[1], p[2]]));
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
    const first = Math.ceil(low / step), count = Math.min(9, Math.floor(high / step) - first + 1);
    const labels = Array.from({ length: count }, (_, i) => (first + i) * step);
    for (const v of labels) block(ctx, colour.line, 0, Math.round(y(v)), w, 1);
    all.forEach((runs, i) => drawCurve(ctx, runs, y, curves.indexOf(shown[i])));
    labels.forEach((v, i) => {
      const text = number(v) + (i === count - 1 ? suffix : ""), cy = Math.max(8, Math.min(h - 7, y(v)));
      pen(ctx, colour.panel, 3);
      ctx.textBaseline = "middle";
      ctx.strokeText(text, 5, cy);
      write(ctx, text, 5, cy, Infinity, colour.mute);
    });
  });
  const update = () => curves.forEach((c, i) => {
    const k = c.value(cursor.at), upper = c.high[k] > c.low[k] ? ` … ${number(c.high[k])}` : "";
    outputs[i].textContent = k < 0 ? "–" : number(c.low[k]) + upper;
  });
  followers.add(() => { if (board.visible) update(); });
  const keys = curves.map((c, i) => {
    const toggle = e => {
      c.hidden = !c.hidden;
      e.currentTarget.setAttribute("aria-pressed", String(!c.hidden));
      board.redraw();
    };
    const properties = { type: "button", "aria-pressed": "true", title: `Show or hide ${c.name}`, onclick: toggle };
    return el("li", null, el("button", properties, el("i", { class: i % (2 * SERIES) >= SERIES ? "dash" : null,
      style: `border-top-color: var(--s${i % SERIES})` }), el("span", null, c.name), outputs[i]));
  });
  return row(board, name(title, 400), [note, unit && `in ${unit}`],
    showFirst(el("ul", { class: "keys" }), keys, 12, more => el("li", null, more)));
}

function drawCurve(ctx, runs, y, index) {
  ctx.strokeStyle = ctx.fillStyle = colour[`s${index % SERIES}`];
  ctx.lineWidth = 1.4;
  ctx.lineJoin = "round";
  ctx.setLineDash(index % (2 * SERIES) >= SERIES ? [3, 3] : []);
  for (const run of runs) {
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
        refreshers.add(() => c.set(s.low, s.high, 0, scope.last));
        return c;
      }),
    });
  });
  const drawn = data.fields.filter(f => f.drawn).length;
  return section("curves", "Curves",
    !plots.length ? "no numbers are drawn" : live && !plays() ? "of some messages a second"
      : "lowest to highest value in each part of the time",
    showFirst(el("div", { class: "curves" }), plots, 16), plots.length > 0 && row(ruler(scope)),
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

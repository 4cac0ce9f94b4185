// ---- Timeline ----------------------------------------------------------------------------------------------------

// smooth returns the rate of a topic in each bin. It is a mean over some messages, so that a steady topic has one
// colour, and 0 if there are no messages for longer than an interval.
function smooth(topic, end) {
  if (topic.smooth) return topic.smooth;
  const d = Float64Array.from(list(topic.density), v => finite(v)), n = d.length, out = new Float32Array(n);
  const near = topic.rate > 0 && end > 0 ? Math.ceil(n / end / topic.rate) : 0, far = 2 * near + 1;
  topic.sparse = !near || far > n / 8;
  if (topic.sparse) { // there are so few messages that each is drawn as a line
    const mean = end > 0 ? finite(topic.messages) / end : 0;
    return topic.smooth = d.map(v => v > 0 ? mean || v : 0);
  }
  // window returns, for each i, the sum of a list from i - half to i + half.
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
    const gutter = () => narrow() ? 0 : 210; // equal to --gutter in page.css
    const gaps = data.topics.reduce((n, t) => n + list(t.gaps).length, 0);
    this.axis = new TimeBoard(scope, "Axis of time with all events", "axis", (ctx, w, h) => this.drawAxis(ctx, w, h),
      { gutter, hint: x => this.hint(this.laneMarks, x) });
    this.rows = new TimeBoard(scope,
      `Messages per second of ${plural(data.topics.length, "topic")} over ${seconds(now.end)}, ` +
      `with ${plural(gaps, "gap")} and ${plural(data.events.length, "event")}; the tables say the same`,
    "body", (ctx, w, h) => this.drawRows(ctx, w, h), { gutter, hint: (x, y) => this.rowHint(x, y), focus: true });
    this.inner = el("div", null, this.axis.box, this.rows.box);
    this.scroller = el("div", { class: "rows", onscroll: () => this.rows.redraw() }, this.inner);
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

  // layout places the visible rows, or all rows when the page is printed.
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
    this.laneMarks = drawEvents(this.axis, ctx, this.data.events, h - 11, w);
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
      b.spans(ctx, t.gaps, y + band.y, band.h, "s1", w);
      this.marks.set(i, drawEvents(b, ctx, this.events.get(t.name) || [], y + band.y + band.h / 2, w));
    }
    ctx.globalAlpha = 0.5;
    for (const e of this.everywhere) {
      const x = b.x(e.from), style = kind(e.kind)[2];
      if (b.x(e.until) - x >= 2) b.spans(ctx, [[e.from, e.until]], 0, h, style, w);
      else if (x >= gutter) block(ctx, colour[style], x, 0, 1, h);
    }
    ctx.globalAlpha = 1;
  }

  // drawDensity draws a colour for each pixel. Equal neighbours are drawn as one block.
  drawDensity(ctx, t, y, h, w) {
    const b = this.rows, d = smooth(t, now.end), n = d.length, per = n / (b.scope.last - b.scope.first);
    const low = Math.log(this.low), high = Math.log(this.high), gutter = b.gutter();
    const first = b.scope.from * per, pixel = (b.scope.until - b.scope.from) / (w - gutter) * per;
    const style = x => {
      const i = Math.max(0, Math.floor(first + (x - gutter) * pixel));
      const j = Math.min(n, Math.max(i + 1, Math.floor(first + (x + 1 - gutter) * pixel)));
      let sum = 0;
      for (let k = i; k < j; k++) sum += d[k];
      const v = Math.max(Math.log(sum / (j - i)), t.sparse ? (low + high) / 2 : -Infinity); // lines stay visible
      return sum > 0 ? shade(colour.density, v, low, high) : null;
    };
    for (let x = gutter, from = gutter, last = null; x <= w; x++) {
      const s = x < w && n ? style(x) : null;
      if (s === last && x < w) continue;
      if (last) block(ctx, last, from, y, Math.max(x - from, 2), h);
      [from, last] = [x, s];
    }
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

  // legend explains the colours and marks.
  legend() {
    const box = el("div", { class: "legend" });
    always(() => {
      const kinds = [...new Set(this.data.events.map(e => e.kind))];
      box.replaceChildren(...[
        this.high > 0 && el("span", null, number(+this.low.toPrecision(2)), gradient("density"),
          `${number(+this.high.toPrecision(2))} messages/s (logarithmic)`),
        this.data.topics.some(t => list(t.gaps).length) &&
          el("span", null, striped("s1"), "silent for longer than usual"),
        ...kinds.slice(0, 20).map(k => el("span", null, markIcon(k), kind(k)[0])),
      ].filter(Boolean));
    });
    return box;
  }

  section() {
    const hint = "Drag to pan, Shift + drag or Ctrl + wheel to zoom, click to pin the cursor; ? for the keys";
    return section("timeline", "Timeline", el("span", { class: "hint" }, hint), this.scroller, this.legend());
  }
}

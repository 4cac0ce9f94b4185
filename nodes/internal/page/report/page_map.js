// ---- Where -------------------------------------------------------------------------------------------------------

// degrees returns the lines of a track as longitude, latitude and height. It inverts the conversion in tracks.go.
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

// known reports whether a point of a track has a position.
function known(p) { return p[1] != null && p[2] != null; }

// place returns the position, heading and speed on a track at a time, null if they are unknown.
function place(track, t) {
  const p = track.points, i = nearest(p, t, q => q[0]);
  if (i < 0 || !known(p[i]) || t < p[0][0] - 1 || t > p.at(-1)[0] + 1) return null;
  let [, x, y] = p[i];
  const other = p[t > p[i][0] ? i + 1 : i - 1];
  if (other && known(other) && other[0] !== p[i][0]) {
    const fraction = Math.max(0, Math.min(1, (t - p[i][0]) / (other[0] - p[i][0])));
    [x, y] = [x + fraction * (other[1] - x), y + fraction * (other[2] - y)];
  }
  let heading = null; // from the nearest points that are far enough from each other
  for (let d = 1; d < 40 && heading === null; d++) {
    const a = p[Math.max(0, i - d)], b = p[Math.min(p.length - 1, i + d)];
    if (known(a) && known(b) && Math.hypot(b[1] - a[1], b[2] - a[2]) > 0.2)
      heading = Math.atan2(b[2] - a[2], b[1] - a[1]);
  }
  return { x, y, z: p[i][3], heading, speed: track.speed[i] };
}

// Shapes at the start of a track and at the cursor.
const DOT = "M-4 0A4 4 0 0 1 4 0A4 4 0 0 1 -4 0Z", ARROW = "M12 0L-8 7L-4 0L-8 -7Z";

function where(data) {
  const tracks = data.tracks.map(t => ({ ...t, of: t,
    origin: Array.isArray(t.origin) && t.origin.length === 2 && t.origin.every(isFinite) ? t.origin : null }));
  const frames = [...new Set(tracks.map(t => String(t.frame ?? "")))];
  let shown = [], view = null, mode = "time", range = [0, 1];
  const fit = () => {
    const points = shown.flatMap(t => t.points).filter(known);
    const [[left, right], [low, high]] = [1, 2].map(i => extent(points.length ? points.map(p => p[i]) : [-5, 5]));
    const scale = Math.max(1e-9, Math.min((board.width - 70) / Math.max(right - left, 1),
      (board.height - 90) / Math.max(high - low, 1)));
    view = { x: (left + right) / 2, y: (low + high) / 2, scale, fitted: scale, home: true };
  };
  const label = tracks.slice(0, 8).map(t => plain(trackName(t), 60)).join(", ");
  const board = new Board(`Map with ${plural(tracks.length, "track")}: ${label}`,
    "map free", (ctx, w, h) => {
      read();
      if (!view || view.home) fit();
      const X = x => w / 2 + (x - view.x) * view.scale, Y = y => h / 2 - (y - view.y) * view.scale;
      const step = nice(90 / view.scale);
      const left = Math.ceil((view.x - w / 2 / view.scale) / step),
        low = Math.ceil((view.y - h / 2 / view.scale) / step);
      for (let i = 0; i * step * view.scale < w; i++)
        block(ctx, colour.line, Math.round(X((left + i) * step)), 0, 1, h);
      for (let i = 0; i * step * view.scale < h; i++)
        block(ctx, colour.line, 0, Math.round(Y((low + i) * step)), w, 1);
      shown.forEach((t, n) => drawTrack(ctx, t, n, X, Y));
      shown.forEach((t, n) => {
        const p = place(t, cursor.at);
        if (p) stamp(ctx, p.heading === null ? DOT : ARROW, X(p.x), Y(p.y),
          colour[`s${mode === "track" ? n % SERIES : 1}`], colour.bg, -p.heading);
      });
      const long = step * view.scale; // the scale bar
      ctx.globalAlpha = 0.8;
      block(ctx, colour.bg, 8, h - 34, long + 16, 28);
      ctx.globalAlpha = 1;
      for (const [x, y, wide, high] of [[0, 4, long, 2], [0, 0, 1, 6], [long - 1, 0, 1, 6]])
        block(ctx, colour.text, 16 + x, h - 17 + y, wide, high);
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
      if (!known(p)) { before = null; return; }
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
    const first = t.points.find(known);
    if (first) stamp(ctx, DOT, X(first[1]), Y(first[2]), colour.bg, colour.text);
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
    pan((1 / f - 1) * dx, (1 / f - 1) * dy);
    view.scale *= f;
  };
  const home = () => { if (view) view.home = true; board.redraw(); };
  steer(board, { pan, zoom, home });
  const legend = el("div", { class: "legend" }), readout = el("div", { class: "readout" });
  const files = el("span", { class: "buttons" });
  const fill = () => {
    shown = tracks.filter(t => String(t.frame ?? "") === frames[+frame.value || 0]);
    const values = shown.flatMap(t => mode === "time" ? t.points.map(p => p[0])
      : t.speed.filter(v => v != null)).sort((a, b) => a - b);
    range = values.length ? [values[0],
      mode === "time" ? values.at(-1) : values[Math.floor((values.length - 1) * 0.99)]] : [0, 1];
    const text = v => mode === "time" ? clock(v, 0.1) : `${number(v)} m/s`;
    const scale = el("span", null, text(range[0]), gradient("scale"), text(range[1]));
    const keys = () => shown.slice(0, 30).map((t, n) => el("span", null,
      el("i", { class: "line", style: `background: var(--s${n % SERIES})` }), name(trackName(t), 60)));
    legend.replaceChildren(...(mode === "track" ? keys() : [scale]), el("span", null, "○ start"),
      el("span", null, "▲ at the cursor"));
    const fixed = shown.filter(t => t.origin && t.points.length), file = plain(data.name, 60) || "track";
    files.replaceChildren(...(fixed.length ? [
      button("GeoJSON", "Download the tracks as GeoJSON",
        () => save(`${file}.geojson`, "application/geo+json", geoJSON(data, fixed))),
      button("KML", "Download the tracks as KML",
        () => save(`${file}.kml`, "application/vnd.google-earth.kml+xml", kml(data, fixed)))] : []));
    board.redraw();
    moved = true;
  };
  const frame = options("Frame of the map", frames.map(f => plain(f, 60) || "no frame"), () => { fill(); home(); });
  const modes = options("Colours of the tracks", ["coloured by time", "coloured by speed", "a colour per track"],
    e => { mode = ["time", "speed", "track"][e.target.value]; fill(); home(); });
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
  always(() => {
    for (const t of tracks) Object.assign(t, { points: list(t.of.points), speed: array(t.of.speed) });
    fill();
  });
  return section("where", "Where",
    `east and north in metres${frames.length === 1 && frames[0] ? `, frame ${plain(frames[0], 60)}` : ""}`,
    el("div", { class: "tools" }, frames.length > 1 && frame, modes, zoomButtons(zoom, home), files), board.box,
      legend, readout);
}

// steer makes mouse and wheel pan, turn and zoom a board, and the keys while the board has the focus. drag is called
// when the mouse drags.
function steer(board, { pan, turn, drag = pan, zoom, home }) {
  board.gestures({ buttons: Boolean(turn), drag, slide: pan, zoom,
    wheel: e => !(turn && e.shiftKey) && (e.ctrlKey || e.metaKey || document.activeElement === board.canvas) });
  const arrow = (x, y) => e => turn && !e.shiftKey ? turn(0.1 * x, 0.1 * y) : pan(-40 * x, 40 * y);
  board.keys = { ArrowLeft: arrow(-1, 0), ArrowRight: arrow(1, 0), ArrowUp: arrow(0, 1), ArrowDown: arrow(0, -1),
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: home };
}

function zoomButtons(zoom, home, ...more) {
  return el("span", { class: "buttons" }, button("+", "Zoom in", () => zoom(1.5), { class: "icon" }),
    button("−", "Zoom out", () => zoom(1 / 1.5), { class: "icon" }), button("All", "Show all", home), more);
}

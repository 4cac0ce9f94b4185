// ---- Clouds ------------------------------------------------------------------------------------------------------

// The edges of a box as pairs of corners, and the line at its front. The bits of a corner's index are x, y and z.
const EDGES = [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7], [8, 9]];

const boxesOf = cloud => list(cloud.boxes).filter(b => b.length === 7);

// unpack returns the points of a cloud in metres, and the values that colours and the view depend on. Boxes without
// points may be anywhere on a map, so they are moved by their middle, at.
function unpack(cloud) {
  const b = new DataView(decode(cloud.xyz).buffer), n = Math.floor(b.byteLength / 6), s = finite(cloud.scale, 1);
  const xyz = Float32Array.from({ length: 3 * n }, (_, i) => b.getInt16(2 * i, true) * s), light = decode(cloud.shade);
  const quantile = (a, p) => a.sort((x, y) => x - y)[Math.floor((a.length - 1) * p)] ?? 0;
  const at = [0, 1].map(i => n ? 0 : Math.round(quantile(boxesOf(cloud).map(b => b[i]), 0.5) * s));
  const boxes = boxesOf(cloud).map(([x, y, ...b]) => [x - at[0] / s, y - at[1] / s, ...b]);
  const z = [], far = [];
  for (let i = 0; i < n; i++) { z.push(xyz[3 * i + 2]); far.push(Math.hypot(xyz[3 * i], xyz[3 * i + 1])); }
  for (const b of boxes) { z.push(b[2] * s); far.push((Math.hypot(b[0], b[1]) + 2 * Math.hypot(b[3], b[4])) * s); }
  return { n, xyz, at, light: light.length >= n && n ? light : null, boxes, scale: s, low: quantile(z, 0.02),
    high: quantile(z, 0.98), middle: quantile(z, 0.5), far: Math.max(quantile(far, 0.85), 1) };
}

// WebGL draws points on a separate canvas, which boards copy.
const VERTEX = `
attribute vec4 place; attribute float tone; // place is x, y, depth and size
uniform vec3 tones[32];
varying vec3 shade;
void main() {
  gl_Position = vec4(place.xyz, 1.0);
  gl_PointSize = place.w;
  shade = tones[int(tone)];
}`, FRAGMENT = `
precision mediump float;
varying vec3 shade;
void main() { gl_FragColor = vec4(shade, 1.0); }`;

let gpu; // draws points by WebGL; null: not available, undefined: not tried yet

function startGPU() {
  const canvas = el("canvas"), gl = canvas.getContext("webgl", { antialias: false });
  if (!gl) return null;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  gl.enable(gl.DEPTH_TEST);
  const attribute = (name, size) => {
    const at = gl.getAttribLocation(program, name), buffer = gl.createBuffer();
    gl.enableVertexAttribArray(at);
    return values => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
      gl.vertexAttribPointer(at, size, gl.FLOAT, false, 0, 0);
    };
  };
  const place = attribute("place", 4), tone = attribute("tone", 1);
  // draw draws points [x, y, nearness, size, index in colour.scale] on w × h CSS pixels. It reports whether it could.
  return function draw(ctx, w, h, points) {
    if (gl.isContextLost()) return false;
    Object.assign(canvas, { width: ctx.canvas.width, height: ctx.canvas.height });
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    place(Float32Array.from(points.flatMap(([x, y, near, size]) =>
      [2 * x / w - 1, 1 - 2 * y / h, 1 / (1 + near), size * canvas.width / w])));
    tone(Float32Array.from(points, p => p[4]));
    gl.uniform3fv(gl.getUniformLocation(program, "tones"),
      colour.scale.flatMap(c => c.match(/\d+/g).map(v => v / 255)));
    gl.drawArrays(gl.POINTS, 0, points.length);
    ctx.drawImage(canvas, 0, 0, w, h);
    return true;
  };
}

function scene(data) {
  const names = [...new Set(data.clouds.map(c => String(c.topic)))];
  const sorted = () => names.map(n => data.clouds.filter(c => String(c.topic) === n).sort((a, b) => a.at - b.at));
  let clouds = sorted();
  let which = 0, shown = null, cloud = null, mode = 0, eye = null;
  const board = new Board(`Points in 3D of ${names.slice(0, 8).map(n => plain(n, 60)).join(", ")}`, "scene free", draw);
  const home = () => {
    eye = { turn: 0.6, tilt: 0.55, far: 2.1 * cloud.far, x: 0, y: 0, z: cloud.middle };
    board.redraw();
  };
  // projection returns a function that projects a point to x, y and pixels per metre, null for points behind the eye. f
  // is the pixels of a metre that is a metre away.
  function projection(w, h, f) {
    const [ct, st, ci, si] = [Math.cos(eye.turn), Math.sin(eye.turn), Math.cos(eye.tilt), Math.sin(eye.tilt)];
    return (x, y, z) => {
      x -= eye.x; y -= eye.y; z -= eye.z;
      const right = ct * x + st * y, ahead = ct * y - st * x, depth = eye.far + ahead * ci - z * si;
      if (depth < eye.far * 0.02) return null;
      const k = f / depth;
      return [w / 2 + right * k, h / 2 - (ahead * si + z * ci) * k, k];
    };
  }
  function wires(ctx, project, points, pairs) {
    const p = points.map(q => project(...q));
    ctx.beginPath();
    for (const [a, b] of pairs) if (p[a] && p[b]) { ctx.moveTo(p[a][0], p[a][1]); ctx.lineTo(p[b][0], p[b][1]); }
    ctx.stroke();
  }
  function draw(ctx, w, h) {
    if (!cloud) return;
    const focus = Math.min(w, h * 1.6) * 0.9, project = projection(w, h, focus), step = nice(cloud.far / 3);
    pen(ctx, colour.line, 1); // rings around the sensor
    for (let r = 1; r <= 4; r++) {
      const ring = Array.from({ length: 49 },
        (_, i) => [r * step * Math.cos(i * Math.PI / 24), r * step * Math.sin(i * Math.PI / 24), cloud.low]);
      wires(ctx, project, ring, ring.slice(1).map((_, i) => [i, i + 1]));
      const p = project(...ring[0]);
      ctx.font = SMALL;
      if (p) write(ctx, `${number(r * step)} m`, p[0] + 3, p[1], Infinity, colour.mute);
    }
    const light = mode === 1 && cloud.light, { xyz, n, low, high } = cloud, points = [];
    for (let i = 0; i < n; i++) {
      const p = project(xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]);
      if (p) points.push([...p, Math.max(1.5, Math.min(4, p[2] * cloud.far / 150)),
        light ? tone(light[i], 0, 255) : tone(xyz[3 * i + 2], low, high)]);
    }
    if (gpu === undefined) gpu = startGPU();
    if (points.length && gpu && !gpu(ctx, w, h, points)) gpu = null;
    board.box.dataset.by = gpu ? "webgl" : "canvas";
    if (!gpu) for (const [x, y, , size, tone] of points)
      block(ctx, colour.scale[tone], x - size / 2, y - size / 2, size, size);
    pen(ctx, colour.s1, 1.6);
    for (const [x, y, z, dx, dy, dz, yaw] of cloud.boxes) {
      const c = Math.cos(yaw / 1000), s = Math.sin(yaw / 1000), corners = [];
      const corner = (a, b, e) => [(x + a * dx * c - b * dy * s) * cloud.scale,
        (y + a * dx * s + b * dy * c) * cloud.scale, (z + e * dz) * cloud.scale];
      for (let i = 0; i < 8; i++) corners.push(corner((i & 1) - 0.5, (i >> 1 & 1) - 0.5, (i >> 2) - 0.5));
      corners.push(corner(0.5, 0, -0.5), corner(0.9, 0, -0.5)); // the front
      wires(ctx, project, corners, EDGES);
    }
    [["s1", "x", step / 2, 0, 0], ["s2", "y", 0, step / 2, 0],
      ["s0", "z", 0, 0, step / 2]].forEach(([s, name, ...to]) => {
      pen(ctx, colour[s], 2);
      wires(ctx, project, [[0, 0, 0], to], [[0, 1]]);
      const p = project(...to);
      if (p) write(ctx, name, p[0] + 3, p[1], Infinity, colour[s]);
    });
  }
  const readout = el("div", { class: "readout" }), legend = el("div", { class: "legend" });
  const show = () => {
    const c = clouds[which][nearest(clouds[which], cursor.at)];
    if (!c || c === shown) return;
    shown = c;
    cloud = unpack(c);
    // Points are drawn with the boxes of another topic in the same frame, at about the same time.
    const near = o => list(o.boxes).length > 0 && o.frame === c.frame && Math.abs(o.at - c.at) < 0.5;
    const others = cloud.n && !cloud.boxes.length && c.frame ? clouds.map(o => o[nearest(o, c.at)]).filter(near) : [];
    if (others.length) {
      const k = others[0].scale / c.scale;
      cloud.boxes = boxesOf(others[0]).map(b => b.map((v, i) => i < 6 ? v * k : v));
    }
    if (!eye) home();
    const countText = (n, ...name) =>
      (n < c.points ? `${count(n)} of ` : "") + plural(finite(c.points, n), ...name);
    const boxes = cloud.boxes.length && plural(cloud.boxes.length, "box", "boxes");
    readout.textContent = `${plain(c.topic)} at ${clock(c.at)}: ` +
      (cloud.n ? countText(cloud.n, "point") + (boxes ? `, ${boxes}` : "")
        : countText(cloud.boxes.length, "box", "boxes")) +
      (cloud.at.some(v => v) ? `, around x ${count(cloud.at[0])}, y ${count(cloud.at[1])} m` : "");
    explain();
    board.redraw();
  };
  const explain = () => {
    const light = mode === 1 && cloud.light, [low, high] = [cloud.low, cloud.high].map(v => number(+v.toFixed(2)));
    legend.replaceChildren(...(!cloud.n ? [] : [
      el("span", null, light ? "0" : `${low} m`, gradient("scale"), light ? "255 intensity" : `${high} m height`),
      el("span", null, mode === 1 && !light ? "no intensities: coloured by height" : "")]));
  };
  const pan = (dx, dy) => {
    const k = eye.far / Math.max(200, board.width), c = Math.cos(eye.turn), s = Math.sin(eye.turn);
    eye.x -= (dx * c + dy * s) * k;
    eye.y -= (dx * s - dy * c) * k;
    board.redraw();
  };
  const turn = (dx, dy) => {
    Object.assign(eye, { turn: eye.turn + dx, tilt: Math.max(-0.2, Math.min(Math.PI / 2, eye.tilt + dy)) });
    board.redraw();
  };
  const zoom = f => { eye.far = Math.max(cloud.far / 100, Math.min(cloud.far * 20, eye.far / f)); board.redraw(); };
  steer(board, { pan, turn, zoom, home,
    drag: (dx, dy, e) => e.shiftKey || e.buttons > 1 ? pan(dx, dy) : turn(-dx * 0.008, dy * 0.008) });
  board.canvas.addEventListener("contextmenu", e => e.preventDefault());
  const step = d => () => jump((clouds[which][clouds[which].indexOf(shown) + d] ?? shown).at);
  const topic = options("Topic of the points", names.map(n => plain(n, 60)),
    e => { which = +e.target.value; shown = null; eye = null; show(); });
  const modes = options("Colours of the points", ["coloured by height", "coloured by intensity"],
    e => { mode = +e.target.value; explain(); board.redraw(); });
  followers.add(show);
  show();
  refreshers.add(() => { clouds = sorted(); show(); });
  return section("scene", "3D", "the points nearest to the cursor; drag to turn, Shift + drag to pan",
    el("div", { class: "tools" }, names.length > 1 && topic, data.clouds.some(c => c.shade) && modes,
      zoomButtons(zoom, home),
      data.clouds.length > 1 && el("span", { class: "buttons" },
        button("←", "Previous points", step(-1), { class: "icon" }),
        button("→", "Next points", step(1), { class: "icon" }))),
    board.box, legend, readout);
}

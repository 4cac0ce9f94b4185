// ---- Page --------------------------------------------------------------------------------------------------------

const help = document.getElementById("help");

// say makes a screen reader speak a text.
function say(text) { document.getElementById("announcer").textContent = text; }

function bar(data, index) {
  const { scope } = now;
  const b = el("b"), utc = el("span"), local = el("span", { class: "local" }),
    state = el("i", { hidden: true }, "pinned");
  const readout = el("div", { class: "clock", id: "cursor", title: "Time of the cursor" }, b, utc, local, state);
  let sums = []; // sums of the rates of all topics
  always(() => {
    sums = [];
    for (const t of data.topics) smooth(t, now.end).forEach((v, i) => { sums[i] = (sums[i] ?? 0) + v; });
  });
  const overview = new TimeBoard(scope, "The whole time: drag to choose what is shown, click to move the cursor",
    "overview", (ctx, w, h) => {
    const most = extent(sums)[1], bins = sums.length;
    ctx.globalAlpha = 0.55;
    for (let x = 0; x < w && most > 0; x++) {
      let top = 0;
      const last = Math.min(bins - 1, Math.floor((x + 1) / w * bins));
      for (let i = Math.floor(x / w * bins); i <= last; i++) top = Math.max(top, sums[i]);
      const y = top > 0 ? Math.max(2, Math.sqrt(top / most) * (h - 6)) : 0;
      block(ctx, colour.s0, x, h - y, 1, y);
    }
    data.episodes.forEach(e => {
      const from = overview.x(finite(e.from));
      block(ctx, e.good ? colour.s2 : colour.s1, from, h - 8,
        Math.max(1.5, overview.x(finite(e.until)) - from - 1), 8);
    });
    ctx.globalAlpha = 1;
    for (const e of data.events) block(ctx, colour[kind(e.kind)[2]], overview.x(e.from) - 0.5, 0, 1.5, 6);
    const from = overview.x(scope.from), until = overview.x(scope.until);
    ctx.globalAlpha = 0.72;
    block(ctx, colour.bg, 0, 0, from, h);
    block(ctx, colour.bg, until, 0, w, h);
    ctx.globalAlpha = 1;
    pen(ctx, colour.accent, 1.5);
    if (until - from < w - 1) ctx.strokeRect(from + 0.75, 0.75, Math.max(1, until - from - 1.5), h - 1.5);
  }, { whole: true, focus: true });
  followers.add(() => {
    Object.assign(overview.box.dataset, { from: scope.from, until: scope.until });
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
  const buttons = zoomButtons(f => scope.zoom(f, cursor.at), () => scope.show(scope.first, scope.last),
    button("◐", "Light or dark", () => setTheme(!dark), { class: "icon" }),
    button("?", "Help: keys and mouse", () => help.showModal(), { class: "icon" }));
  return el("div", { class: "bar" },
    el("div", { class: "line" }, recording, readout, el("span", { class: "grow" }), buttons), live?.box, overview.box);
}

const LISTS = ["topics", "events", "cameras", "signals", "fields", "tracks", "clouds", "words", "parameters",
  "episodes", "left"];

// prepare returns a recording with valid lists and events, for the panels.
function prepare(recording) {
  const data = { ...recording };
  for (const name of LISTS) data[name] = list(data[name]);
  data.events = data.events.filter(e => e.kind !== "totals").map(e =>
    ({ ...e, kind: String(e.kind ?? ""), from: finite(e.from), until: Math.max(finite(e.from), finite(e.until)) }))
    .sort((a, b) => a.from - b.from);
  return data;
}

// marksOf returns the times to which the keys N and P go, each with a function that returns the text to speak.
function marksOf(data) {
  return [...data.events.map(e => [e.from, () => eventText(e)]),
    ...data.words.map(w => [finite(w.at), () => `${plain(w.level, 20)}: ${plain(w.text, 300)}`])]
    .sort((a, b) => a[0] - b[0]);
}

// showRecording draws the recording with an index.
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
  const sections = [
    (data.topics.length > 0 || !data.episodes.length) && topics(data, order => timeline.show(order)),
    (busy || data.events.length > 0 || !data.episodes.length) && timeline.section(),
    data.cameras.length > 0 && section("pictures", "Pictures", plural(data.cameras.length, "camera"),
      pictures(data.cameras, scope)),
    (data.signals.length > 0 || data.fields.length > 0) && curves(data, scope),
    pair.length > 0 && el("div", { class: `pair${pair.length > 1 ? " two" : ""}` }, pair),
    data.episodes.length > 0 && episodes(data), ...logSections(data),
  ].filter(Boolean);
  const links = sections.flatMap(p => [...(p.id ? [p] : p.children)]).map(s =>
    el("a", { href: `#${s.id}` }, s.querySelector("h2").textContent));
  page.replaceChildren(bar(data, index), head(data), el("nav", { "aria-label": "Parts of this page" }, links),
    ...sections, el("footer", null, live ? `Served by tapedeck's ${live.name}.`
      : "Made by tapedeck. This page is one file and loads nothing from anywhere."));
  timeline.layout();
  moved = true;
  schedule();
}

// next moves the cursor to the next or the previous event or log line.
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
    "/": () => page.querySelector("input[type=search]")?.focus(), ...e.target.parentNode.board?.keys,
  };
  const key = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
  const own = e.key === " " ? "button, summary, a, .sheet" : e.key.startsWith("Arrow") ? ".sheet" : "";
  if (!key || own && e.target.closest(own)) return;
  e.preventDefault();
  key(e);
});

// A print uses the light theme and has all boards.
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


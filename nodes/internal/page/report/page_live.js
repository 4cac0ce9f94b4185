// ---- Live pages --------------------------------------------------------------------------------------------------

// A live page requests new data from a player or a recorder, see package livepage. The cursor follows the present
// position until the reader pins it. On the page of a player, moving the cursor seeks.

// plays reports whether this is the page of a player.
function plays() { return live?.kind === "player"; }

async function ask(path, options) {
  const response = await fetch(path, { ...options, cache: "no-store",
    headers: { Authorization: `Bearer ${live.token}` } });
  if (!response.ok) throw Object.assign(new Error((await response.text()).trim()), { answered: true });
  return response;
}

// order sends a command to the player or recorder. Answers to updates meanwhile are ignored: they may be older than the
// command.
async function order(name, value = 0) {
  live.orders++;
  try {
    await ask("do", { method: "POST", body: JSON.stringify({ name, value, recording: now?.index ?? 0 }) });
    live.refused = "";
  } catch (e) { live.refused = e.message; }
  live.orders--;
  await update();
}

function toggle() { order(live.state.paused ? "resume" : "pause"); }

function seek(t) {
  t = Math.max(0, Math.min(now.end, t));
  moveCursor(t);
  live.state.at = list(live.state.at).map((at, i) => i === now.index ? t : at);
  live.heard = performance.now(); // follow goes on from here until the player answers
  say(`Seek to ${clock(t)}`);
  order("seek", t);
}

// update requests new data and shows them.
async function update() {
  const asked = ++live.asked;
  let news;
  try { news = await (await ask(`update?version=${encodeURIComponent(live.version)}`)).json(); } catch (e) {
    live.missed++;
    const alert = e.answered ? e.message : `the ${live.name} does not answer`;
    news = { version: live.version, state: { word: "NOT CONNECTED", alert, ended: true } };
  }
  if (asked !== live.asked || live.orders || live.pressed) return; // a later update follows
  if (!news.state.ended) live.missed = 0;
  live.version = news.version;
  if (list(news.recordings).length) {
    recordings = list(news.recordings);
    showRecording(Math.min(now?.index ?? 0, recordings.length - 1));
  }
  if (news.growth) grow(news.growth);
  live.state = { ...live.state, ...news.state, ended: news.state.ended };
  live.heard = performance.now();
  live.draw();
  follow();
}

// follow moves the cursor to the present position of the player or recorder.
function follow() {
  const at = list(live.state.at)[now?.index];
  if (!now || at === undefined || cursor.pinned) return;
  const runs = plays() && live.state.word === "PLAYING" && live.state.rate > 0;
  const t = at + (runs ? (performance.now() - live.heard) / 1000 * live.state.rate : 0);
  if (Math.abs(Math.min(now.end, t) - cursor.at) > 1e-6) moveCursor(t);
  const s = now.scope, width = s.until - s.from;
  if (plays() && runs && (t < s.from || t > s.until) && t <= now.end) s.show(t - width / 10, t + width * 0.9);
}

// Keys that identify the items of lists in a Growth.
const SAME = { topics: t => `${t.name}\0${t.type}`, cameras: c => c.topic, signals: s => `${s.topic}\0${s.path}`,
  tracks: t => `${t.topic}\0${t.name}\0${t.frame}` };

// grow adds a Growth to the only recording.
function grow({ whole, from, data }) {
  const old = recordings[0] ??= {};
  const before = structure();
  for (const [name, value] of Object.entries(data)) {
    const key = SAME[name];
    if (key) {
      const known = new Map(list(old[name]).map(v => [key(v), v]));
      old[name] = list(value).map(v => merge(known.get(key(v)), v, whole, from));
    } else if (["events", "words", "clouds"].includes(name)) {
      old[name] = whole ? list(value) : [...list(old[name]), ...list(value)];
    } else if (value != null) old[name] = value;
  }
  if (!now || before !== structure()) rebuild(); else refresh();
}

// merge adds the new data v to an item of a list, and returns the item.
function merge(old, v, whole, from) {
  const base = old ?? {}, bins = (name, none) => {
    if (!Array.isArray(v[name])) return {};
    return { [name]: Array.from({ length: whole ? 0 : from }, (_, i) => base[name]?.[i] ?? none).concat(v[name]) };
  };
  const out = { ...v, ...bins("density", 0), ...bins("low", null), ...bins("high", null) };
  if (!whole && "thumbs" in v) out.thumbs = [...list(base.thumbs), ...list(v.thumbs)];
  if ("points" in v) {
    const first = list(v.points)[0]?.[0] ?? Infinity, points = whole ? [] : list(base.points);
    let keep = points.findIndex(p => p[0] >= first);
    if (keep < 0) keep = points.length;
    out.points = [...points.slice(0, keep), ...list(v.points)];
    out.speed = [...array(base.speed).slice(0, keep), ...array(v.speed)];
  }
  return Object.assign(base, out, { smooth: undefined });
}

// structure returns a text that changes if the page needs other panels.
function structure() {
  const d = recordings[0] ?? {};
  return JSON.stringify([d.start, ...["cameras", "signals", "tracks"].map(n => list(d[n]).map(SAME[n])),
    [...new Set(list(d.clouds).map(c => c.topic))], list(d.left), list(d.fields).length,
    list(d.parameters).length > 0,
    [...new Set([...list(d.words).map(w => w.level), ...list(d.events).map(e => e.kind)])].sort()]);
}

// rebuild draws the whole page again, and keeps search, cursor and scroll position.
function rebuild() {
  const search = page.querySelector("#topics input")?.value, { scrollX, scrollY } = window;
  const before = now && now.data.start === recordings[0].start ? now : null, { at, pinned } = cursor;
  showRecording(0);
  if (before) {
    const s = before.scope;
    if (s.from > s.first || s.until < s.last) now.scope.show(s.from, s.until);
    if (pinned) { moveCursor(at); pin(true); }
  }
  const input = page.querySelector("#topics input");
  if (search && input) { input.value = search; input.dispatchEvent(new Event("input")); }
  scrollTo(scrollX, scrollY);
}

// refresh shows new data in the present panels.
function refresh() {
  const { data, timeline, scope } = now, fresh = prepare(recordings[0]);
  for (const [name, value] of Object.entries(fresh)) {
    if (LISTS.includes(name)) data[name].splice(0, Infinity, ...value); else data[name] = value;
  }
  now.end = Math.max(0, finite(data.duration));
  now.marks = marksOf(data);
  scope.grow(now.end);
  timeline.measure();
  for (const f of refreshers) f();
  document.getElementById("head")?.replaceWith(head(data));
  for (const b of boards) b.redraw();
  moved = true;
  schedule();
}

// The bar of the player or recorder, with its state and buttons.
if (live) {
  const word = el("b", { class: "word", role: "status" }), text = el("span", { class: "mute" }),
    alert = el("span", { class: "alarm", role: "alert" });
  const pause = button("Pause", "Pause or resume", toggle);
  const buttons = [pause], rates = [0.1, 0.25, 0.5, 1, 2, 5, 10];
  let rate = null;
  if (plays()) {
    rate = options("Rate", rates.map(r => `${r} ×`), e => order("rate", rates[e.target.value]));
    buttons.push(button("Next", "Play the next message while paused", () => order("next")), rate);
  } else {
    buttons.push(button("Split", "Continue the recording in another file", () => order("split")));
    if (live.kind === "snapshots") buttons.push(button("Snapshot", "Take a snapshot", () => order("snapshot")));
    live.back = button("Live", "Follow the recording", () => { pin(false); follow(); });
    buttons.push(live.back);
  }
  live.box = el("div", { class: "line live" }, word, el("span", { class: "buttons" }, buttons), text, alert);
  live.draw = () => {
    const s = live.state, set = (e, text) => { if (e.textContent !== text) e.textContent = text; };
    set(word, plain(s.word, 30));
    set(text, plain(s.text, 200));
    set(alert, [live.refused, s.alert].filter(Boolean).map(t => plain(t, 300)).join("; "));
    set(pause, s.paused ? "Resume" : "Pause");
    word.dataset.word = s.word;
    for (const b of buttons) b.disabled = Boolean(s.ended);
    if (rate && document.activeElement !== rate) {
      if (s.rate !== undefined && !rates.includes(s.rate))
        rate.append(el("option", { value: rates.push(s.rate) - 1 }, s.rate > 0 ? `${number(s.rate)} ×` : "max"));
      rate.value = rates.indexOf(s.rate);
    }
    if (live.back) live.back.hidden = !cursor.pinned;
  };
}

const wanted = matchMedia("(prefers-color-scheme: dark)");
wanted.addEventListener("change", e => setTheme(e.matches));
setTheme(wanted.matches);
if (recordings.length) showRecording(0);
else if (!live) page.append(el("p", null, "This page has no recordings."));
else {
  document.title = `tapedeck ${live.name}`;
  page.append(el("div", { class: "bar" }, live.box));
  const again = async () => {
    if (!document.hidden && !live.pressed) await update();
    setTimeout(again, live.missed ? 2000 : plays() ? 200 : 500);
  };
  again();
  // Nothing is redrawn while a mouse button is pressed.
  for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel"])
    addEventListener(kind, e => { live.pressed = e.buttons > 0; }, true);
  if (plays()) setInterval(follow, 50);
}

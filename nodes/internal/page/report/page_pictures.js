// ---- Pictures ----------------------------------------------------------------------------------------------------

function imageURL(thumb) { return `data:image/jpeg;base64,${thumb.jpeg}`; }

// pictures returns the pictures of cameras at the cursor, and a strip for each camera, which follows the scope.
function pictures(cameras, scope) {
  for (const c of cameras) c.thumbs = list(c.thumbs);
  const views = cameras.map(c => {
    const image = el("img", { alt: "", onerror: () => lack("cannot be read") });
    const none = el("span", { class: "mute" }), time = el("span", { class: "mute" });
    const lack = text => { image.hidden = Boolean(text); none.textContent = text; };
    let shown = null; // undefined: no picture is shown
    followers.add(() => {
      const thumb = live && !cursor.pinned && c.latest || c.thumbs[nearest(c.thumbs, cursor.at)];
      if (thumb === shown) return;
      shown = thumb;
      lack(!thumb ? "no picture" : thumb.jpeg ? "" : "cannot be read");
      if (thumb?.jpeg) { image.src = imageURL(thumb); image.alt = `${plain(c.topic)} at ${clock(thumb.at)}`; }
      time.textContent = thumb ? clock(thumb.at) : "";
    });
    return el("figure", null, el("div", { class: "frame" }, image, none),
      el("figcaption", null, el("b", null, name(c.topic)), time));
  });
  const strips = cameras.map(c => {
    const size = c.width > 0 && c.height > 0 ? `${c.width} × ${c.height}` : "";
    return row(strip(c, scope), name(c.topic), [size, plain(c.kind, 40)]);
  });
  return [el("div", { class: `views${views.length < 3 ? " few" : ""}` }, views), strips, row(ruler(scope))];
}

function strip(camera, scope) {
  const height = 56, pool = new Map();
  const width = Math.round(height * Math.max(0.4, Math.min(3, camera.width / camera.height || 4 / 3)));
  const board = new TimeBoard(scope, `${plural(camera.thumbs.length, "picture")} of ${plain(camera.topic)}`, "strip",
    (ctx, w, h) => {
    board.grid(ctx, w, h);
    const keep = new Set();
    const first = board.x(scope.first), last = Math.max(first, board.x(scope.last) - width);
    let right = -Infinity;
    for (const thumb of camera.thumbs) { // always from the first one, so that panning keeps the selection
      const x = Math.max(first, Math.min(last, board.x(thumb.at) - width / 2));
      if (x < right) continue;
      right = x + width + 2;
      if (right < 0 || x > w) continue;
      keep.add(thumb);
      let e = pool.get(thumb);
      if (!e) {
        e = thumb.jpeg ? el("img", { alt: "", src: imageURL(thumb), decoding: "async" }) : el("i", null, "unreadable");
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

// ---- Episodes ----------------------------------------------------------------------------------------------------

function episodes(data) {
  const box = el("div"), result = e => e.discarded ? "✗ discarded" :
    e.success == null ? "–" : e.success ? "✓ success" : "✗ failure";
  const length = e => finite(e.until) - finite(e.from);
  const mine = new Set(); // boards and followers of the episode that is shown
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
        dropped.length > 0 && el("span", null, striped("s1"), "makes no row"),
        panels.some(p => list(p.gaps).length) && el("span", null, striped("s6"), "gap")),
      el("div", { class: "tools" }, zoomButtons(f => scope.zoom(f), () => scope.show(scope.first, scope.last))),
      cameras.length > 0 && pictures(cameras, scope), el("div", { class: "curves" }, plots),
      plots.length > 0 && row(ruler(scope))].flat(Infinity).filter(Boolean));
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

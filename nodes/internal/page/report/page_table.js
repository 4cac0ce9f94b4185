// ---- Elements ----------------------------------------------------------------------------------------------------

// el returns an element. Properties that begin with "on" are listeners, others are attributes. Children are nodes or
// texts.
function el(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value != null && value !== false) e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat(Infinity).filter(c => c != null && c !== false));
  return e;
}

// name shows a name, with possible line breaks after its separators. Its text direction does not affect other texts.
function name(s, max) {
  return el("bdi", null, plain(s, max).split(/(?<=[/_.])/).flatMap((word, i) => i ? [el("wbr"), word] : word));
}

// facts shows a list of pairs of name and value. Pairs without a value are omitted.
function facts(pairs) {
  return el("dl", { class: "facts" },
    pairs.filter(f => f[1]).map(([k, v]) => el("div", null, el("dt", null, k), el("dd", null, v))));
}

// verdict shows whether something is good: the first text in a line, the others in a list.
function verdict(good, lines, otherwise) {
  const items = lines => el("ul", { class: "findings" }, lines.map(l => el("li", null, plain(l, 600))));
  return [el("p", { class: `verdict${good ? "" : " bad"}` }, el("i", { "aria-hidden": "true" }, good ? "✓" : "!"),
    el("span", null, lines.length ? plain(lines[0], 400) : otherwise)),
  lines.length > 1 && items(lines.slice(1, 6)),
  lines.length > 6 && el("details", null, el("summary", null, plural(lines.length - 6, "more finding")),
    items(lines.slice(6, 506)))];
}

function button(text, label, onclick, properties) {
  return el("button", { type: "button", "aria-label": label === text ? null : label, title: label, onclick,
    ...properties }, text);
}

function options(label, names, onchange) {
  return el("select", { "aria-label": label, onchange }, names.map((n, i) => el("option", { value: i }, n)));
}

function section(id, title, note, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("div", { class: "heading" }, el("h2", { id: `${id}-title` }, title),
      note && el("span", { class: "note" }, note)), children);
}

// showFirst fills a box with the first items, and a button that shows the others.
function showFirst(box, items, first, wrap = e => e) {
  const rest = items.slice(first), more = wrap(button(`Show ${count(rest.length)} more`, "Show all",
    () => more.replaceWith(...rest)));
  box.append(...items.slice(0, first), rest.length > 0 ? more : "");
  return box;
}

// row shows a board beside its title and notes. Empty notes are omitted.
function row(board, title, notes, ...more) {
  return el("div", { class: "row" }, title ? el("div", { class: "side" }, el("b", null, title),
    el("div", { class: "mute" }, notes.filter(Boolean).join(", ")), more) : el("div"), board.box);
}

// timeLink returns a button that moves the cursor to t.
function timeLink(t) {
  return el("button", { type: "button", class: "link", title: dates(now.data, t).utc, onclick: () => jump(t) },
    clock(t));
}

// table returns a table that can be sorted, searched and filtered. A column has a name and cell, which returns the
// contents for a row. Optional are key (returns the value to sort by), number (is a number), class, and first (the
// heading of rows). changed is called with the matching rows. Only the first rows are shown until a button is pressed.
function table({ caption, columns, rows, search, text, choices, empty, changed, first = 300 }) {
  const body = el("tbody"), status = el("span", { class: "mute", role: "status" });
  const input = search && el("input",
    { type: "search", placeholder: search, "aria-label": search, spellcheck: "false", oninput: fill });
  const values = choices && [...new Set(rows.map(choices.value))].sort();
  const choice = values && values.length > 1 && options(choices.name, [`All (${count(rows.length)})`,
    ...values.map(v => `${plain(v, 30)} (${count(rows.filter(r => choices.value(r) === v).length)})`)], fill);
  const more = button("", "", () => { first = Infinity; fill(); });
  const style = c => [c.class, c.number && "number"].filter(Boolean).join(" ") || null;
  let sorted = null, turn = 1; // column that rows are sorted by; 1: ascending, -1: descending
  const press = c => { turn = c === sorted ? -turn : c.number ? -1 : 1; sorted = c; fill(); };
  const heads = columns.map(c => el("th", { scope: "col", class: style(c) },
    c.key ? el("button", { type: "button", onclick: () => press(c) }, c.name) : c.name));
  const none = v => v == null || v !== v; // unknown values come last
  function fill() {
    const words = input ? input.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const kind = choice && +choice.value ? values[choice.value - 1] : null;
    const shown = rows.filter(r => words.every(w => text(r).toLowerCase().includes(w)) &&
      (kind === null || choices.value(r) === kind));
    heads.forEach((h, i) => h.setAttribute("aria-sort",
      columns[i] !== sorted ? "none" : turn > 0 ? "ascending" : "descending"));
    if (sorted) {
      const { key } = sorted, order = typeof key(rows[0] || {}) === "string"
        ? new Intl.Collator("en", { numeric: true }).compare : (a, b) => a - b;
      shown.sort((a, b) => none(key(a)) - none(key(b)) || turn * order(key(a), key(b)) || 0);
    }
    body.replaceChildren(...shown.slice(0, first).map(r => el("tr", null, columns.map(c =>
      el(c.first ? "th" : "td", { scope: c.first && "row", class: style(c) }, c.cell(r))))));
    if (!shown.length) body.append(el("tr", null,
      el("td", { colspan: columns.length, class: "mute" }, empty || "Nothing matches")));
    more.hidden = shown.length <= first;
    more.textContent = `Show all ${count(shown.length)}`;
    status.textContent = shown.length === rows.length ? "" : `${count(shown.length)} of ${count(rows.length)}`;
    if (changed) changed(shown);
  }
  always(fill);
  return el("div", null, (input || choice) && el("div", { class: "tools" }, input, choice, status),
    el("div", { class: "sheet", tabindex: "0", role: "region", "aria-label": caption }, el("table", null,
      el("caption", null, el("span", { class: "hidden" }, caption)), el("thead", null, el("tr", null, heads)), body)),
    more);
}

// ---- Head --------------------------------------------------------------------------------------------------------

function head(data) {
  const good = Boolean(data.good), from = dates(data, 0), until = dates(data, now.end);
  const topics = data.topics.length ? ` of ${plural(data.topics.length, "topic")}` : "";
  return el("header", { id: "head" },
    el("h1", null, plain(data.name, 200) || "Recording"),
    verdict(good, list(data.verdict),
      good ? "Nothing is known to be wrong." : "Something is wrong with this recording."),
    facts([
      ["Format", plain(data.format, 60)],
      ["Size", bytes(data.size) + (data.files > 1 ? ` in ${plural(data.files, "file")}` : "")],
      ["Duration", seconds(now.end)],
      ["Messages", count(data.messages) + topics],
      ["From", from.utc.replace(/\.\d+/, "")],
      ["Until", until.utc.replace(/\.\d+/, "")],
      ["Local time", from.local.includes("+00:00") ? "" : from.local.replace(/\.\d+ local/, "")],
    ]));
}

// ---- Topics ------------------------------------------------------------------------------------------------------

function topics(data, changed) {
  let total = 0;
  always(() => { total = data.topics.reduce((sum, t) => sum + finite(t.bytes), 0); });
  const share = t => total > 0 ? finite(t.bytes) / total : 0;
  const zero = n => el("span", { class: n > 0 ? "alarm" : "zero" }, count(n));
  const latency = i => t => Array.isArray(t.latency) ? finite(t.latency[i], NaN) : NaN;
  const time = v => isFinite(v) ? seconds(v) : el("span", { class: "zero" }, "–");
  return section("topics", "Topics", null, table({
    caption: `Topics of ${plain(data.name)}`, rows: data.topics, changed, search: "Search topics and types",
    text: t => `${t.name} ${t.type}`, empty: data.topics.length ? "No topic matches" : "No topics",
    columns: [
      { name: "Topic", key: t => String(t.name), cell: t => name(t.name), first: true, class: "key" },
      { name: "Type", key: t => String(t.type), cell: t => name(t.type) },
      { name: "Messages", key: t => t.messages, cell: t => count(t.messages), number: true },
      { name: "Bytes", key: t => t.bytes, cell: t => bytes(t.bytes), number: true },
      { name: "Share", key: share, number: true, cell: t => {
        const bar = el("i");
        bar.style.width = `${share(t) * 100}%`;
        return el("span", null, `${(share(t) * 100).toFixed(1)} %`,
          el("span", { class: "share", "aria-hidden": "true" }, bar));
      } },
      { name: "Hz", key: t => t.rate, cell: t => t.rate > 0 ? number(t.rate) : el("span", { class: "zero" }, "–"),
        number: true },
      { name: "Worst gap", key: t => t.gap, cell: t => time(t.gap > 0 ? t.gap : NaN), number: true },
      { name: "Dropped", key: t => t.dropped, cell: t => zero(t.dropped), number: true },
      { name: "Lost", key: t => t.lost, cell: t => zero(t.lost), number: true },
      { name: "Latency median", key: latency(0), cell: t => time(latency(0)(t)), number: true },
      { name: "Latency 99 %", key: latency(1), cell: t => time(latency(1)(t)), number: true },
      { name: "QoS", key: t => String(t.qos ?? ""), cell: t => t.qos ? name(t.qos) : "–" },
    ],
  }));
}

// ---- Log, parameters, metadata -----------------------------------------------------------------------------------

const ALARMS = ["error", "fatal", "lost", "drop", "damage", "missing", "check"];
const WARNINGS = ["warn", "gap", "unfinished", "disk"];

function logSections(data) {
  const rows = [];
  always(() => rows.splice(0, Infinity, ...[...data.words.map(w =>
    ({ at: finite(w.at), level: plain(w.level, 20) || "–", from: w.from, text: w.text })),
    ...data.events.map(e => ({ at: e.from, level: e.kind, from: e.topic, event: true,
      text: [e.until > e.from && seconds(e.until - e.from),
      e.count > 0 && plural(e.count, "message"), e.text].filter(Boolean).join("; ") }))].sort((a, b) => a.at - b.at)));
  const metadata = Object.entries(data.metadata || {}).map(([key, value]) => ({ key, value }));
  return [rows.length > 0 && section("log", "Log and events", "a time moves the cursor", table({
    caption: "Log and events", rows, search: "Search the log", text: r => `${r.level} ${r.from} ${r.text}`,
      choices: { name: "Level", value: r => r.level },
    columns: [
      { name: "Time", key: r => r.at, cell: r => timeLink(r.at), number: true },
      { name: "Level", key: r => r.level,
        cell: r => el("span", { class: `level ${ALARMS.includes(r.level) ? "alarm" : WARNINGS.includes(r.level)
          ? "warning" : ""}` }, plain(r.level, 30)) },
      { name: "From", key: r => String(r.from ?? ""), cell: r => name(r.from), class: "key" },
      { name: "Text", key: r => String(r.text ?? ""), cell: r => el("bdi", null, lines(r.text, 1000)), class: "text" },
    ],
  })), data.parameters.length > 0 && section("parameters", "Parameters",
    live && !plays() ? "by some of the messages" : "the last values; changes are in the log", table({
    caption: "Parameters", rows: data.parameters, search: "Search the parameters", first: 100,
    text: p => `${p.node} ${p.name} ${p.value}`, choices: { name: "Node", value: p => String(p.node) },
    columns: [
      { name: "Name", key: p => String(p.name), cell: p => name(p.name), first: true, class: "key" },
      { name: "Value", key: p => String(p.value), cell: p => el("bdi", null, plain(p.value, 300)), class: "text" },
      { name: "Changes", key: p => p.changes, cell: p => count(p.changes), number: true },
      { name: "Since", key: p => finite(p.at), cell: p => timeLink(finite(p.at)), number: true },
      { name: "Node", key: p => String(p.node), cell: p => name(p.node) },
    ],
  })), metadata.length > 0 && section("metadata", "Metadata", null, table({
    caption: "Metadata", rows: metadata, search: metadata.length > 12 && "Search the metadata",
      text: r => `${r.key} ${r.value}`,
    columns: [
      { name: "Name", key: r => r.key, cell: r => name(r.key), first: true, class: "key" },
      { name: "Value", cell: r => el("pre", null, lines(r.value, 4000)) },
    ],
  })), data.left.length > 0 && section("left", "Not shown", null,
    el("ul", null, data.left.slice(0, 1000).map(l => el("li", null, plain(l, 600)))))];
}

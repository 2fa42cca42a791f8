// The runs of the page: filters, sorting, pages of rows, and the timeline of one run.
// Texts of traces reach the page through textContent alone.
(() => {
  "use strict";
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name === "text") element.textContent = value;
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  };
  const number = new Intl.NumberFormat("en");
  const one = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

  theme();
  const data = read("runs-data");
  if (!data) return;
  for (const element of document.querySelectorAll(".js-only")) element.hidden = false;
  byId("runs-static").remove();
  const app = byId("runs-app");
  const dialog = byId("run");
  const count = data.id.length;
  const words = data.words;
  const keys = data.key.map((key, at) => key || data.id[at]);
  const byKey = new Map(keys.map((key, at) => [key, at]));
  let said = null;
  let haystacks = null;

  const columns = [
    { name: "run", sort: (a, b) => compareText(name(a), name(b)) },
    { name: "task", sort: (a, b) => compareText(words[data.task[a]], words[data.task[b]]) },
    { name: "outcome", sort: (a, b) => data.class[a] - data.class[b] || compareText(words[data.outcome[a]], words[data.outcome[b]]) },
    { name: "steps", values: data.steps },
    { name: "attempts", values: data.attempts },
    { name: "failed", values: data.failed },
    { name: "retries", values: data.retries },
    { name: "duration", values: data.seconds, show: seconds },
    { name: "tokens", values: data.tokens },
    { name: "cost", values: data.cost, show: (cost) => "$" + cost.toFixed(4) },
    { name: "went wrong at", values: data.turned.map((step) => step || null) },
    { name: "errors", sort: (a, b) => data.errors[b].length - data.errors[a].length || compareText(kinds(a), kinds(b)) },
  ].filter((column) => !column.values || column.values.some((value) => value !== null && value !== -1));
  const view = { order: [], sort: null, down: false, page: 0, rows: 50, current: -1 };
  build();
  refresh();
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-error], button[data-task]");
    if (!button) return;
    byId("f-outcome").value = byId("f-text").value = "";
    const error = button.dataset.error === undefined ? "" : wordOf(button.dataset.error) || "none";
    // What is in no shown run, or beyond those that are listed, is still asked for.
    if (error && ![...byId("f-error").options].some((option) => option.value === error)) {
      byId("f-error").append(make("option", { value: error, text: button.dataset.error }));
    }
    byId("f-error").value = error;
    byId("f-task").value = button.dataset.task || "";
    refresh();
    byId("runs").scrollIntoView();
    byId("f-error").focus({ preventScroll: true });
  });
  follow();

  function read(id) {
    const element = byId(id);
    return element && JSON.parse(element.textContent);
  }

  function theme() {
    const button = byId("theme");
    const order = ["system", "light", "dark"];
    const set = (name) => {
      if (name === "system") delete root.dataset.theme;
      else root.dataset.theme = name;
      button.textContent = "Theme: " + name;
    };
    let kept = null;
    try { kept = localStorage.getItem("agenteval-theme"); } catch { /* not allowed here */ }
    set(order.includes(kept) ? kept : "system");
    button.addEventListener("click", () => {
      const next = order[(order.indexOf(root.dataset.theme || "system") + 1) % order.length];
      set(next);
      try { localStorage.setItem("agenteval-theme", next); } catch { /* not allowed here */ }
    });
  }

  function name(at) { return data.id[at] || keys[at]; }
  function kinds(at) { return data.errors[at].map((word) => words[word]).join(", "); }
  function compareText(a, b) { return a < b ? -1 : a > b ? 1 : 0; }
  function wordOf(text) {
    const at = words.indexOf(text);
    return at > 0 ? String(at) : "";
  }
  function seconds(value) {
    if (value > 0 && value < 0.005) return (value * 1000).toFixed(2) + " ms";
    if (value < 10) return value.toFixed(2) + " s";
    if (value < 100) return value.toFixed(1) + " s";
    const whole = Math.round(value);
    const two = (part) => String(part).padStart(2, "0");
    if (value < 3600) return Math.floor(whole / 60) + " min " + two(whole % 60) + " s";
    return number.format(Math.floor(whole / 3600)) + " h " + two(Math.floor((whole % 3600) / 60)) + " min";
  }
  function tag(at) {
    const style = ["bad", "open", "good"][data.class[at]];
    return make("span", { class: "tag " + style, text: words[data.outcome[at]] });
  }

  // The table and what stands around it.
  function build() {
    const counts = (values) => {
      const all = new Map();
      for (const value of values) if (value) all.set(value, (all.get(value) || 0) + 1);
      return [...all].sort((a, b) => b[1] - a[1] || compareText(words[a[0]], words[b[0]]));
    };
    const select = (id, label, options) => make("label", { for: id }, label,
      make("select", { id }, make("option", { value: "", text: "all" }),
        ...options.slice(0, 500).map(([word, times]) =>
          make("option", { value: word, dir: "auto", text: cut(words[word], 80) + " (" + number.format(times) + ")" }))));
    const input = (id, label, list) => make("label", { for: id }, label,
      make("input", { id, type: "search", autocomplete: "off", spellcheck: "false", dir: "auto", list }));
    const tasks = counts(data.task);
    app.append(
      make("form", { class: "filters", role: "search", "aria-label": "Filter the runs" },
        select("f-outcome", "Outcome", counts(data.outcome)),
        select("f-error", "Error type", counts(data.errors.flat())),
        input("f-task", "Task", "f-tasks"),
        input("f-text", "Text in ids, labels, errors"),
        make("button", { type: "button", id: "f-clear", text: "Clear" })),
      make("datalist", { id: "f-tasks" }, ...tasks.slice(0, 300).map(([word]) => make("option", { value: words[word] }))),
      make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table of runs" },
        make("table", { class: "grid" },
          make("thead", null, make("tr", null, ...columns.map((column, at) =>
            make("th", { scope: "col", class: column.values ? "n" : null },
              make("button", { type: "button", "data-sort": at, text: column.name }))))),
          make("tbody", { id: "rows" }))),
      make("div", { class: "pager", role: "group", "aria-label": "Pages of runs" },
        make("p", { id: "shown", role: "status", class: "muted" }),
        make("button", { type: "button", id: "p-back", text: "Previous" }),
        make("button", { type: "button", id: "p-next", text: "Next" })));
    const form = app.querySelector("form");
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", refresh);
    byId("f-clear").addEventListener("click", () => { form.reset(); refresh(); });
    app.querySelector("thead").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const at = Number(button.dataset.sort);
      const column = columns[at];
      if (view.sort === at) view.down = !view.down;
      else { view.sort = at; view.down = Boolean(column.values) || column.name === "errors"; }
      view.page = 0;
      arrange();
      draw();
    });
    const turn = (by) => { view.page += by; draw(); };
    byId("p-back").addEventListener("click", () => turn(-1));
    byId("p-next").addEventListener("click", () => turn(1));
    dialog.addEventListener("close", closed);
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  }

  function cut(text, most) {
    const points = Array.from(text.slice(0, most * 2 + 2));
    return points.length > most ? points.slice(0, most).join("") + "…" : text;
  }

  function haystack(at) {
    if (!haystacks) haystacks = new Array(count);
    haystacks[at] ??= [keys[at], data.id[at], words[data.task[at]], words[data.trial[at]], words[data.agent[at]], words[data.model[at]],
      words[data.status[at]], words[data.tags[at]], words[data.outcome[at]], kinds(at), data.place[at]].join("\n").toLowerCase();
    return haystacks[at];
  }

  function refresh() {
    const outcome = Number(byId("f-outcome").value);
    // What no shown run has is a word that is in no list.
    const error = byId("f-error").value === "none" ? -1 : Number(byId("f-error").value);
    const task = byId("f-task").value.trim().toLowerCase();
    const text = byId("f-text").value.trim().toLowerCase();
    const matching = new Set();
    if (task) {
      // An exact task goes before those that only contain the text.
      words.forEach((word, at) => { if (word.toLowerCase() === task) matching.add(at); });
      const exact = data.task.some((word) => matching.has(word));
      if (!exact) words.forEach((word, at) => { if (word.toLowerCase().includes(task)) matching.add(at); });
    }
    view.order = [];
    for (let at = 0; at < count; at += 1) {
      if (outcome && data.outcome[at] !== outcome) continue;
      if (error && !data.errors[at].includes(error)) continue;
      if (task && !matching.has(data.task[at])) continue;
      if (text && !haystack(at).includes(text)) continue;
      view.order.push(at);
    }
    view.page = 0;
    arrange();
    draw();
  }

  function arrange() {
    const column = columns[view.sort];
    if (!column) return;
    const way = view.down ? -1 : 1;
    const known = (value) => value !== null && value !== -1;
    const sort = column.sort ? (a, b) => way * column.sort(a, b) : (a, b) => {
      const [x, y] = [column.values[a], column.values[b]];
      // What is not known stands last, whichever way.
      if (!known(x) || !known(y)) return known(y) - known(x);
      return way * (x - y);
    };
    view.order.sort((a, b) => sort(a, b) || a - b);
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(view.order.length / view.rows));
    view.page = Math.min(Math.max(view.page, 0), pages - 1);
    const start = view.page * view.rows;
    const rows = view.order.slice(start, start + view.rows);
    byId("rows").replaceChildren(...rows.map(row));
    app.querySelectorAll("thead th").forEach((th, at) => {
      if (at === view.sort) th.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
    const range = rows.length ? number.format(start + 1) + "–" + number.format(start + rows.length) + " of " : "";
    const kept = view.order.length === count ? "" : ", filtered from " + number.format(count);
    byId("shown").textContent = range + number.format(view.order.length) + (view.order.length === 1 ? " run" : " runs") + kept;
    byId("p-back").disabled = view.page === 0;
    byId("p-next").disabled = view.page >= pages - 1;
  }

  function row(at) {
    const cells = columns.map((column) => {
      if (column.name === "run") {
        return make("th", { scope: "row" }, make("a", { href: link(at) }, make("bdi", { text: cut(name(at), 120) })));
      }
      if (column.name === "outcome") return make("td", null, tag(at));
      if (!column.values) {
        const text = column.name === "task" ? words[data.task[at]] || "-" : kinds(at);
        return make("td", { class: "t" }, make("bdi", { text: cut(text, 120) }));
      }
      const value = column.values[at];
      const known = value !== null && value !== -1;
      return make("td", { class: "n", text: known ? (column.show || ((n) => number.format(n)))(value) : "-" });
    });
    return make("tr", null, ...cells);
  }

  // One run.
  function link(at, step) {
    return "#run=" + encodeURIComponent(keys[at]) + (step ? "&step=" + step : "");
  }

  function follow() {
    const parts = new Map(location.hash.slice(1).split("&").map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    }));
    if (!parts.has("run")) { if (dialog.open) dialog.close(); return; }
    let key = parts.get("run");
    try { key = decodeURIComponent(key); } catch { /* as it is */ }
    const at = byKey.get(key);
    if (at === undefined) missing(key);
    else open(at, Number(parts.get("step")) || 0);
  }

  function closed() {
    const at = view.current;
    view.current = -1;
    if (location.hash.startsWith("#run=")) {
      history.replaceState(null, "", location.pathname + location.search + "#runs");
    }
    if (at < 0) return;
    const href = link(at);
    const back = [...byId("rows").querySelectorAll("a")].find((a) => a.getAttribute("href") === href);
    if (back && (document.activeElement === document.body || !document.activeElement)) back.focus();
  }

  function head(title, ...tools) {
    const close = make("button", { type: "button", text: "Close" });
    close.addEventListener("click", () => dialog.close());
    return make("div", { class: "run-head" },
      make("div", { class: "run-tools" }, ...tools, close),
      make("h2", { id: "run-title", tabindex: "-1" }, "Run ", make("bdi", { text: title })));
  }

  function show(...children) {
    dialog.replaceChildren(...children);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    byId("run-title").focus({ preventScroll: true });
  }

  function missing(key) {
    view.current = -1;
    show(head(cut(key, 200)), make("div", { class: "run-body" },
      make("p", { text: "This run is not in the page" + (count < data.of ? ": of " + number.format(data.of) + " runs " + number.format(count) + " are." : ".") })));
  }

  function neighbour(label, by) {
    const place = view.order.indexOf(view.current);
    const next = place < 0 ? undefined : view.order[place + by];
    const button = make("button", { type: "button", text: label, disabled: next === undefined });
    if (next !== undefined) button.addEventListener("click", () => { location.hash = link(next); });
    return button;
  }

  function open(at, step) {
    view.current = at;
    const facts = [];
    const fact = (label, text) => { if (text) facts.push(make("div", null, make("dt", { text: label }), make("dd", null, make("bdi", { text })))); };
    fact("task", words[data.task[at]]);
    fact("trial", words[data.trial[at]]);
    fact("agent", words[data.agent[at]]);
    fact("model", words[data.model[at]]);
    fact("status", words[data.status[at]]);
    fact("ended by", words[data.end[at]]);
    fact("tags", words[data.tags[at]]);
    if (data.steps[at] >= 0) {
      fact("steps", number.format(data.steps[at]));
      fact("attempts", number.format(data.attempts[at]));
      fact("failed", number.format(data.failed[at]));
      fact("retries", number.format(data.retries[at]));
    }
    if (data.seconds[at] !== null) fact("duration", seconds(data.seconds[at]));
    if (data.tokens[at] !== null) fact("tokens", number.format(data.tokens[at]));
    if (data.cost[at] !== null) fact("cost", "$" + data.cost[at].toFixed(4));
    const body = make("div", { class: "run-body" }, make("dl", { class: "facts" }, ...facts));
    body.append(make("p", { class: "muted", dir: "auto", text: data.place[at] }));
    const turned = data.turned[at];
    if (turned) {
      body.append(make("p", null, "Went wrong at ", make("a", { href: link(at, turned), text: "step " + turned }), ": it failed and was not recovered."));
    }
    const texts = textsOf(at);
    body.append(timeline(at, texts));
    if (data.more[at]) body.append(make("p", { class: "muted", text: "and " + number.format(data.more[at]) + " more attempts" }));
    const never = data.never[at].map((word) => words[word]).join(", ");
    if (never) body.append(make("p", { dir: "auto", text: "Never reached: " + never }));
    if (texts.has(-1)) body.append(make("h3", { text: "What the run delivered" }), ...texts.get(-1).map(said_));
    const bar = head(cut(name(at), 200), neighbour("Previous", -1), neighbour("Next", 1));
    bar.append(make("div", null, tag(at)));
    show(bar, body);
    if (step) jump(step);
  }

  function jump(step) {
    const found = dialog.querySelectorAll('tr[data-step="' + step + '"]');
    const target = [...found].find((tr) => tr.classList.contains("failed")) || found[0];
    if (!target) return;
    for (const tr of found) tr.classList.add("target");
    target.setAttribute("tabindex", "-1");
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
  }

  function textsOf(at) {
    said ??= read("contents-data") || {};
    const all = new Map();
    for (const [record, kind, text] of said[at] || []) {
      if (!all.has(record)) all.set(record, []);
      all.get(record).push([kind, text]);
    }
    return all;
  }

  function said_([kind, text]) {
    return make("div", null, make("p", { class: "muted", text: kind }), make("pre", { dir: "auto", tabindex: "0", role: "group", "aria-label": kind, text }));
  }

  // Attempts: ";" between them, "," between fields, numbers in base 36.
  function attempts(at) {
    if (!data.line[at]) return [];
    let last = null;
    return data.line[at].split(";").map((line) => {
      const field = line.split(",");
      const read = (index, otherwise) => field[index] ? parseInt(field[index], 36) : otherwise;
      const code = read(5, 0);
      if (field[0]) last = { step: read(0, 0), kind: words[read(1, 0)], name: words[read(2, 0)] };
      return {
        ...last,
        number: read(3, 1), times: read(4, 1), verdict: code % 3, implied: Math.floor(code / 3) % 2 === 1, retry: Math.floor(code / 6),
        status: words[read(6, 0)], error: words[read(7, 0)], at: read(8, null), took: read(9, null), tokens: read(10, null), record: read(11, -2),
      };
    });
  }

  function timeline(at, texts) {
    const all = attempts(at);
    if (!all.length) return make("p", { class: "muted", text: data.steps[at] < 0 ? "The source says nothing of its steps." : "It has no steps." });
    const longest = Math.max(...all.map((attempt) => attempt.took || 0), 1);
    const timed = all.some((attempt) => attempt.at !== null);
    const counted = all.some((attempt) => attempt.tokens !== null);
    const told = new Set();
    const lost = all.findLastIndex((a) => a.verdict === 1 && a.step === data.turned[at]);
    const body = make("tbody");
    for (const [place, a] of all.entries()) {
      const word = a.verdict === 2 ? a.status || "neither" : ["passed", "failed"][a.verdict];
      const how = a.implied ? " (implied)" : ["", " (identical retry)", " (revised retry)", " (retry)"][a.retry];
      const took = make("td", { class: "n took", text: a.took === null ? "" : seconds(a.took / 1000) });
      if (a.took) {
        const line = make("i", { "aria-hidden": "true" });
        line.style.width = Math.max(1, (a.took / longest) * 100) + "%";
        took.append(line);
      }
      const error = make("td", { class: "e" }, a.error ? make("bdi", { class: "error", text: a.error }) : null);
      if (place === lost) error.append(" ", make("span", { class: "tag bad", text: "went wrong here: not recovered" }));
      if (!a.implied && texts.has(a.record) && !told.has(a.record)) {
        told.add(a.record);
        error.append(make("details", null, make("summary", { text: "contents" }), ...texts.get(a.record).map(said_)));
      }
      body.append(make("tr", { class: a.verdict === 1 ? "failed" : null, "data-step": a.step },
        make("td", { class: "n", text: a.step }),
        make("td", { class: "n", text: a.times > 1 ? a.number + "–" + (a.number + a.times - 1) : a.number }),
        make("td", { class: "a" }, make("bdi", { class: "muted", text: a.kind }), " ", make("bdi", { text: a.name })),
        make("td", { text: word + how }),
        timed ? make("td", { class: "n", text: a.at === null ? "" : one.format(a.at / 1000) + " s" }) : null,
        took,
        counted ? make("td", { class: "n", text: a.tokens === null ? "" : number.format(a.tokens) }) : null,
        error));
    }
    const th = (text, n) => make("th", { scope: "col", class: n ? "n" : null, text });
    return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Timeline" },
      make("table", { class: "timeline" },
        make("thead", null, make("tr", null, th("step", 1), th("attempt", 1), th("action"), th("verdict"),
          timed ? th("at", 1) : null, th("took", 1), counted ? th("tokens", 1) : null, th("error"))),
        body));
  }
})();

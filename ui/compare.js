/* Compare: which runs, how their lines are drawn, and what changed. See ui/compare.py for the questions and answers. */
window.ortamCompare = (element, server) => {
  const one = (selector) => element.querySelector(selector);
  const page = one(".o-compare");
  if (page.dataset.begun) return;
  page.dataset.begun = "1";
  document.title = "Compare · Ortam";
  const LIVE = 2000, ENDED = 10000, TABLES = 10000, TASKS = 30000;
  const query = new URLSearchParams(location.search);
  const list = (name) => (query.get(name) ?? "").split(",").filter(Boolean);

  let runs = list("runs"), by = query.get("by") ?? "", pair = query.get("pair") ?? "", curves = list("curves");
  let sort = query.get("sort") ?? "", all = query.has("all"), which = query.get("tasks") ?? "all", environment = query.get("environment") ?? "0";
  const view = { x: query.get("x"), smooth: Math.min(0.99, Math.max(0, Number(query.get("smooth")) || 0)), log: query.has("log") };
  if (![...one("[data-x]").options].some((option) => option.value === view.x)) view.x = "step";
  let mark = "", shape = null, live = false, turn = 0;
  let tablesAt = -Infinity, tasksAt = -Infinity, tablesMark = "", tableParts = {}, tasksOf = "";
  const known = new Map();     // measure -> how far each run's line goes
  const counts = new Map();    // line -> fewest runs at a step of the total

  /* ------------------------------------------------------------------------------------------- the address */

  const remember = () => {
    const now = new URLSearchParams();
    const put = (name, value) => { if (value) now.set(name, value); };
    put("runs", runs.join(","));
    put("by", by);
    put("pair", pair);
    put("curves", curves.join(","));
    put("x", view.x === "step" ? "" : view.x);
    put("smooth", view.smooth ? String(view.smooth) : "");
    put("log", view.log ? "1" : "");
    put("all", all ? "1" : "");
    put("sort", sort);
    put("tasks", which === "all" ? "" : which);
    put("environment", environment === "0" ? "" : environment);
    history.replaceState(history.state, "", `${location.pathname}?${now.toString().replaceAll("%2C", ",")}`);
  };
  const chosen = () => ({ runs: runs.join(","), by, pair });
  const wanted = () => curves.length ? curves : shape?.usual ?? ["curve:total"];

  /* ------------------------------------------------------------------------------------------------ asking */

  const asking = window.ortamAsking(page, () => look(turn), () => live ? LIVE : ENDED);
  const anew = ({ points = true } = {}) => {
    turn += 1;
    mark = "";
    if (points) known.clear();
    remember();
    return asking.now();
  };

  const look = async (mine) => {
    const first = !shape && runs.length ? server.points(question(wanted()[0])) : null;   // while the page learns what there is
    first?.catch(() => null);   // whoever waits for it hears of it
    const told = await server.look({ ...chosen(), mark, shape: shape?.shape ?? "" });
    if (mine !== turn) return;
    if (told.problem) { stop(told.problem); return; }
    const news = told.mark !== mark;
    let beside = null;
    if (told.runs) described(told);
    if (told.chosen !== undefined) put("chosen", told.chosen);
    if ("live" in told) live = told.live;
    page.removeAttribute("aria-busy");
    if (news && shape.runs.length) {
      for (const key of wanted()) {
        const points = await (first && key === wanted()[0] && !known.has(key) ? first : server.points(question(key)));
        if (mine !== turn) return;
        drawn(key, points);
        one("[data-waiting]").classList.add("o-hidden");
        beside ??= tables(mine, told.mark);
      }
      missing();
    }
    mark = told.mark;
    if (shape.runs.length) await (beside ?? tables(mine, mark));
  };
  const stop = (html) => { put("problems", html); one("[data-waiting]").classList.add("o-hidden"); page.removeAttribute("aria-busy"); };
  const question = (key) => ({ ...chosen(), key, known: known.get(key) ?? [], view: { x: view.x, smooth: view.smooth } });

  const tables = async (mine, current) => {
    if (tablesMark === current || performance.now() - tablesAt < TABLES) return;
    tablesMark = current;
    tablesAt = performance.now();
    const told = await server.tables({ ...chosen(), all, parts: tableParts });
    if (mine !== turn) return;
    for (const [name, [made, html]] of Object.entries(told.parts ?? {})) { tableParts[name] = made; put(name, html); }
    order();
    if (performance.now() - tasksAt > TASKS) await tasks(mine);
  };
  const tasks = async (mine) => {
    tasksAt = performance.now();
    const told = await server.tasks({ ...chosen(), environment: Number(environment) || 0, which });
    if (mine === turn && (told.html ?? told.problem) !== tasksOf) { tasksOf = told.html ?? told.problem; put("tasks", tasksOf); }
  };
  const refresh = () => { tablesAt = tasksAt = -Infinity; tablesMark = ""; };

  /* --------------------------------------------------------------------------------------- what came back */

  const put = (name, html) => {
    const box = one(`[data-part=${name}]`);
    if (box.innerHTML !== html) box.innerHTML = html;
  };

  const described = (told) => {
    shape = told;
    const some = told.runs.length > 0;
    runs = [...told.runs.map((run) => run.id), ...told.missing];   // prefixes become ids; what is missing stays asked for
    by = told.by;
    one(".o-compare-body").classList.toggle("o-hidden", !some);
    put("empty", some || runs.length ? "" : EMPTY);
    put("problems", told.html.problems + (told.runs.length === 1 ? ALONE : ""));
    put("lines", told.html.lines);
    put("pair", told.html.pair);
    put("pair2", told.html.pair);
    one("[data-by]").innerHTML = told.html.by;
    const single = told.lines.every((line) => line.kind === "run");
    one(".o-compare-pair").classList.toggle("o-hidden", by !== "difference");
    const across = one("[data-x]");
    across.disabled = !single;
    one("[data-across]").textContent = single ? "" : "Runs are put together step by step, so these lines are drawn over steps.";
    across.value = single ? view.x : "step";
    choose();
    charts();
    if (!some && runs.length === 0) open();
  };
  const EMPTY = '<div class="o-empty"><b>Nothing to compare yet</b><p>Add two or more runs above: their curves, settings and outcomes are put side by side.</p></div>';
  const ALONE = '<p class="o-muted">Add a second run to compare this one with.</p>';

  const section = window.ortamCurves(one("[data-charts]"), (step) => pick(step));
  const of = (key, line) => `${key}|${line}`;
  const charts = () => {
    for (const key of known.keys()) if (!wanted().includes(key)) known.delete(key);
    const single = shape.lines.every((line) => line.kind === "run");
    const width = shape.lines.length > 8 ? 1.3 : 1.8;
    section.view({ x: single ? view.x : "step", smooth: view.smooth, log: view.log });
    section.show(wanted().map((key) => {
      const measure = shape.measures.find((each) => each.key === key) ?? { title: key.replace(/^\w+:/, ""), unit: "", about: "", share: false };
      const differs = shape.lines.some((line) => line.kind === "difference");
      return { id: key, section: "compare", title: measure.title, unit: differs ? `${measure.share ? "percentage points" : measure.unit} · B − A` : measure.unit, about: measure.about,
        kind: "lines", share: measure.share,
        series: shape.lines.map((line) => ({ key: of(key, line.id), label: line.label, colour: line.colour, dash: line.dash, dots: false, width, clean: shape.lines.length > 4,
          counted: line.kind === "mean", band: line.kind === "mean" && line.n > 1 ? "smallest to largest" : "" })) };
    }));
  };
  const drawn = (key, told) => {
    if (told.problem) put("problems", told.problem);
    if (!told.lines) return;
    known.set(key, told.known);
    const together = new Map();   // lines that are new from the same step on are drawn at once
    for (const [line, points] of Object.entries(told.lines)) {
      if (!together.has(points.from)) together.set(points.from, {});
      together.get(points.from)[of(key, line)] = points;
      if (points.n && key === "curve:total") counts.set(line, Math.min(...points.n, points.from === 0 ? Infinity : counts.get(line) ?? Infinity));
    }
    for (const [from, lines] of together) section.merge({ lines, from, whole: false });
    shape.lines.forEach((line, place) => {
      const said = one(`[data-line="${place}"] [data-fewer]`), fewest = counts.get(line.id);
      if (said) said.textContent = fewest < line.n ? `; at some steps only ${fewest} of them (see n)` : "";
    });
  };
  const missing = () => {
    const hidden = [...one("[data-charts]").children].map((box, place) => box.classList.contains("o-hidden") ? wanted()[place] : null).filter(Boolean);
    const names = hidden.map((key) => shape.measures.find((each) => each.key === key)?.title ?? key);
    const said = one("[data-nothing]");
    said.classList.toggle("o-hidden", !names.length);
    said.textContent = names.length ? `Nothing to draw for ${names.join(", ")}: ${live ? "not measured yet" : "none of these runs measured it"}${by === "difference" ? ", or not both at one step" : ""}.` : "";
  };

  /* The line of the run or the group under the pointer stands out in every chart. */
  let standing = null, rest = 0;
  const stand = (label) => {
    if (standing === label) return;
    standing = label;
    for (const plot of element.querySelectorAll(".o-compare-charts .js-plotly-plot")) {
      const names = plot.data?.map((trace) => trace.name) ?? [];
      if (names.includes(label) || label === null) window.Plotly.restyle(plot, { opacity: names.map((name) => label === null || name === label ? 1 : 0.12) });
    }
  };
  const pointed = ({ target }) => {
    const at = target.closest?.(".o-compare-runs > li, .o-compare-lines > li");
    const line = at && shape?.lines.find((each, place) => at.dataset.run ? each.id === decodeURIComponent(at.dataset.run) : String(place) === at.dataset.line);
    clearTimeout(rest);
    rest = setTimeout(() => stand(line && shape.lines.length > 1 ? line.label.replace(/[<>&]/g, " ") : null), 90);
  };
  element.addEventListener("pointerover", pointed);
  element.addEventListener("focusin", pointed);

  /* ---------------------------------------------------------------------------------------- choosing curves */

  const choose = () => {
    const box = one("[data-measures]");
    const groups = Object.entries(shape.sections).map(([name, title]) => [title, shape.measures.filter((measure) => measure.section === name)]).filter(([, found]) => found.length);
    box.replaceChildren(...groups.map(([title, found]) => {
      const field = document.createElement("fieldset");
      const head = document.createElement("legend");
      head.textContent = title;
      field.append(head, ...found.map((measure) => {
        const label = document.createElement("label"), tick = document.createElement("input");
        Object.assign(tick, { type: "checkbox", value: measure.key, checked: wanted().includes(measure.key) });
        label.append(tick, ` ${measure.title}`);
        label.title = measure.about;
        return label;
      }));
      return field;
    }));
  };

  /* ----------------------------------------------------------------------------------------- the step panel */

  const pick = (step) => {
    const box = one("[data-step]");
    section.mark(step);
    box.classList.remove("o-hidden");
    const said = document.createElement("span");
    said.textContent = `Step ${step} in`;
    const links = shape.runs.map((run) => {
      const link = document.createElement("a");
      link.className = "o-link";
      link.href = `/run?${new URLSearchParams({ id: run.id, step })}`;
      link.textContent = run.label;
      return link;
    });
    const close = Object.assign(document.createElement("button"), { type: "button", className: "o-icon", textContent: "×", ariaLabel: "Close",
      onclick: () => { section.mark(null); box.classList.add("o-hidden"); } });
    box.replaceChildren(said, ...links, close);
  };

  /* ------------------------------------------------------------------------------------------ sorted tables */

  const order = () => {
    const table = one(".o-compare-outcome");
    if (!table) return;
    const name = sort.replace(/^-/, ""), down = sort.startsWith("-");
    const heads = [...table.tHead.rows[0].cells];
    const place = heads.findIndex((head) => head.querySelector("button").dataset.sort === name);
    heads.forEach((head, k) => {
      k === place ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort");
      head.querySelector("i").textContent = k === place ? (down ? "↓" : "↑") : "";
    });
    if (place < 0) return;
    const value = (row) => row.cells[place]?.dataset.value ?? "";
    const compare = (a, b) => {
      if (a === "" || b === "") return (a === "") - (b === "");   // what isn't known comes last either way
      const by_ = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
      return down ? -by_ : by_;
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => compare(value(a), value(b))));
  };

  /* ------------------------------------------------------------------------------------------- adding a run */

  const search = one(".o-compare-search"), found = one("#o-compare-found");
  let typed = 0;
  const offer = async () => {
    const mine = ++typed;
    const told = await server.choices({ ...chosen(), search: search.value }).catch(() => null);
    if (mine !== typed) return;
    found.innerHTML = told?.html ?? '<p class="o-muted o-small o-compare-none">The server doesn\'t answer; try again in a moment.</p>';
  };
  const open = () => {
    found.classList.remove("o-hidden");
    search.setAttribute("aria-expanded", "true");
    offer();
  };
  const close = () => { found.classList.add("o-hidden"); search.setAttribute("aria-expanded", "false"); };
  let pause = 0;
  search.addEventListener("focus", open);
  search.addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(offer, 120); });
  one(".o-compare-add").addEventListener("keydown", (event) => {
    const options = [...found.querySelectorAll("button")], at = options.indexOf(document.activeElement);
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") { search.focus(); close(); }
    else if (way && options.length) { (at + way < 0 ? search : options[Math.min(at + way, options.length - 1)]).focus(); event.preventDefault(); }
    else if (event.key === "Enter" && event.target === search && options.length) options[0].click();
  });
  document.addEventListener("pointerdown", (event) => { if (runs.length && !event.target.closest(".o-compare-add")) close(); });

  /* ------------------------------------------------------------------------------------------------ buttons */

  const chose = () => { refresh(); tableParts = {}; return anew(); };
  element.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.add) {
      runs.push(decodeURIComponent(button.dataset.add));
      button.remove();
      chose().then(offer);
    } else if (button.dataset.do === "remove") {
      const id = decodeURIComponent(button.closest("[data-run]").dataset.run);
      runs = runs.filter((run) => run !== id);
      if (shape) shape.shape = "";
      chose();
    } else if ("log" in button.dataset) {
      view.log = !view.log;
      button.setAttribute("aria-pressed", String(view.log));
      remember();
      section.view({ log: view.log });
    } else if (button.dataset.sort) {
      const name = button.dataset.sort;
      sort = sort === `-${name}` ? name : sort === name ? `-${name}` : ["label", "status"].includes(name) ? name : `-${name}`;
      remember();
      order();
    }
  });
  const smoothing = () => { one("[data-smooth] + output").textContent = Number(one("[data-smooth]").value) ? Number(one("[data-smooth]").value).toFixed(2) : "none"; };
  one("[data-smooth]").addEventListener("input", smoothing);
  element.addEventListener("change", ({ target }) => {
    const set = target.dataset;
    if ("by" in set) { by = target.value; counts.clear(); anew(); }
    else if (set.pair) {
      const box = target.closest("[data-part]");
      pair = [...box.querySelectorAll("select")].map((select) => select.value).join(",");
      refresh();
      anew({ points: by === "difference" });
    }
    else if ("x" in set) { view.x = target.value; charts(); anew(); }
    else if ("smooth" in set) { view.smooth = Number(target.value); anew().then(() => charts()); }
    else if ("all" in set) { all = target.checked; refresh(); anew({ points: false }); }
    else if (set.tasks) {
      if (set.tasks === "which") which = target.value; else environment = target.value;
      remember();
      tasks(turn);
    }
    else if (target.closest("[data-measures]")) {
      curves = [...one("[data-measures]").querySelectorAll("input:checked")].map((tick) => tick.value);
      if (curves.join() === shape.usual.join()) curves = [];
      charts();
      anew({ points: false });
    }
  });
  document.addEventListener("pointerdown", ({ target }) => { const more = one(".o-compare-more"); if (more && !more.contains(target)) more.open = false; });

  element.addEventListener("keydown", ({ key }) => {
    const more = one(".o-compare-more");
    if (key === "Escape" && more.open) { more.open = false; more.querySelector("summary").focus(); }
  });

  one("[data-x]").value = view.x;
  one("[data-smooth]").value = String(view.smooth);
  smoothing();
  one("[data-log]").setAttribute("aria-pressed", String(view.log));
  one("[data-all]").checked = all;
  asking.now();
};

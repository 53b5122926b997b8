/* Watch: asks the server what is new, and puts it in its place. See ui/watch.py for the question and the answer. */
window.ortamWatch = (element, server) => {
  const one = (selector) => element.querySelector(selector);
  const page = one(".o-watch");
  if (page.dataset.begun) return;
  page.dataset.begun = "1";
  const query = new URLSearchParams(location.search);
  const LIVE = 2000, PLAYING = 1000, ENDED = 10000, CARDS = 9, LINES = 3000;

  let run = query.get("id") ?? "";
  let have = { version: "", parts: {}, newest: 0 };
  const cursors = { learning: null, play: null };
  let tab = "", chosen = false, logAt = null, live = true, gone = false, told0 = 0;

  /* ------------------------------------------------------------------------------------------------- asking */

  const question = () => ({
    run, version: have.version, parts: have.parts, newest: have.newest, log: logAt, view: view.asked(), lane: lane.asked(),
    charts: Object.fromEntries(["learning", "play", tab].filter((name) => name in cursors).map((name) => [name, cursors[name]])),
  });

  const asking = window.ortamAsking(page, async () => apply(await server.look(question())),
    () => !live || gone ? ENDED : lane.playing ? PLAYING : LIVE);
  const soon = asking.now;

  /* ---------------------------------------------------------------------------------------- what came back */

  const apply = (told) => {
    page.removeAttribute("aria-busy");
    gone = "gone" in told;
    page.classList.toggle("o-is-gone", gone);
    put("gone", told.gone ?? "");
    if (gone) { have = { version: "", parts: {}, newest: 0 }; lane.clear(); return; }
    have.version = told.version;
    if (told.log) printed(told.log);
    lane.apply(told);
    if (!told.run) return;
    if (run !== told.run) {
      run = told.run;
      remember("id", run);
    }
    told0 = performance.now();
    live = told.live;
    if (!live) lane.clear();
    for (const [name, [mark, html]] of Object.entries(told.parts ?? {})) {
      have.parts[name] = mark;
      put(name, html);
    }
    for (const box of element.querySelectorAll(".o-watch-wrong .o-console")) box.scrollTop = box.scrollHeight;
    const waiting = !told.episodes;
    if (!chosen && tab !== (waiting ? "log" : "terms")) {
      open(waiting ? "log" : "terms");
      soon();
    }
    page.classList.toggle("o-is-waiting", waiting);
    page.classList.toggle("o-is-live", live);
    page.classList.toggle("o-is-untrained", Boolean(told.untrained));
    document.title = `${live && told.step ? `${told.step}/${told.steps} ` : ""}${told.name} · Ortam`;
    if (told.cards) cards(told);
    one("[data-count]").textContent = told.episodes ? `${told.episodes.toLocaleString("en")} ${live ? "so far" : "in all"}` : "";
    if (told.view && !view.is(told.view)) { soon(); have.version = ""; clocks(); return; }
    if (told.charts) describe(told);
    for (const [name, points] of Object.entries(told.points ?? {})) {
      if (points.whole) sections[name].view(view.drawn());
      cursors[name] = { bucket: points.bucket, step: points.step };
      sections[name].merge(points);
      if (name === tab) note(name);
    }
    clocks();
  };

  const put = (name, html) => {
    const box = one(`[data-part=${name}]`);
    if (box.innerHTML === html) return;
    const open = box.querySelector("details")?.open;
    box.innerHTML = html;
    if (open) box.querySelector("details")?.setAttribute("open", "");
  };

  const remember = (name, value) => {
    const now = new URLSearchParams(location.search);
    value === null ? now.delete(name) : now.set(name, value);
    history.replaceState(history.state, "", `${location.pathname}?${now}${location.hash}`);
  };

  const clocks = () => {
    for (const clock of element.querySelectorAll("[data-clock]")) {
      const passed = (performance.now() - (clock.dataset.born ?? told0)) / 1000;
      clock.textContent = window.ortamSpell(Number(clock.dataset.seconds) + (clock.dataset.clock === "up" ? passed : -passed));
    }
  };
  const beat = setInterval(() => {
    if (!element.isConnected) return clearInterval(beat);
    if (live && !gone && !asking.misses) clocks();
  }, 1000);

  const cards = (told) => {
    const box = one("[data-lane=newest]");
    box.querySelector(".o-skeleton")?.remove();
    const fresh = document.createElement("template");
    fresh.innerHTML = told.cards.join("");
    if (box.firstChild) for (const card of fresh.content.children) card.classList.add("o-arrived");
    box.prepend(fresh.content);
    while (box.children.length > CARDS) box.lastElementChild.remove();
    have.newest = told.newest;
    lane.arrange();
  };

  /* ------------------------------------------------------------------------------------------------ curves */

  const pick = (step) => openStep(step);
  const sections = {};
  for (const box of element.querySelectorAll("[data-section]")) sections[box.dataset.section] = window.ortamCurves(box, pick);

  const bar = one(".o-curve-bar");
  const view = window.ortamView(bar, (again_) => {
    if (!again_) { for (const section of Object.values(sections)) section.view(view.drawn()); return; }
    for (const name of Object.keys(cursors)) cursors[name] = null;
    have.version = "";
    soon();
  });
  const lane = window.ortamLane(element, soon);

  const describe = ({ charts: { mark, shown }, environments, unknown }) => {
    have.parts.charts = mark;
    view.know(environments ?? [], unknown ?? {});
    for (const [name, section] of Object.entries(sections)) {
      section.show(shown.filter((chart) => chart.section === name));
      section.mark(marked);
    }
    one("[data-tab=other]").classList.toggle("o-hidden", !shown.some((chart) => chart.section === "other"));
  };

  const note = (name) => {
    const box = one(`[data-section=${name}]`);
    const said = box.querySelector(".o-nothing");
    if (!sections[name].empty) return said?.remove();
    if (said) return;
    const line = document.createElement("p");
    line.className = "o-nothing o-muted";
    line.textContent = live ? "Nothing measured yet; it comes with the first finished step." : "Nothing was measured.";
    box.append(line);
  };

  /* ---------------------------------------------------------------------------------- the episodes of a step */

  let marked = null;
  const panel = one("[data-panel=step]");
  const openStep = async (step, first = 0) => {
    marked = step;
    for (const section of Object.values(sections)) section.mark(step);
    remember("step", step);
    if (!panel.firstChild) panel.innerHTML = '<div class="o-card o-skeleton"><i style="width:20%"></i><i></i><i></i></div>';
    try {
      const told = await server.step({ run, step, first });
      if (marked === step && told?.html) panel.innerHTML = told.html;
    } catch { panel.textContent = "These episodes can't be read now; try again in a moment."; }
    panel.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  };
  const closeStep = () => {
    marked = null;
    panel.replaceChildren();
    for (const section of Object.values(sections)) section.mark(null);
    remember("step", null);
  };

  /* --------------------------------------------------------------------------------------------- tabs and log */

  const log = one(".o-watch-log");
  const printed = ({ lines, next }) => {
    if (!log.firstChild && lines.length === 1 && !lines[0]) { logAt = next; return; }
    const below = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    logAt = next;
    log.lastElementChild?.remove();
    const fresh = document.createElement("template");
    fresh.innerHTML = lines.map((line) => `<div>${line || " "}</div>`).join("");
    log.append(fresh.content);
    while (log.childElementCount > LINES) log.firstElementChild.remove();
    if (below) log.scrollTop = log.scrollHeight;
  };

  const tabs = [...element.querySelectorAll("[data-tab]")];
  const open = (name, focus = false) => {
    tab = name;
    for (const button of tabs) {
      const opened = button.dataset.tab === name;
      button.setAttribute("aria-selected", String(opened));
      button.tabIndex = opened ? 0 : -1;
      if (opened && focus) button.focus();
      one(`#o-panel-${button.dataset.tab}`).classList.toggle("o-hidden", !opened);
    }
    logAt = name === "log" ? logAt ?? -1 : null;
    if (name === "log" && logAt === -1) log.replaceChildren();
    if (name in sections) cursors[name] ??= null;
    if (name === "spec" && run) spec();
    have.version = "";
  };
  const spec = async () => {
    const told = await server.spec({ run }).catch(() => null);
    if (told?.html) one("#o-panel-spec").innerHTML = told.html;
  };
  const choose = (name, focus) => {
    chosen = true;
    open(name, focus);
    history.replaceState(history.state, "", `${location.pathname}${location.search}#${name}`);
    soon();
  };

  /* ------------------------------------------------------------------------------------------------- buttons */

  /* What can't be undone asks once: the button gives way to a question, and comes back when it is denied. */
  const ask = (button) => {
    const box = document.createElement("span");
    box.className = "o-row o-sure";
    const { sure, yes, no } = button.dataset;
    const make = (words, css, act) => {
      const made = document.createElement("button");
      Object.assign(made, { type: "button", className: `o-button ${css}`, textContent: words, onclick: act });
      return made;
    };
    const question = document.createElement("span");
    question.textContent = sure;
    const back = () => { box.replaceWith(button); button.disabled = false; };
    const sureOf = make(yes, "o-watch-danger", async () => {
      back();
      button.disabled = true;
      const told = await server[button.dataset.call]({ run }).catch(() => ({ problem: "The server doesn't answer; try again in a moment." }));
      if (told?.problem) {
        button.disabled = false;
        const said = document.createElement("span");
        said.className = "o-small o-watch-not";
        said.setAttribute("role", "alert");
        said.textContent = told.problem;
        button.before(said);
      }
      have.version = "";
      soon();
    });
    box.append(question, sureOf, make(no, "", () => { back(); button.focus(); }));
    button.replaceWith(box);
    sureOf.focus();
  };
  const acts = {
    ask,
    "close-step": closeStep,
    "copy": async (button) => {
      const text = one(".o-yaml").textContent;
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
      catch {
        getSelection().selectAllChildren(one(".o-yaml"));
        button.textContent = document.execCommand("copy") ? "Copied" : "Selected; press Ctrl+C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    },
  };
  element.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button || button.disabled) return;
    if (button.dataset.tab) choose(button.dataset.tab);
    else if (button.dataset.step) openStep(Number(button.dataset.step), Number(button.dataset.first ?? 0));
    else acts[button.dataset.do]?.(button);
  });
  one(".o-watch-tabs").addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    const seen = tabs.filter((button) => !button.classList.contains("o-hidden"));
    const at = seen.findIndex((button) => button.dataset.tab === tab);
    choose(seen[(at + way + seen.length) % seen.length].dataset.tab, true);
    event.preventDefault();
  });

  const wanted = location.hash.slice(1);
  chosen = tabs.some((button) => button.dataset.tab === wanted);
  open(chosen ? wanted : "terms");
  soon().then(() => {
    if (tab === "spec") spec();
    const step = query.get("step");
    if (step && /^\d+$/.test(step)) openStep(Number(step));
  });
};

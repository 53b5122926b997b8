/* Play: one game in this browser. The server knows it by an id that is kept here; the address says what is played. */
window.ortamPlay = (root, server) => {
  const page = root.querySelector(".o-playing");
  if (!page || page.dataset.ready) return;
  page.dataset.ready = "yes";
  document.title = "Play · Ortam";
  const setup = page.querySelector(".o-setup"), baseline = page.querySelector(".o-baseline");
  const slots = Object.fromEntries([...page.querySelectorAll("[data-slot]")].map((slot) => [slot.dataset.slot, slot]));
  const KEPT = "ortam-play", STEP = 500, LOOK = 400, FORKED = ["fork", "episode", "turn", "player"];
  let game = null;       // {id, over, script, turn, keys}
  let extra = {};        // of the address: options, task, the match it comes from; of a fork: fork, episode, turn and who plays it to its end
  let busy = false, ticket = 0, timer = 0, told = "", comparing = 0;
  let seeds = [];        // of the match it comes from
  let ahead = "";        // letters and line ends typed while an answer is awaited

  // ------------------------------------------------------------------------------------------------- what is chosen

  const pills = () => [...setup.querySelectorAll("[name=o-use]")];
  const use = () => setup.use.value.trim() || pills().find((pill) => pill.checked)?.value || "";
  const choose = (wanted) => {
    const pill = pills().find((each) => each.value === wanted);
    for (const each of pills()) each.checked = each === pill;
    setup.use.value = pill ? "" : wanted;
  };
  const unfork = () => { for (const name of FORKED) delete extra[name]; };
  const label = () => { setup.querySelector(".o-setup-seed span").textContent = /^ors[+:]/.test(use()) ? "Task" : "Seed"; };
  const asked = () => ({ use: use(), seed: setup.seed.value.trim(), worth: setup.worth.value || "own", ...extra });
  const address = () => {
    const { use, seed, worth, options, task, match } = asked(), query = new URLSearchParams({ use });
    if (task) query.set("task", task);
    else query.set("seed", seed || "0");
    if (worth !== "own") query.set("worth", worth);
    if (options) query.set("options", options);
    if (match) query.set("match", match);
    for (const name of FORKED) if (extra[name]) query.set(name, extra[name]);
    history.replaceState(null, "", `${location.pathname}?${query}`);
  };
  const about = async (wanted = "own") => {
    const of = use();
    label();
    if (!of || told === of) return;
    told = of;
    try {
      const answer = await server.about({ use: of });
      if (told !== of || answer.problem) return;
      setup.worth.innerHTML = answer.worth;
      setup.worth.value = wanted;
      if (setup.worth.selectedIndex < 0) setup.worth.selectedIndex = 0;
      setup.querySelector("[data-players]").innerHTML = answer.players;
    } catch { told = ""; }
  };

  // --------------------------------------------------------------------------------------------------------- a game

  const trouble = (html) => { slots.trouble.innerHTML = html; };
  const lost = () => {
    ahead = "";
    slots.trouble.replaceChildren(window.ortamUnanswered("The game waits for a quarter of an hour. Try again when the server is back."));
  };
  const remember = () => { try { sessionStorage.setItem(KEPT, JSON.stringify({ id: game?.id, at: location.search })); } catch { /* forbidden */ } };
  const waits = (yes) => {
    busy = yes;
    page.classList.toggle("o-busy", yes);
    if (!yes) pour();
  };

  const begin = async (player) => {
    if (!use()) return setup.use.focus();
    const mine = ++ticket, before = game?.id;
    clearTimeout(timer);
    waits(true);
    trouble("");
    game = null;
    page.classList.add("o-on");
    const name = pills().find((pill) => pill.checked)?.nextElementSibling.textContent ?? use();
    slots.table.innerHTML = '<p class="o-muted o-starting"></p><div class="o-skeleton" role="status" aria-label="Loading"><i class="o-tall"></i><i></i></div>';
    slots.table.firstChild.append(`Starting ${name}… `, document.createElement("b"));
    tell();
    address();
    await about(asked().worth);
    try {
      const answer = await server.begin({ ...asked(), player: player ?? extra.player ?? null, instead: before ?? null });
      if (mine === ticket) show(answer, true);
    } catch { if (mine === ticket) { slots.table.replaceChildren(); lost(); } }
    if (mine === ticket) waits(false);
  };

  const show = (answer, fresh = false) => {
    if (answer.problem) {
      ahead = "";
      if (fresh) { slots.table.replaceChildren(); page.classList.remove("o-on"); }
      return trouble(answer.problem);
    }
    trouble("");
    const at = document.activeElement?.closest?.("[data-tool]") ? document.activeElement : null;
    const opened = [...slots.table.querySelectorAll(".o-tool-fold[open] [data-tool]")].map((form) => form.dataset.tool);
    const back = at && { tool: at.closest("[data-tool]").dataset.tool, argument: at.dataset.argument };
    game = { ...answer, id: answer.id ?? game.id };
    seeds = answer.seeds ?? seeds;
    for (const heavy of ["html", "parts", "cards", "rows", "seeds"]) delete game[heavy];
    answer.html ? slots.table.innerHTML = answer.html : renew(answer);
    const board = slots.table.querySelector("[data-part=board]");
    slots.table.querySelector(".o-tabled").classList.toggle("o-boardless", !board.firstChild);
    slots.table.querySelector(".o-turns").classList.toggle("o-first", !game.turn && !game.over);
    for (const form of slots.table.querySelectorAll(".o-tool-fold [data-tool]")) if (opened.includes(form.dataset.tool)) form.parentElement.open = true;
    backToMatch();
    baseline.hidden = false;
    document.title = `${answer.title} · Play · Ortam`;
    remember();
    const field = back && [...slots.table.querySelectorAll("[data-tool]")].find((form) => form.dataset.tool === back.tool)
      ?.querySelector(back.argument ? `[data-argument="${CSS.escape(back.argument)}"]` : "input, textarea, button");
    if (field) field.focus({ preventScroll: true });
    else if (fresh || at) slots.table.querySelector(".o-guess input, .o-over .o-primary")?.focus({ preventScroll: true });
    if (game.script && !game.over) timer = setTimeout(advance, extra.player ? 0 : STEP);
    if (game.script && game.over && extra.player && game.replay) location.replace(`${game.replay}&turn=${extra.turn ?? 0}`);
  };

  /* One's place among the tasks of the match, and after the last of them the way back comes first. */
  const backToMatch = () => {
    if (!extra.match) return;
    const place = seeds.indexOf(setup.seed.value.trim()), last = place >= 0 && place === seeds.length - 1;
    const head = slots.table.querySelector(".o-tabled-head");
    if (place >= 0) head.append(Object.assign(document.createElement("span"), { className: "o-tag", textContent: `task ${place + 1} of ${seeds.length} of the match` }));
    const row = slots.table.querySelector(".o-over .o-row");
    if (!row) return;
    const link = Object.assign(document.createElement("a"), { className: `o-button${last ? " o-primary" : ""}`, textContent: "Back to the match" });
    link.href = `/arena?id=${encodeURIComponent(extra.match)}`;
    const next = row.querySelector("[data-do=next]");
    if (last) next.replaceWith(link);
    else {
      if (place >= 0) next.textContent = "Next task";
      row.append(link);
    }
  };
  const following = () => {
    const seed = setup.seed.value.trim(), place = extra.match ? seeds.indexOf(seed) : -1;
    return (place >= 0 && seeds[place + 1]) || String((Number(seed) || 0) + 1);
  };

  /* Only what is new comes: parts take the place of those before them, turns join the ones that are there. */
  const renew = ({ parts, cards, rows }) => {
    for (const [name, html] of Object.entries(parts)) slots.table.querySelector(`[data-part=${name}]`).innerHTML = html;
    slots.table.querySelector(".o-cards > .o-end").insertAdjacentHTML("beforebegin", cards);
    const after = slots.table.querySelector(".o-after tbody");
    if (!after) return;
    after.insertAdjacentHTML("afterbegin", rows);
    const seen = new Set();
    for (const row of [...after.rows].slice(0, 64)) seen.has(row.dataset.turn) ? row.remove() : seen.add(row.dataset.turn);
  };

  const ask = async (work) => {
    if (busy || !game) return;
    const mine = ticket;
    waits(true);
    try {
      const answer = await work();
      if (mine === ticket) show(answer);
    } catch { if (mine === ticket) lost(); }
    if (mine === ticket) waits(false);
  };
  const act = (tool, sent) => ask(() => server.call({ id: game.id, known: game.turn, tool, arguments: sent }));
  const advance = () => ask(() => server.advance({ id: game.id, known: game.turn }));

  // -------------------------------------------------------------------------------------------------- what is sent

  const open = (part) => decodeURIComponent(part);
  const collect = (form) => {
    let sent = {};
    for (const field of form.querySelectorAll("[data-argument]")) {
      const { argument, kind } = field.dataset, needed = "needed" in field.dataset, raw = field.value;
      let value = raw;
      if (kind === "boolean") {
        if (!needed && !field.checked) continue;
        value = field.checked;
      } else if (raw.trim() === "" && !needed) continue;
      else if (kind === "integer" || kind === "number") value = raw.trim() !== "" && isFinite(raw) ? Number(raw) : raw;
      else if (kind === "choice") value = JSON.parse(open(raw));
      else if (kind === "guess") value = `[${raw.trim().toLowerCase()}]`;
      else if (kind === "json") {
        try { value = JSON.parse(raw); } catch {
          field.setCustomValidity("This isn't JSON. Text stands in double quotes.");
          field.reportValidity();
          return null;
        }
      }
      if (argument === "") sent = value;
      else sent[open(argument)] = value;
    }
    return sent;
  };

  /* The word being typed stands in the first empty row of the board. */
  const word = () => slots.table.querySelector(".o-guess input");
  const letters = () => (word()?.value ?? "").replace(/[^a-z]/gi, "");
  const paint = () => {
    const row = [...slots.table.querySelectorAll(".o-stage .o-wordle-row")].find((each) => each.querySelector(".o-tile:not(.o-g, .o-y, .o-x)"));
    const typed = letters().toUpperCase();
    row?.querySelectorAll(".o-tile").forEach((tile, n) => {
      tile.textContent = typed[n] ?? "";
      tile.classList.toggle("o-typed", Boolean(typed[n]));
    });
  };
  const type = (letter) => {
    const input = word();
    if (!input || letters().length >= 12) return;
    input.value = letters() + letter;
    paint();
  };
  const rub = () => {
    const input = word();
    if (input) input.value = letters().slice(0, -1);
    paint();
  };

  /* Typed before the game is there, or before the last word is answered: it is shown, and poured in when that has come. */
  const tell = () => {
    const place = slots.table.querySelector(".o-starting b");
    if (place) place.textContent = ahead.toUpperCase().replaceAll("\n", " ⏎ ");
  };
  const typeAhead = (key) => {
    const add = (sign) => () => { ahead += sign; tell(); };
    if (/^[a-z]$/i.test(key)) return add(key);
    if (key === "Enter" && /[a-z]$/i.test(ahead)) return add("\n");
    if (key === "Backspace" && ahead) return () => { ahead = ahead.slice(0, -1); tell(); };
  };
  const pour = () => {
    const input = game?.keys === "guess" && word(), [guess, ...later] = ahead.split("\n");
    ahead = input ? later.join("\n") : "";
    if (!input || !guess) return;
    input.value = guess.slice(0, 12);
    paint();
    if (later.length) input.form.requestSubmit();
  };

  // -------------------------------------------------------------------------------------------------------- baseline

  const compare = async (button) => {
    const mine = ++comparing;
    button.disabled = true;
    slots.baseline.innerHTML = '<p class="o-muted">Starting…</p>';
    try {
      const begun = await server.compare({ ...asked(), games: baseline.querySelector("[name=games]").value });
      let answer = begun;
      while (!answer.problem && !answer.done && mine === comparing) {
        answer = await server.compared({ id: begun.id });
        if (answer.html) slots.baseline.innerHTML = answer.html;
        if (!answer.done) {
          if (answer.games) button.textContent = `${answer.played} of ${answer.games} games…`;
          await new Promise((done) => setTimeout(done, LOOK));
        }
      }
      if (answer.problem) slots.baseline.innerHTML = answer.problem;
    } catch { slots.baseline.innerHTML = ""; lost(); }
    button.textContent = "Play them";
    button.disabled = false;
  };

  // ----------------------------------------------------------------------------------------------------------- events

  setup.addEventListener("submit", (event) => { event.preventDefault(); unfork(); begin(); });
  setup.addEventListener("input", (event) => {
    if (event.target.name === "o-use") setup.use.value = "";
    if (event.target.name === "use") for (const pill of pills()) pill.checked = false;
    if (event.target.name === "o-use" || event.target.name === "use") extra = {};
    if (event.target.name === "o-use") { about(); begin(); }
    if (event.target.name === "seed") { delete extra.task; unfork(); }
  });
  setup.use.addEventListener("change", () => about());

  page.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-tool]");
    if (!form) return;
    event.preventDefault();
    const sent = collect(form);
    if (sent !== null) act(open(form.dataset.tool), sent);
  });
  page.addEventListener("input", (event) => {
    event.target.setCustomValidity?.("");
    if (event.target === word()) paint();
  });
  page.addEventListener("click", (event) => {
    const key = event.target.closest(".o-stage .o-key");
    if (key && word()) return type(key.textContent);
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.call) return void act(open(button.dataset.call), JSON.parse(open(button.dataset.arguments)));
    if (button.dataset.player) return void begin(button.dataset.player);
    switch (button.dataset.do) {
      case "end": clearTimeout(timer); return void ask(() => server.end({ id: game.id, known: game.turn }));
      case "again": return void begin();
      case "next": delete extra.task; unfork(); setup.seed.value = following(); return void begin();
      case "rub": rub(); return word()?.focus();
      case "compare": return void compare(button);
    }
  });

  const ARROWS = { ArrowLeft: ["move", { direction: "left" }], ArrowRight: ["move", { direction: "right" }], ArrowDown: ["stay", {}] };
  window.ortamKeys(page, (key) => {
    if (game?.over || game?.script) return null;
    const keys = game ? game.keys : pills().find((pill) => pill.checked)?.dataset.keys;
    if (keys === "guess" && busy) return typeAhead(key);
    if (keys === "guess" && game && /^[a-z]$/i.test(key)) return () => { word()?.focus({ preventScroll: true }); type(key); };
    return keys === "arrows" && game && key in ARROWS && (() => act(...ARROWS[key]));
  });
  page.addEventListener("keydown", (event) => {
    const act = busy && event.target === word() && !event.ctrlKey && !event.metaKey && !event.altKey && typeAhead(event.key);
    if (!act) return;
    event.preventDefault();
    act();
  });

  // ------------------------------------------------------------------------------------------------------------ start

  const resume = async () => {
    const query = Object.fromEntries(new URLSearchParams(location.search));
    if (!query.use) return;
    choose(query.use);
    setup.seed.value = query.seed ?? "0";
    extra = Object.fromEntries(["options", "task", "match", ...FORKED].filter((name) => query[name]).map((name) => [name, query[name]]));
    if ("readOnly" in page.dataset) return about(query.worth);
    waits(true);
    await about(query.worth ?? (query.fork ? `run:${query.fork}` : undefined));
    let kept = null;
    try { kept = JSON.parse(sessionStorage.getItem(KEPT)); } catch { /* forbidden, or not ours */ }
    if (kept?.id && kept.at === location.search) {
      const mine = ++ticket;
      try {
        const answer = await server.look({ id: kept.id, match: extra.match });
        if (mine !== ticket) return;
        if (!answer.problem) {
          page.classList.add("o-on");
          show(answer, true);
          return waits(false);
        }
      } catch { lost(); return waits(false); }
    }
    begin();
  };
  resume();
};

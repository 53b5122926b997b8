/* Arena: sets a match up, or shows one with all its boards at the same turn. The address says which: /arena?id=RUN. */
window.ortamArena = (element, server) => {
  const root = element.querySelector(".o-arena");
  if (!root || root.dataset.ready) return;
  root.dataset.ready = "yes";
  const slots = Object.fromEntries([...root.querySelectorAll("[data-slot]")].map((slot) => [slot.dataset.slot, slot]));
  const views = Object.fromEntries([...root.querySelectorAll("[data-view]")].map((view) => [view.dataset.view, view]));
  const asked = new URLSearchParams(location.search), id = asked.get("id");
  if (id) match();
  else front();

  // ----------------------------------------------------------------------------------------------- setting a match up

  async function front() {
    views.front.hidden = false;
    document.title = "Arena · Ortam";
    const form = root.querySelector(".o-arena-form");
    let players = [], ticket = 0, costing = 0;
    const trouble = (html) => { slots.trouble.innerHTML = html || ""; };
    const lost = (again) => slots.trouble.replaceChildren(window.ortamUnanswered("What you set up is still here.", again));
    slots.matches.innerHTML = '<div class="o-skeleton" role="status" aria-label="Loading"><i class="o-tall"></i></div>';
    let told;
    try { told = await server.front({ like: asked.get("like") || "" }); }
    catch { slots.matches.replaceChildren(window.ortamUnanswered("It may have stopped or be busy.", front)); return; }
    slots.matches.innerHTML = told.matches;
    if (!told.environments) return;
    form.hidden = false;
    form.environment.innerHTML = told.environments;

    const where = () => form.use.value.trim() || form.environment.value;
    const which = () => form.querySelector("[name=which]:checked")?.value || "seed";
    const name = (player) => player.label || player.name || (player.kind === "checkpoint" ? `${player.run}/${player.checkpoint}` : player.model);
    const plain = () => ({ environment: where(), which: which(), tasks: form.tasks.value, seed: form.seed.value, players });

    function draw() {
      slots.players.replaceChildren(...players.map((player, nth) => {
        const item = document.createElement("li"), who = document.createElement("b"), how = document.createElement("small");
        const away = document.createElement("button");
        who.textContent = name(player);
        const kind = player.kind === "script" ? "scripted" : player.kind === "model" && name(player) !== player.model ? player.model : player.kind;
        how.textContent = `${kind}${player.temperature ? `, temperature ${player.temperature}` : ""}`;
        Object.assign(away, { type: "button", className: "o-icon", textContent: "×", title: `Take ${name(player)} out` });
        away.setAttribute("aria-label", away.title);
        away.onclick = () => { players.splice(nth, 1); draw(); };
        item.append(who, how, away);
        return item;
      }));
      if (!players.length) slots.players.innerHTML = '<li class="o-nobody">Nobody yet: add two or more below.</li>';
      for (const part of form.querySelectorAll("[data-for]")) part.hidden = part.dataset.for !== which();
      clearTimeout(costing);
      costing = setTimeout(cost, 150);
    }
    async function cost() {
      if (!players.length) { slots.cost.innerHTML = ""; return; }
      const mine = ++ticket;
      try {
        const answer = await server.cost(plain());
        if (mine === ticket) slots.cost.innerHTML = answer.problem || answer.html;
      } catch { /* said when it is started */ }
    }
    function add(player) {
      const taken = new Set(players.map(name));
      if (taken.has(name(player))) {
        if (player.kind === "script") return;
        let n = 2;
        while (taken.has(`${name(player)} ${n}`)) n++;
        player = { ...player, label: `${name(player)} ${n}` };
      }
      players.push(player);
      draw();
    }
    const temperature = () => Number(form.temperature.value);
    async function choose(like) {
      const mine = where();
      trouble("");
      try {
        const answer = await server.choices({ environment: mine });
        if (mine !== where()) return;
        if (answer.problem) return trouble(answer.problem);
        slots.offers.innerHTML = answer.offers;
        slots.which.innerHTML = answer.which;
        slots.note.textContent = answer.note;
        players = like?.players ?? answer.first;
        if (like) {
          form.tasks.value = like.tasks;
          form.seed.value = like.seed;
          const as = form.querySelector(`[name=which][value=${like.which}]`);
          if (as) as.checked = true;
        }
        draw();
      } catch { lost(() => choose(like)); }
    }
    form.addEventListener("change", (event) => {
      if (event.target.name === "environment") { form.use.value = ""; choose(); }
      else if (event.target.name === "use") choose();
      else draw();
    });
    form.addEventListener("click", (event) => {
      const offer = event.target.closest("[data-player]"), act = event.target.closest("[data-do]")?.dataset.do;
      if (offer) {
        const player = JSON.parse(offer.dataset.player);
        add(player.kind === "script" || !temperature() ? player : { ...player, temperature: temperature() });
      }
      if (act === "model" && form.model.value.trim()) {
        add({ kind: "model", model: form.model.value.trim(), temperature: temperature() });
        form.model.value = "";
      }
      if (act === "endpoint" && form.url.value.trim() && form.served.value.trim())
        add({ kind: "endpoint", url: form.url.value.trim(), model: form.served.value.trim(), key_from: form.key.value.trim() || null, temperature: temperature() });
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const button = form.querySelector("[type=submit]");
      button.disabled = true;
      try {
        const answer = await server.start(plain());
        if (answer.id) location.href = `/arena?id=${encodeURIComponent(answer.id)}`;
        else { trouble(answer.problem); slots.trouble.scrollIntoView({ block: "center" }); }
      } catch { lost(() => form.requestSubmit()); }
      button.disabled = false;
    });
    if (told.like?.environment) {
      form.environment.add(new Option(told.like.title, told.like.environment));
      form.environment.value = told.like.environment;
    } else if (asked.get("environment")) {
      const wanted = asked.get("environment");
      if (![...form.environment.options].some((one) => one.value === wanted)) form.environment.add(new Option(wanted, wanted));
      form.environment.value = wanted;
    }
    if (form.environment.selectedIndex < 0) form.environment.selectedIndex = 0;
    choose(told.like);
    trouble(told.problem);
  }

  // -------------------------------------------------------------------------------------------------- showing a match

  function match() {
    views.match.hidden = false;
    const wish = { page: Number(asked.get("page") || 0), only: asked.get("only") || "all", first: asked.get("from") || "", second: asked.get("to") || "" };
    let version = "", turn = 0, last = 0, atEnd = true, open = true;
    let seats = [], line = null;

    function address() {
      const named = new URLSearchParams({ id });
      if (wish.page) named.set("page", wish.page);
      if (wish.only !== "all") named.set("only", wish.only);
      if (wish.first) named.set("from", wish.first);
      if (wish.second) named.set("to", wish.second);
      history.replaceState(null, "", `${location.pathname}?${named}`);
    }
    const asking = window.ortamAsking(views.match, async () => {
      const rows = Object.fromEntries([...slots.rows.querySelectorAll(".o-bout")].map((row) => [row.dataset.group, row.dataset.mark]));
      const told = await server.look({ id, version, ...wish, rows });
      slots.gone.innerHTML = told.gone || "";
      if (told.gone) { version = ""; set("head", ""); open = false; }   // perhaps only for now
      else if (told.version) take(told);
    }, () => open ? 1500 : 8000);
    function set(slot, html) { if (slots[slot].dataset.shown !== html) { slots[slot].innerHTML = html; slots[slot].dataset.shown = html; } }
    function take(told) {
      version = told.version;
      open = told.open;
      document.title = `${told.title} · Arena · Ortam`;
      const focus = document.activeElement?.getAttribute?.("name");
      for (const slot of ["head", "table", "pair", "pager"]) set(slot, told[slot]);
      if (focus && !root.contains(document.activeElement)) root.querySelector(`[name="${focus}"]${focus === "o-only" ? ":checked" : ""}`)?.focus({ preventScroll: true });
      const had = Object.fromEntries([...slots.rows.querySelectorAll(".o-bout")].map((row) => [row.dataset.group, row]));
      const drawn = told.rows.map(([group, , html]) => {
        if (!html && had[group]) return had[group];
        const made = document.createElement("template");
        made.innerHTML = html;
        return made.content.firstElementChild;
      }).filter(Boolean);
      if (told.empty) slots.rows.innerHTML = told.empty;
      else slots.rows.replaceChildren(...drawn);
      set("transport", told.transport);
      line = window.ortamLine(slots.transport);
      last = told.last;
      seats = [...slots.rows.querySelectorAll(".o-seat[data-last]")].map((seat) => {
        return { seat, frames: window.ortamFrames(seat), last: +seat.dataset.last, at: -1, link: seat.querySelector("a"), said: seat.querySelector(".o-seat-turn") };
      });
      if (line.speed) transport.drawn(line);
      show(atEnd ? last : Math.min(turn, last));
    }
    function show(k) {
      const before = turn;
      if (line.scrub) transport.mark(k);
      turn = k;
      atEnd = turn === last;
      root.dataset.way = turn === before + 1 ? "on" : "";
      for (const one of seats) {
        const now = Math.min(turn, one.last);
        if (one.at !== now) {
          for (const frame of one.seat.querySelectorAll(".o-frame.o-now")) frame.classList.remove("o-now");
          one.frames[now]?.classList.add("o-now");
          one.at = now;
          const to = new URL(one.link.href);
          to.searchParams.set("turn", now);
          one.link.href = to.pathname + to.search;
        }
        one.seat.classList.toggle("o-ended", turn >= one.last);
        one.said.textContent = turn >= one.last ? `${one.last} turn${one.last === 1 ? "" : "s"}` : `turn ${turn} of ${one.last}`;
      }
    }
    const transport = window.ortamTransport(root, { turn: show, now: () => line?.scrub ? { turn, last, ...line } : null });
    function page(to) { if (to < 0) return; transport.stop(); wish.page = to; atEnd = true; address(); asking.now(); }
    async function stop() {
      try {
        const answer = await server.stop({ id });
        if (answer.problem) slots.gone.innerHTML = answer.problem;
      } catch { slots.gone.replaceChildren(window.ortamUnanswered("The match goes on.", stop)); return; }
      asking.now();
    }
    const acts = { ...transport.acts, stop };

    root.addEventListener("click", (event) => {
      const act = event.target.closest("[data-do]")?.dataset.do, to = event.target.closest("[data-page]");
      if (act && acts[act]) acts[act]();
      else if (to && !to.disabled) page(+to.dataset.page);
    });
    root.addEventListener("change", (event) => {
      const { name, value } = event.target;
      if (name === "o-only") { wish.only = value; page(0); }
      else if (name === "o-first" || name === "o-second") {
        const other = root.querySelector(name === "o-first" ? "[name=o-second]" : "[name=o-first]");
        const [was] = [name === "o-first" ? wish.first : wish.second];
        wish[name === "o-first" ? "first" : "second"] = value;
        if (other.value === value) wish[name === "o-first" ? "second" : "first"] = was || [...other.options].find((one) => one.value !== value).value;
        else wish[name === "o-first" ? "second" : "first"] = other.value;
        wish.only = "all";
        page(0);
      }
    });
    const keys = { ...transport.keys, n: () => slots.pager.querySelectorAll("[data-page]")[1]?.click(), p: () => slots.pager.querySelectorAll("[data-page]")[0]?.click() };
    window.ortamKeys(root, (key) => keys[key]);
    asking.now();
  }
};

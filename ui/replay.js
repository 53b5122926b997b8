/* Replay: shows turn k of an episode that is in the page already. `server` is what the page can ask: show and peers.

   Panels of other scripts stand in the head's slots: each new episode is told as the document event `ortam:episode` with
   `detail` {run, id, player, slots: {share, notes}, server, reload}; the slots are empty then, and player.dataset.turn is the
   turn on screen. */

window.ortamReplay = (element, server) => {
  const root = element.querySelector(".o-replay");
  const slots = Object.fromEntries([...root.querySelectorAll("[data-slot]")].map((slot) => [slot.dataset.slot, slot]));
  const forking = root.querySelector(".o-fork");
  let shown = null;          // the player on screen, with its parts by turn
  let view = "turn", ticket = 0;

  const name = (part) => decodeURIComponent(part.dataset.id);

  // ------------------------------------------------------------------------------------------------------- one episode

  function take() {
    stop();
    const player = slots.player.querySelector(".o-player");
    shown = null;
    if (!player) return;
    shown = {
      player, id: name(player), turn: +player.dataset.turn, last: +player.dataset.turns, ...window.ortamLine(player),
      frames: window.ortamFrames(player), cards: [...player.querySelectorAll(".o-turn")],
    };
    drawn(shown);
    look(view);
    address({});
    document.title = `${player.dataset.title} · Ortam`;
    const inside = Object.fromEntries([...player.querySelectorAll("[data-slot]")].map((slot) => [slot.dataset.slot, slot]));
    document.dispatchEvent(new CustomEvent("ortam:episode", { detail: {
      run: decodeURIComponent(player.dataset.run), id: shown.id, player, slots: inside, server,
      reload: () => open(location.href, { push: false }),
    } }));
  }

  function turn(k, arrived = true) {
    const before = shown.turn;
    shown.player.dataset.way = k === before + 1 ? "on" : "";
    for (const parts of [shown.frames, shown.cards]) {
      parts[before]?.classList.remove("o-now");
      parts[k]?.classList.add("o-now");
    }
    mark(k);
    shown.turn = k;
    shown.player.dataset.turn = k;
    if (view === "transcript" && arrived) shown.cards[k]?.scrollIntoView({ block: "nearest" });
    remember();
  }

  let remembering = 0;
  function remember() {      // browsers refuse more than about a hundred address changes in ten seconds
    clearTimeout(remembering);
    remembering = setTimeout(() => shown && address({ turn: shown.turn }), 120);
  }

  function address(more) {   // names what is on screen, so that it can be sent to someone
    const asked = new URLSearchParams(location.search);
    const named = { run: decodeURIComponent(shown.player.dataset.run), id: shown.id, ...more };
    for (const [name, value] of Object.entries(named)) asked.set(name, value);
    history.replaceState(history.state, "", `${location.pathname}?${asked}`);
  }

  function look(what) {
    view = what;
    shown.player.dataset.view = what;
    for (const button of shown.player.querySelectorAll(".o-tabs button"))
      button.setAttribute("aria-pressed", button.dataset.view === what);
    if (what === "transcript") shown.cards[shown.turn]?.scrollIntoView({ block: "nearest" });
  }

  const { stop, mark, acts: moves, keys: moving, drawn } = window.ortamTransport(root, { now: () => shown, turn, marked: () => shown?.player });
  const acts = { ...moves, fork, forkBy };

  // --------------------------------------------------------------------------------------- other episodes, other lists

  async function open(address, { push = true, list = true, inside = false } = {}) {
    const mine = ++ticket;
    const focus = document.activeElement?.dataset?.go;
    const ended = inside && shown && shown.turn === shown.last && shown.last > 0;
    stop();
    const busy = setTimeout(() => root.classList.add("o-busy"), 150);
    try {
      const asked = { search: new URL(address, location.href).search, list };
      const answer = await server.show(asked);
      if (mine !== ticket) return;
      if (push) history.pushState(null, "", address);
      slots.player.innerHTML = answer.player;
      if (list) slots.list.innerHTML = answer.list;
      take();
      if (focus && focus !== "row") slots.player.querySelector(`[data-go=${focus}]`)?.focus({ preventScroll: true });
      current();
      if (shown && ended) turn(shown.last);
      if (shown) await Promise.all([peers(mine), forks(mine)]);
      else slots.group.innerHTML = "";
    } catch (error) {
      if (mine === ticket) lost(() => open(address, { push, list, inside }), error);
    } finally {
      clearTimeout(busy);
      if (mine === ticket) root.classList.remove("o-busy");
    }
  }

  async function forks(mine) {
    const place = slot("forks"), known = await server.forks({ run: decodeURIComponent(shown.player.dataset.run), id: shown.id });
    if (mine === ticket && place) place.innerHTML = known;
  }
  const slot = (name) => slots.player.querySelector(`[data-slot=${name}]`);

  async function fork() {    // who may go on from the turn on screen
    if (!shown || !server.fork) return;
    stop();
    const place = forking.querySelector("[data-slot=fork]");
    place.innerHTML = '<div class="o-skeleton" role="status" aria-label="Loading"><i></i><i></i></div>';
    if (!forking.open) forking.showModal();
    forking.querySelector("h2").textContent = shown.turn ? `Go on from turn ${shown.turn}` : "Go on from the start";
    try {
      place.innerHTML = await server.fork({ run: decodeURIComponent(shown.player.dataset.run), id: shown.id, turn: shown.turn });
      place.querySelector("a")?.focus();
    } catch (error) {
      console.error(error);
      place.replaceChildren(window.ortamUnanswered("It may have stopped or be busy.", fork));
    }
  }

  async function forkBy(button) {
    button.disabled = true;
    button.textContent = "Starting…";
    const place = forking.querySelector("[data-slot=fork]");
    try {
      const answer = await server.fork_by({ run: decodeURIComponent(shown.player.dataset.run), id: shown.id, turn: shown.turn,
        player: place.querySelector("select").value });
      if (answer.address) location.href = answer.address;
      else place.innerHTML = answer.problem;
    } catch (error) {
      console.error(error);
      place.replaceChildren(window.ortamUnanswered("It may have stopped or be busy.", fork));
    }
  }

  async function peers(mine) {
    const strip = await server.peers({ search: location.search });
    if (mine === ticket) slots.group.innerHTML = strip;
  }

  function lost(again, error) {
    console.error(error);
    slots.player.replaceChildren(window.ortamUnanswered("It may have stopped or be busy.", again));
    shown = null;
  }

  function current() {       // the row and the board of the episode on screen
    for (const row of root.querySelectorAll("[data-slot=list] tr[data-id], .o-mini")) {
      if (shown && name(row) === shown.id) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  const rows = () => [...slots.list.querySelectorAll("tr[data-id]")].map(name);

  function go(link) {        // to another episode; the list is asked for again only when it would change
    const asked = new URLSearchParams(new URL(link.href).search);
    const here = rows();
    const inside = here.includes(asked.get("id"));
    if (!inside && link.dataset.go !== "row" && here.includes(shown?.id)) {
      const page = +(asked.get("page") || 1) + (link.dataset.go === "next" ? 1 : -1);
      asked.set("page", Math.max(1, page));
    }
    return open(`${location.pathname}?${asked}`, { list: !inside, inside: true });
  }

  // ------------------------------------------------------------------------------------------------------------ events

  root.addEventListener("click", (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const act = event.target.closest("[data-do]");
    if (act) return acts[act.dataset.do]?.(act);
    const tab = event.target.closest(".o-tabs [data-view]");
    if (tab) return look(tab.dataset.view);
    const link = event.target.closest("a[href]");
    if (link && new URL(link.href).pathname === location.pathname) {
      event.preventDefault();
      if (link.dataset.go) go(link);
      else open(link.href);
      return;
    }
    if (link) return;
    const row = event.target.closest("tr[data-id]");
    if (row && !getSelection().toString()) return go(row.querySelector("a"));
    const card = event.target.closest("[data-view=transcript] .o-turn > header");
    if (card) turn(+card.parentElement.dataset.turn, false);
  });

  root.addEventListener("submit", (event) => {
    if (!event.target.matches(".o-filters")) return;
    event.preventDefault();
    const asked = new URLSearchParams([...new FormData(event.target)].filter(([, value]) => value));
    if (shown) asked.set("id", shown.id);
    open(`${location.pathname}?${asked}`);
  });
  root.addEventListener("change", (event) => {
    if (event.target.matches(".o-filters select")) event.target.form.requestSubmit();
  });

  const keys = {
    ...moving, ArrowUp: () => press("prev"), ArrowDown: () => press("next"),
    t: () => look(view === "turn" ? "transcript" : "turn"), "/": () => slots.list.querySelector("[name=find]")?.focus(),
    f: fork, g: () => { const whole = slots.group.querySelector("[data-go=group]"); if (whole) location.href = whole.href; },
  };
  const press = (way) => { const link = slots.player.querySelector(`a[data-go=${way}]`); if (link) go(link); };

  window.ortamKeys(root, (key) => (shown || key === "/") && keys[key]);
  window.addEventListener("popstate", () => root.isConnected && open(location.href, { push: false }));

  open(location.href, { push: false });
};

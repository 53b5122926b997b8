/* Group: all its episodes in step. `server` is what the page can ask: look, boards and compare. The boards of an episode's
   turns are asked for when its card comes into sight, and only cards in sight are drawn. */

window.ortamGroup = (element, server) => {
  const root = element.querySelector(".o-group-page");
  const slot = root.querySelector("[data-slot=group]");
  let shown = null, ticket = 0;

  const $ = (what) => root.querySelector(what);

  async function open(address, { push = true } = {}) {
    const mine = ++ticket, focus = document.activeElement?.dataset?.go;
    stop();
    const busy = setTimeout(() => root.classList.add("o-busy"), 150);
    try {
      const answer = await server.look({ search: new URL(address, location.href).search });
      if (mine !== ticket) return;
      if (push) history.pushState(null, "", address);
      slot.innerHTML = answer.html;
      take(answer);
      if (focus) $(`[data-go=${focus}]`)?.focus({ preventScroll: true });
    } catch (error) {
      if (mine === ticket) lost(() => open(address, { push }), error);
    } finally {
      clearTimeout(busy);
      if (mine === ticket) root.classList.remove("o-busy");
    }
  }

  function lost(again, error) {
    console.error(error);
    shown = null;
    slot.replaceChildren(window.ortamUnanswered("It may have stopped or be busy.", again));
  }

  function take(answer) {
    watcher.disconnect();
    shown = null;
    document.title = `${answer.title ?? "Group"} · Ortam`;
    if (!answer.ids) return;
    const asked = new URLSearchParams(location.search);
    shown = { ...answer, turn: answer.last, cards: new Map(), wanted: new Set(), picked: [] };
    for (const card of slot.querySelectorAll(".o-group-card")) {
      shown.cards.set(card.dataset.id, {
        card, board: card.querySelector(".o-group-board"), line: card.querySelector(".o-group-line"), length: +card.dataset.length,
        told: null, at: null, drawn: answer.last, seen: false,
      });
      watcher.observe(card);
    }
    Object.assign(shown, window.ortamLine(slot));
    drawn(shown);
    const order = asked.get("sort");
    if (answer.orders.includes(order)) { $("[name=order]").value = order; sort(order); }
    if (asked.has("turn") && /^\d{1,6}$/.test(asked.get("turn"))) go(+asked.get("turn"));
    const pair = (asked.get("pair") ?? "").split(" ").map(encodeURIComponent).filter((id) => shown.cards.has(id));
    if (pair.length === 2) compare(pair);
    document.dispatchEvent(new CustomEvent("ortam:group", { detail: { run: answer.run, ids: answer.ids.map(decodeURIComponent),
      slots: { share: $("[data-slot=share]") }, server } }));
  }

  // ------------------------------------------------------------------------------------------------------------ in step

  function turn(k) {
    mark(k);
    shown.turn = k;
    for (const one of shown.cards.values()) if (one.seen) draw(one);
    remember();
  }

  function draw(one) {       // the board and the words of the turn on screen; only what differs is touched
    const k = Math.min(shown.turn, one.length), over = shown.turn > one.length || (k === one.length && shown.turn === shown.last);
    one.card.classList.toggle("o-ended", shown.turn > one.length && shown.turn < shown.last);
    if (!one.told) return k === one.drawn ? undefined : fetch(one);
    const { boards, lines, end } = one.told;
    let at = boards.length - 1;
    while (at > 0 && boards[at][0] > k) at--;
    if (at >= 0 && one.at !== at) { one.board.innerHTML = boards[at][1]; one.at = at; }
    const words = over ? end : lines[k];
    if (one.words !== words) { one.line.innerHTML = words; one.words = words; }
    one.drawn = k;
  }

  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const one = shown?.cards.get(entry.target.dataset.id);
      if (!one) continue;
      one.seen = entry.isIntersecting;
      if (one.seen) one.told ? draw(one) : fetch(one);
    }
  }, { rootMargin: "200px" });

  let fetching = 0;
  function fetch(one) {      // those that came into sight together are asked for together
    shown.wanted.add(one);
    clearTimeout(fetching);
    fetching = setTimeout(load, 30);
  }
  async function load() {
    const mine = ticket, wanted = [...shown.wanted].filter((one) => !one.told).slice(0, 8);
    shown.wanted.clear();
    for (const one of shown.cards.values()) if (one.seen && !one.told && !wanted.includes(one)) shown.wanted.add(one);
    if (!wanted.length) return;
    try {
      const told = await server.boards({ run: shown.run, ids: wanted.map((one) => decodeURIComponent(one.card.dataset.id)) });
      if (mine !== ticket || told.problem) return;
      for (const one of wanted) {
        one.told = told[one.card.dataset.id] ?? null;
        if (one.told) draw(one);
      }
      if (shown.wanted.size) load();
    } catch (error) {
      console.error(error);
      for (const one of wanted) if (shown) shown.wanted.delete(one);
    }
  }

  let remembering = 0;
  function remember() {
    clearTimeout(remembering);
    remembering = setTimeout(() => shown && address({ turn: shown.turn === shown.last ? null : shown.turn }), 120);
  }
  function address(more) {
    const asked = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(more)) value === null ? asked.delete(name) : asked.set(name, value);
    history.replaceState(history.state, "", `${location.pathname}?${asked}`);
  }

  const { stop, go, mark, acts: moves, keys: moving, drawn } = window.ortamTransport(root, { now: () => shown, turn });

  // ------------------------------------------------------------------------------------------------- order, two of them

  function sort(by) {        // what has no number comes last
    const value = (card) => card.dataset[by] === "" ? -Infinity : +card.dataset[by];
    const up = by === "sample" || by === "turns";
    const cards = [...shown.cards.values()].map((one) => one.card);
    cards.sort((a, b) => (up ? value(a) - value(b) : value(b) - value(a)) || a.dataset.sample - b.dataset.sample);
    $(".o-group-cards").append(...cards);
    address({ sort: by === "total" ? null : by });
  }

  function pick(id, on) {
    shown.picked = shown.picked.filter((other) => other !== id);
    if (on) shown.picked.push(id);
    while (shown.picked.length > 2) tick(shown.picked.shift(), false);
    $("[data-slot=picked]").textContent = shown.picked.length === 1 ? "tick one more" : shown.picked.length ? "" : "or tick two";
    if (shown.picked.length === 2) compare(shown.picked);
  }
  const tick = (id, on) => { const box = shown.cards.get(id)?.card.querySelector("[name=pick]"); if (box) box.checked = on; };

  async function compare(pair) {
    const mine = ticket, place = $("[data-slot=pair]");
    for (const [id] of shown.cards) tick(id, pair.includes(id));
    shown.picked = [...pair];
    const [one, other] = pair.map(decodeURIComponent);
    try {
      const answer = await server.compare({ run: shown.run, one, other });
      if (mine !== ticket) return;
      place.innerHTML = answer.html;
      address({ pair: `${one} ${other}` });
      place.querySelector(".o-first-difference, .o-versus-heads")?.scrollIntoView({ block: "center" });
    } catch (error) {
      console.error(error);
    }
  }
  function unpair() {
    for (const id of shown.picked) tick(id, false);
    shown.picked = [];
    $("[data-slot=pair]").replaceChildren();
    $("[data-slot=picked]").textContent = "or tick two";
    address({ pair: null });
  }

  // ------------------------------------------------------------------------------------------------------------ events

  const acts = {
    ...moves, unpair,
    extremes: () => shown.pair.length && compare(shown.pair),
    part: () => { if (shown.parting) { stop(); go(shown.parting); } },
    order: () => {
      const list = $("[name=order]");
      list.selectedIndex = (list.selectedIndex + 1) % list.options.length;
      sort(list.value);
    },
  };

  root.addEventListener("click", (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const act = event.target.closest("[data-do]");
    if (act) return acts[act.dataset.do]?.();
    const to = event.target.closest("button[data-turn]");
    if (to) { stop(); return go(+to.dataset.turn); }
    const link = event.target.closest("a[data-go]");
    if (link) { event.preventDefault(); return open(link.href); }
    const replay = event.target.closest("a[data-replay]");
    if (replay && shown.turn !== shown.last) {
      const whole = new URL(replay.href);
      whole.searchParams.set("turn", Math.min(shown.turn, +replay.closest("[data-length]").dataset.length));
      event.preventDefault();
      location.href = whole;
    }
  });
  root.addEventListener("change", (event) => {
    if (event.target.matches("[name=order]")) sort(event.target.value);
    if (event.target.matches("[name=pick]")) pick(event.target.value, event.target.checked);
  });

  const leave = (way) => { const link = $(`a[data-go=${way}]`); if (link) open(link.href); };
  const keys = {
    ...moving, ArrowUp: () => leave("prev"), ArrowDown: () => leave("next"), p: acts.part, s: acts.order, c: acts.extremes,
  };
  window.ortamKeys(root, (key) => shown && keys[key]);
  window.addEventListener("popstate", () => root.isConnected && open(location.href, { push: false }));

  open(location.href, { push: false });
};

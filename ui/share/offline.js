/* A shared file: shows one of the episodes it holds, turn k of it. Nothing is asked of anyone. */
(() => {
  const root = document.querySelector(".o-offline"), slot = root.querySelector("[data-slot=player]");
  const kept = [...document.querySelectorAll("template[data-n]")];
  let shown = null, view = "turn";

  const dark = (yes) => { for (const el of [document.documentElement, document.body]) el.classList.toggle("dark", yes); };
  dark(matchMedia("(prefers-color-scheme: dark)").matches);
  document.getElementById("o-theme").addEventListener("click", () => dark(!document.body.classList.contains("dark")));

  function open(n) {
    if (!kept[n]) return;
    const focus = document.activeElement?.dataset?.go;
    stop();
    slot.replaceChildren(kept[n].content.cloneNode(true));
    const player = slot.querySelector(".o-player");
    shown = { n, player, turn: +player.dataset.turn, last: +player.dataset.turns, ...window.ortamLine(player),
      frames: window.ortamFrames(player), cards: [...player.querySelectorAll(".o-turn")] };
    drawn(shown);
    look(view);
    for (const link of root.querySelectorAll("a[data-n]")) {
      if (+link.dataset.n === n) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    beside(shown.turn);
    if (focus) slot.querySelector(`[data-go=${focus}]`)?.focus({ preventScroll: true });
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
    beside(k);
    if (view === "transcript" && arrived) shown.cards[k]?.scrollIntoView({ block: "nearest" });
  }

  function beside(k, ended = false) {        // the group's other boards, in step or as they ended
    for (const card of root.querySelectorAll(".o-side")) {
      const frames = [...card.querySelectorAll(".o-frame")];
      const now = frames.findLast((frame) => ended || +frame.dataset.from <= k);
      for (const frame of frames) frame.classList.toggle("o-now", frame === now);
      card.classList.toggle("o-ended", !ended && k > +card.dataset.length);
    }
  }

  function look(what) {
    view = what;
    shown.player.dataset.view = what;
    for (const button of shown.player.querySelectorAll(".o-tabs button")) button.setAttribute("aria-pressed", button.dataset.view === what);
    if (what === "transcript") shown.cards[shown.turn]?.scrollIntoView({ block: "nearest" });
  }

  const { stop, mark, acts, keys: moving, drawn } = window.ortamTransport(root, { now: () => shown, turn, marked: () => shown?.player });

  root.addEventListener("click", (event) => {
    const act = event.target.closest("[data-do]");
    if (act) return acts[act.dataset.do]?.();
    const tab = event.target.closest(".o-tabs [data-view]");
    if (tab) return look(tab.dataset.view);
    const link = event.target.closest("a[href^='#']");
    if (link) {
      event.preventDefault();
      open(+link.getAttribute("href").slice(1));
      if (link.dataset.n) slot.scrollIntoView({ block: "nearest" });
      return;
    }
    const card = event.target.closest("[data-view=transcript] .o-turn > header");
    if (card) turn(+card.parentElement.dataset.turn, false);
  });

  const keys = {
    ...moving, ArrowUp: () => open(shown.n - 1), ArrowDown: () => open(shown.n + 1), t: () => look(view === "turn" ? "transcript" : "turn"),
  };
  window.ortamKeys(root, (key) => shown && keys[key]);

  open(0);
  if (root.querySelector(".o-side")) {       // a group shows first how all of it ended
    turn(shown.last);
    beside(shown.last, true);
  }
})();

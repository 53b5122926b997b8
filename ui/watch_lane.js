/* Beside the curves: the boards in play, which become the recorded episodes when their batch ends, or the newest episodes; and
   under them the one episode that is followed. `soon()` asks the server now. */
window.ortamLane = (element, soon) => {
  const one = (selector) => element.querySelector(selector);
  const boards = one("[data-lane=playing]"), panel = one("[data-panel=follow]");
  const states = {};
  let mark = "", playing = false, picked = "", head = "";
  const query = new URLSearchParams(location.search);
  let follow = query.get("follow") ? { id: query.get("follow"), turns: -1 } : null, opening = false;

  const born = (box) => { for (const clock of box.querySelectorAll("[data-clock]")) clock.dataset.born = performance.now(); };
  const parsed = (html) => {
    const made = document.createElement("template");
    made.innerHTML = html;
    born(made.content);
    return made.content;
  };

  /* ------------------------------------------------------------------------------------------------- the lane */

  const which = () => picked || (boards.firstChild ? "playing" : "newest");
  const arrange = () => {
    const has = Boolean(boards.firstChild), now = has ? which() : "newest";
    const both = has && Boolean(one("[data-lane=newest] .o-watch-episode"));
    one(".o-lane-choice").classList.toggle("o-hidden", !both);
    one("[data-lane-title]").classList.toggle("o-hidden", both);
    one("[data-lane-title]").textContent = now === "playing" ? "Now playing" : "Newest episodes";
    one(".o-watch").classList.toggle("o-is-playing", has);
    for (const button of element.querySelectorAll("[data-choose-lane]")) button.setAttribute("aria-pressed", String(button.dataset.chooseLane === now));
    boards.classList.toggle("o-hidden", now !== "playing");
    one("[data-lane=newest]").classList.toggle("o-hidden", now !== "newest");
    one("[data-count]").classList.toggle("o-hidden", now !== "newest");
    one("[data-lane-head]").classList.toggle("o-hidden", now !== "playing");
    one("[data-lane-head]").innerHTML = head;
    boards.classList.toggle("o-over", !playing);
  };
  const card = (id) => boards.querySelector(`[data-id="${CSS.escape(id)}"]`);
  const place = (id, [state, html]) => {
    states[id] = state;
    const box = card(id) ?? Object.assign(document.createElement("div"), { className: "o-lane-place" });
    box.dataset.id = id;
    box.replaceChildren(parsed(html));
    box.firstElementChild?.setAttribute("aria-pressed", String(follow?.id === id));
    if (!box.parentNode) boards.append(box);
  };

  const apply = (told) => {
    if (told.lane) {
      ({ mark } = told.lane);
      playing = told.lane.playing;
      head = told.lane.head ?? "<span>Recorded; the next ones show here when they are played.</span>";
      const held = document.activeElement?.closest(".o-lane-place")?.dataset.id;
      for (const [id, board] of Object.entries(told.lane.boards)) place(id, board);
      const order = told.lane.order ?? Object.keys(told.lane.boards);
      for (const box of [...boards.children]) {
        if (order.includes(box.dataset.id)) continue;
        delete states[box.dataset.id];
        box.remove();
      }
      order.forEach((id, k) => { if (card(id) && boards.children[k] !== card(id)) boards.insertBefore(card(id), boards.children[k]); });
      if (held && !boards.contains(document.activeElement)) card(held)?.firstElementChild?.focus({ preventScroll: true });
      arrange();
    }
    if (told.followed && told.followed.id === follow?.id) followed(told.followed);
  };

  /* ------------------------------------------------------------------------------------------------ following */

  const remember = () => {
    const now = new URLSearchParams(location.search);
    follow ? now.set("follow", follow.id) : now.delete("follow");
    history.replaceState(history.state, "", `${location.pathname}?${now}${location.hash}`);
  };
  const part = (name) => panel.querySelector(`[data-follow-part=${name}]`);
  const start = (id) => {
    follow = { id, turns: -1 };
    remember();
    for (const button of boards.querySelectorAll("[data-follow]")) button.setAttribute("aria-pressed", String(button.dataset.follow === id));
    panel.replaceChildren(one("#o-follow-panel").content.cloneNode(true));
    opening = true;
    soon();
  };
  /* Only now does the panel have its height; it goes to the top, since it grows downwards. */
  const arrived = () => {
    if (!opening) return;
    opening = false;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    panel.scrollIntoView({ block: "start", behavior: still ? "auto" : "smooth" });
  };
  const stop = () => {
    const id = follow?.id;
    follow = null;
    remember();
    panel.replaceChildren();
    for (const button of boards.querySelectorAll("[aria-pressed=true]")) button.setAttribute("aria-pressed", "false");
    if (id) card(id)?.firstElementChild?.focus();
  };
  const followed = (told) => {
    if (!panel.firstChild) panel.replaceChildren(one("#o-follow-panel").content.cloneNode(true));
    if (told.ended !== undefined) {
      part("stage").innerHTML = told.ended;
      part("calls").replaceChildren();
      follow.over = told.over;
      if (told.over) follow.turns = Math.max(0, follow.turns);
      if (told.board === undefined) return arrived();
    }
    const list = part("turns"), below = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
    if (told.head !== undefined) { part("head").innerHTML = told.head; list.replaceChildren(); }
    follow.turns = told.turns;
    if (told.stage !== undefined) part("stage").replaceChildren(parsed(told.stage));
    if (part("board").dataset.html !== told.board) {
      part("board").innerHTML = told.board;
      part("board").dataset.html = told.board;
    }
    list.append(parsed(told.new.join("")));
    part("calls").innerHTML = told.calls ?? "";
    if (below) list.scrollTop = list.scrollHeight;
    arrived();
  };

  element.addEventListener("click", (event) => {
    const button = event.target.closest("[data-follow], [data-choose-lane], [data-do=unfollow]");
    if (!button) return;
    if (button.dataset.follow) follow?.id === button.dataset.follow ? stop() : start(button.dataset.follow);
    else if (button.dataset.chooseLane) { picked = button.dataset.chooseLane; arrange(); }
    else stop();
  });
  arrange();

  return {
    asked: () => ({ mark, boards: { ...states }, follow }),
    apply,
    arrange,   // after newest episodes came
    get playing() { return playing; },
    /* The run ended or the page shows another one. */
    clear() {
      if (!boards.firstChild && !mark) return;
      mark = "";
      playing = false;
      boards.replaceChildren();
      for (const id of Object.keys(states)) delete states[id];
      arrange();
    },
  };
};

/* Share menus: `<details class="o-share" data-share="run=…">`, asked for when they are opened; on Replay one is put into the head. */
(() => {
  const closest = (event, what) => event.target.closest?.(what);

  function menu(what, small) {
    const share = document.createElement("details");
    share.className = "o-share";
    share.dataset.share = new URLSearchParams(what);
    share.innerHTML = `<summary class="o-button${small ? " o-small" : ""}" title="Take it away as a file, or copy its address">Share</summary>` +
      '<div class="o-share-menu" role="group" aria-label="Share"></div>';
    return share;
  }

  async function fill(share) {
    const place = share.querySelector(".o-share-menu");
    place.innerHTML = '<div class="o-skeleton" role="status" aria-label="Loading"><i></i><i style="width:80%"></i><i></i></div>';
    const say = (problem) => {
      place.innerHTML = '<p class="o-muted"></p>';
      place.firstChild.textContent = problem;
    };
    try {
      const answer = await (await fetch(`/share/menu?${share.dataset.share}`)).json();
      answer.html ? place.innerHTML = answer.html : say(answer.problem);
    } catch { say("The server doesn't answer. It may have stopped or be busy; open this again."); }
  }

  document.addEventListener("ortam:episode", ({ detail }) => {
    if (detail.slots.share) detail.slots.share.replaceChildren(menu({ run: detail.run, id: detail.id }, true));
  });

  document.addEventListener("toggle", (event) => {
    if (!event.target.matches?.(".o-share") || !event.target.open) return;
    for (const other of document.querySelectorAll(".o-share[open]")) if (other !== event.target) other.open = false;
    fill(event.target);
  }, true);

  document.addEventListener("click", (event) => {
    const share = closest(event, ".o-share");
    for (const open of document.querySelectorAll(".o-share[open]")) if (open !== share) open.open = false;
    const link = closest(event, ".o-share-menu a[data-format]");
    if (link) {                       // as it is on screen now
      const address = new URL(link.href);
      const turn = document.querySelector(".o-player")?.dataset.turn;
      if (link.dataset.format === "png" && turn) address.searchParams.set("turn", turn);
      if (/png|gif/.test(link.dataset.format) && document.body.classList.contains("dark")) address.searchParams.set("dark", "1");
      link.href = address;
    }
    if (closest(event, ".o-share-menu [data-do=copy]")) copy(share);
  });

  document.addEventListener("submit", async (event) => {
    if (!event.target.matches(".o-to-hub")) return;
    event.preventDefault();
    const form = event.target, share = form.closest(".o-share"), said = share.querySelector("output");
    const button = form.querySelector("button");
    const asked = new URLSearchParams(share.dataset.share);
    asked.set("at", form.elements.to.value.trim());
    asked.set("public", form.elements.public.checked ? "1" : "0");
    button.disabled = true;
    said.textContent = "Sending…";
    try {
      const answer = await (await fetch(`/share/hub/send?${asked}`, { method: "POST", headers: { "X-Ortam": "import" } })).json();
      if (answer.html) said.innerHTML = answer.html;
      else said.textContent = answer.problem;
    } catch { said.textContent = "The server doesn't answer. It may have stopped or be busy."; }
    button.disabled = false;
  });

  async function copy(share) {
    const said = share.querySelector("output");
    try {
      await navigator.clipboard.writeText(location.href);
      said.textContent = "Copied";
    } catch {                         // only secure pages may write to the clipboard
      said.textContent = location.href;
      getSelection().selectAllChildren(said);
    }
  }

  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && document.querySelector(".o-share[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });
})();

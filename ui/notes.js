/* Notes and tags of the episode on screen, in the head's slot `notes`. n writes a note. */

(() => {
  let now = null;            // {run, id, slot, server} of the episode on screen
  const drafts = new Map();  // run and episode -> what was typed and not saved

  const key = (at) => JSON.stringify([at.run, at.id]);
  const part = (name) => now.slot.querySelector(name);

  async function ask(verb, more = {}) {
    const mine = now;
    let answer;
    try {
      answer = await mine.server[verb]({ run: mine.run, id: mine.id, ...more });
    } catch {
      answer = { problem: "The server doesn't answer; what you wrote is still here." };
    }
    if (mine !== now) return null;
    if (answer.html !== undefined && !answer.conflict) {
      const typed = drafts.get(key(now));
      now.slot.innerHTML = answer.html;
      if (typed !== undefined && verb !== "write_note") edit(typed);
    } else if (part("[data-note-problem]")) part("[data-note-problem]").textContent = answer.problem || "";
    return answer;
  }

  function edit(typed) {
    const form = part(".o-note-form");
    if (!form) return;
    form.hidden = false;
    part(".o-note-text")?.setAttribute("hidden", "");
    const area = form.querySelector("textarea");
    if (typed !== undefined) area.value = typed;
    area.rows = Math.min(16, Math.max(3, area.value.split("\n").length + 1));
    area.focus();
  }

  function cancel() {
    drafts.delete(key(now));
    const form = part(".o-note-form");
    form.hidden = true;
    const area = form.querySelector("textarea");
    area.value = area.defaultValue;
    part(".o-note-text")?.removeAttribute("hidden");
    part("[data-note-conflict]").replaceChildren();
    part("[data-note-problem]").textContent = "";
    part(".o-note-open").focus();
  }

  async function save(seen) {
    const area = part(".o-note-form textarea");
    const typed = area.value;
    const answer = await ask("write_note", { text: typed, seen });
    if (!answer) return;
    if (answer.conflict) {
      const fresh = new DOMParser().parseFromString(answer.html, "text/html");
      part(".o-notes").dataset.newer = fresh.querySelector(".o-notes").dataset.version;
      part(".o-notes").dataset.theirs = fresh.querySelector("textarea").value;
      part("[data-note-conflict]").innerHTML = answer.conflict;
      return;
    }
    if (answer.problem) return;
    drafts.delete(key(now));
    part(".o-note-open").focus();
    stale();
  }

  function stale() {         // the list shows notes and tags as well; it is asked for anew with the next filter
    const row = document.querySelector(`[data-slot=list] tr[data-id="${CSS.escape(now.player.dataset.id)}"] .o-mono`);
    if (!row) return;
    const cell = row.parentElement;
    cell.querySelectorAll(".o-by-hand").forEach((one) => one.remove());
    for (const tag of now.slot.querySelectorAll(".o-note-tags > .o-by-hand")) {
      const shown = tag.cloneNode(true);
      shown.querySelector("button")?.remove();
      cell.append(shown);
    }
    if (part(".o-note-text")) {
      const mark = document.createElement("span");
      mark.className = "o-tag o-by-hand";
      mark.textContent = "note";
      cell.append(mark);
    }
  }

  document.addEventListener("ortam:episode", async ({ detail }) => {
    const slot = detail.slots.notes;
    const { run, id, server, player } = detail;
    now = slot && server.notes ? { run, id, slot, server, player } : null;
    if (!now) return;
    const mine = now;
    const changeTags = async (verb, tag) => {
      if (!(await ask(verb, { tag }))?.html) return;
      stale();
      part("[data-tag]").focus();
    };
    slot.addEventListener("click", ({ target }) => {
      if (mine !== now) return;
      const gone = target.closest("[data-untag]");
      if (gone) return changeTags("untag", gone.dataset.untag);
      const panel = part(".o-notes");
      if (target.closest("[data-note-edit]") && !getSelection().toString()) edit();
      if (target.closest("[data-note-cancel]")) cancel();
      if (target.closest("[data-note-save]")) save(+panel.dataset.version);
      if (target.closest("[data-note-mine]")) save(+panel.dataset.newer);
      if (target.closest("[data-note-theirs]")) { drafts.delete(key(now)); ask("notes"); }
      if (target.closest("[data-note-both]")) {
        const area = part(".o-note-form textarea");
        area.value = `${panel.dataset.theirs}\n\n${area.value}`;
        save(+panel.dataset.newer);
      }
    });
    slot.addEventListener("keydown", (event) => {
      if (mine !== now) return;
      const field = event.target;
      if (field.matches("[data-tag]") && event.key === "Enter" && field.value.trim()) {
        event.preventDefault();
        changeTags("tag", field.value);
      }
      if (!field.matches("textarea")) return;
      if (event.key === "Escape") cancel();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save(+part(".o-notes").dataset.version);
    });
    slot.addEventListener("input", ({ target }) => {
      if (mine === now && target.matches("textarea")) drafts.set(key(now), target.value);
    });
    await ask("notes");
  });

  window.ortamKeys(document, (key) => key === "n" && now?.slot.isConnected && edit);
})();

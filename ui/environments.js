/* Environments: all cards are asked for once and searched here; one alone has its own address on the same page. */
window.ortamEnvironments = (root, server) => {
  const page = root.querySelector(".o-envs");
  if (!page || page.dataset.ready) return;
  page.dataset.ready = "yes";
  const $ = (selector, from = page) => from.querySelector(selector);
  const all = (selector, from = page) => [...from.querySelectorAll(selector)];
  const list = $("[data-list]"), alone = $("[data-one]"), search = $(".o-envs-search"), segments = $("[data-statuses]");
  const tryForm = $("[data-form=try]"), importForm = $("[data-form=import]"), attempt = $("[data-attempt]");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let mark = "", status = "", token = "", was = "", asked = 0;

  const answers = (well) => {
    $(".o-away").replaceChildren(...(well ? [] : [window.ortamUnanswered("What you see is as it was.", () => route())]));
    list.classList.toggle("o-stale", !well);
  };
  const ask = async (name, what) => {
    try {
      const answer = await server[name](what);
      answers(true);
      return answer;
    } catch { answers(false); return null; }
  };
  const problem = window.ortamProblem;

  /* ----------------------------------------------------------------------------------------------------- all of them */
  const look = async () => {
    const answer = await ask("look", { mark });
    if (!answer || answer.html === undefined) return;
    const open = new Set(all("details[open]", list).map((one) => placeOf(one)));
    list.innerHTML = answer.html;
    for (const one of all("details", list)) one.open = open.has(placeOf(one));
    mark = answer.mark;
    drawStatuses(answer.statuses);
    narrow();
  };
  const placeOf = (fold) => `${fold.closest("[data-key]")?.dataset.key} ${all("details", fold.closest("[data-key]") ?? page).indexOf(fold)}`;
  const drawStatuses = (counts) => {
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    segments.replaceChildren(...[["", "All", total], ...Object.entries(counts).map(([name, count]) => [name, name, count])].map(
      ([value, name, count]) => {
        const label = document.createElement("label"), input = document.createElement("input");
        Object.assign(input, { type: "radio", name: "o-env-status", value, checked: value === status });
        const words = Object.assign(document.createElement("span"), { textContent: `${name[0].toUpperCase()}${name.slice(1)} ` });
        words.append(Object.assign(document.createElement("em"), { textContent: count }));
        label.append(input, words);
        return label;
      }));
  };
  const narrow = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let seen = 0;
    for (const group of all(".o-env-group", list)) {
      let here = 0;
      for (const card of all(".o-env", group)) {
        const fits = (!status || card.dataset.status === status) && words.every((word) => card.dataset.words.includes(word));
        card.hidden = !fits;
        here += fits;
      }
      group.hidden = !here;
      $("[data-count]", group).textContent = here;
      seen += here;
    }
    $("[data-none]").hidden = seen > 0 || !mark;
  };
  const remember = () => {
    const address = new URL(location);
    for (const [name, value] of [["q", search.value], ["status", status]]) {
      value ? address.searchParams.set(name, value) : address.searchParams.delete(name);
    }
    history.replaceState(history.state, "", address);
  };

  /* ------------------------------------------------------------------------------------------------------- one alone */
  const route = async () => {
    const query = new URLSearchParams(location.search);
    const named = ["use", "saved", "entry"].find((name) => query.get(name));
    $("[data-all]").hidden = Boolean(named);
    alone.hidden = !named;
    document.title = "Environments · Ortam";
    if (!named) return look();
    const mine = ++asked;
    alone.classList.add("o-stale");
    const answer = await ask("show", { [named]: query.get(named) });
    if (mine !== asked) return;
    alone.classList.remove("o-stale");
    if (!answer) return alone.replaceChildren(problem("The server doesn't answer. Reload this page once it is up again."));
    alone.innerHTML = answer.html;
    if (answer.title) document.title = `${answer.title} · Ortam`;
  };
  const go = (address) => {
    history.pushState({ from: "cards" }, "", address);
    scrollTo(0, 0);
    route();
  };
  addEventListener("popstate", route);

  /* --------------------------------------------------------------------------------------------------- sample games */
  const play = (card) => {
    const frames = all("[data-frame]", card);
    if (frames.length < 2 || card.playing || still.matches) return;
    let now = 0;
    const show = () => {
      frames.forEach((frame, k) => { frame.hidden = k !== now; });
      if (now === frames.length - 1) { clearInterval(card.playing); card.playing = null; }
      now += 1;
    };
    card.playing = setInterval(show, Math.max(90, Math.min(420, 3000 / frames.length)));
    show();
  };
  page.addEventListener("pointerenter", (event) => { if (event.target.matches?.(".o-env")) play(event.target); }, true);
  page.addEventListener("input", (event) => {
    if (!event.target.matches(".o-env-sample input")) return;
    const sample = event.target.closest(".o-env-sample"), now = Number(event.target.value);
    all("[data-frame]", sample).forEach((frame, k) => { frame.hidden = k !== now; });
    $("[data-turn]", sample).textContent = `turn ${now} of ${event.target.max}`;
  });

  /* -------------------------------------------------------------------------------------------------- an address tried */
  const panel = (name, open) => {
    for (const one of all(".o-env-panel")) one.hidden = one.dataset.is !== name || !open;
    for (const button of all("[data-panel]")) {
      button.setAttribute("aria-expanded", String(button.dataset.panel === name && open));
    }
    if (open) $(`.o-env-panel[data-is=${name}] input:not([type=file])`)?.focus();
  };
  const typed = () => ({ use: tryForm.use.value, options: tryForm.options.value });
  const start = async () => {
    const mine = token = crypto.randomUUID?.() ?? String(Math.random());
    const button = $("[type=submit]", tryForm);
    button.textContent = "Asking…";
    let answer = await ask("attempt", { token, ...typed() });
    while (answer?.waiting !== undefined && token === mine) {
      attempt.innerHTML = answer.html;
      await new Promise((done) => { setTimeout(done, 400); });
      answer = await ask("attempt", { token: mine });
    }
    if (token !== mine) return;
    button.textContent = "Try it";
    if (!answer) return attempt.replaceChildren(problem("The server doesn't answer; try again once it is up."));
    if (answer.problem) attempt.replaceChildren(problem(answer.problem));
    else {
      attempt.innerHTML = answer.html;
      if (!tryForm.name.value) tryForm.name.value = answer.name ?? "";
    }
    $("[data-save]").hidden = !tryForm.use.value.trim();
  };
  const tryOut = (use, options = "") => {
    if (!alone.hidden) go("/environments");
    fillTry({ use, options, name: "", note: "" });
    panel("try", true);
    start();
  };
  const fillTry = ({ use, options, name, note }) => {
    token = "";
    was = name;
    tryForm.use.value = use;
    tryForm.options.value = options;
    tryForm.options.closest("details").open = Boolean(options);
    tryForm.name.value = name;
    tryForm.note.value = note;
    attempt.replaceChildren();
    $("[data-save]").hidden = !name;
    $("[data-do=save]").textContent = name ? "Save changes" : "Save";
  };
  const save = async () => {
    const said = $("[data-saying]");
    const answer = await ask("save", { ...typed(), token, was, name: tryForm.name.value.trim(), note: tryForm.note.value });
    said.classList.toggle("o-wrong", Boolean(answer?.problem));
    said.textContent = !answer ? "The server doesn't answer; nothing was saved." : answer.problem
      ?? `Saved as ${answer.name}. It is a card here and a choice in the launch form.`;
    if (!answer || answer.problem) return;
    fillTry({ use: "", options: "", name: "", note: "" });
    panel("try", false);
    await look();
    $(`[data-key="${CSS.escape(answer.query)}"]`, list)?.scrollIntoView({ block: "center" });
  };
  tryForm.addEventListener("submit", (event) => { event.preventDefault(); start(); });
  tryForm.addEventListener("input", (event) => {
    if (event.target === tryForm.use && !was) $("[data-save]").hidden = true;
  });

  /* ------------------------------------------------------------------------------------------------ a catalog imported */
  const bring = async (file) => {
    const out = $("[data-imported]");
    if (!file) return;
    if (file.size > 16 * 1024 * 1024) {
      return out.replaceChildren(problem("The file is larger than 16 MiB, which no OpenEnv catalog is."));
    }
    out.textContent = `Reading ${file.name}…`;
    const answer = await ask("imports", { text: await file.text(), checkout: importForm.checkout.value.trim() });
    importForm.file.value = "";
    if (!answer || answer.problem) return out.replaceChildren(problem(answer?.problem ?? "The server doesn't answer; try again."));
    out.innerHTML = answer.html;
    look();
  };
  importForm.addEventListener("submit", (event) => event.preventDefault());
  importForm.file.addEventListener("change", () => bring(importForm.file.files[0]));
  for (const kind of ["dragover", "drop", "dragleave"]) {
    $(".o-env-drop").addEventListener(kind, (event) => {
      event.preventDefault();
      $(".o-env-drop").classList.toggle("o-over", kind === "dragover");
      if (kind === "drop") bring(event.dataTransfer.files[0]);
    });
  }
  list.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    if (await ask("check_out", { repository: form.dataset.repository, checkout: form.checkout.value.trim() })) look();
  });

  /* ------------------------------------------------------------------------------------------------------------- clicks */
  const sure = (button, question) => {
    if (button.dataset.sure) return true;
    const before = button.textContent;
    button.dataset.sure = "asked";
    button.textContent = question;
    setTimeout(() => { delete button.dataset.sure; button.textContent = before; }, 4000);
    return false;
  };
  page.addEventListener("click", async (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target.closest("a[data-open], a[data-back]");
    if (link) {
      event.preventDefault();
      return link.dataset.back !== undefined && history.state?.from === "cards" ? history.back() : go(link.getAttribute("href"));
    }
    const button = event.target.closest("button");
    if (!button) return;
    const { panel: name, shape, copy, edit, delete: unwanted, try: address } = button.dataset;
    if (name) return panel(name, button.getAttribute("aria-expanded") !== "true");
    if (shape) { tryForm.use.value = shape; return tryForm.use.focus(); }
    if (copy) return copied(button, copy);
    if (address) return tryOut(address);
    if (edit) {
      const found = await ask("saved", { name: decodeURIComponent(edit) });
      if (!found || found.problem) return;
      go("/environments");
      fillTry(found);
      panel("try", true);
    } else if (unwanted && sure(button, "Really delete")) {
      if (await ask("delete", { name: decodeURIComponent(unwanted) })) go("/environments");
    } else if (button.dataset.do === "save") save();
    else if (button.dataset.do === "forget" && sure(button, "Really remove")) {
      if (await ask("forget", { repository: button.closest("form").dataset.repository })) look();
    }
  });
  const copied = async (button, written) => {
    const note = $("span", button);
    try {
      await navigator.clipboard.writeText(written);
      note.textContent = "copied";
    } catch {
      getSelection().selectAllChildren($("code", button));
      note.textContent = "press Ctrl+C";
    }
    setTimeout(() => { note.textContent = "copy"; }, 1500);
  };

  const query = new URLSearchParams(location.search);
  search.value = query.get("q") ?? "";
  status = query.get("status") ?? "";
  search.addEventListener("input", () => { remember(); narrow(); });
  segments.addEventListener("change", (event) => { status = event.target.value; remember(); narrow(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && alone.hidden) look(); });
  window.ortamKeys(page, (key) => key === "/" && alone.hidden && (() => search.focus()));
  route();
};

/* The launch form: one draft of a spec, in the browser until the button is pressed. The server is asked at every change what
   it would do and what is wrong with it; a later answer is never overtaken by an earlier one. */
window.ortamLaunch = (root, server) => {
  const page = root.querySelector(".o-launch");
  if (!page || page.dataset.ready) return;
  page.dataset.ready = "yes";
  document.title = "Launch · Ortam";
  const $ = (selector, from = page) => from.querySelector(selector);
  const all = (selector, from = page) => [...from.querySelectorAll(selector)];
  const form = $("form"), yaml = $("#o-yaml"), paint = $(".o-spec-text pre");
  const known = JSON.parse(page.dataset.known);
  const DRAFT = "ortam-draft";
  let asked = 0, waiting = null, touched = "form";
  const terms = window.ortamTerms(page, server, () => changed());
  let base = {};  /* what was filled in last: settings that have no place in the form stay as they are */

  /* ------------------------------------------------------------------------------------------- values in, values out */
  const get = (from, path) => path.split(".").reduce((value, key) => value?.[key], from);
  const put = (into, path, value) => {
    const keys = path.split("."), last = keys.pop();
    let at = into;
    for (const key of keys) at = at[key] ??= {};
    at[last] = value;
  };
  const spellMap = (value) => typeof value === "string" ? value
    : Object.entries(value ?? {}).map(([k, v]) => `${k}: ${JSON.stringify(v)}`).join("\n");
  const spell = (kind, value) => {
    if (value === null || value === undefined) return "";
    if (kind === "map") return spellMap(value);
    if (kind === "list" && Array.isArray(value)) return value.join(", ");
    if (kind === "float" && typeof value === "number" && value && Math.abs(value) < 1e-3) return value.toExponential();
    return typeof value === "object" ? JSON.stringify(value) : String(value);
  };
  const write = (input, value) => {
    if (input.dataset.kind === "bool") input.checked = value === true;
    else if (input.dataset.kind === "choice") input.checked = input.value === value;
    else if (input !== document.activeElement) input.value = spell(input.dataset.kind, value);
  };
  const numeral = (raw) => raw !== "" && isFinite(raw) ? Number(raw) : raw;
  const value = (input) => {
    const { kind, key } = input.dataset, raw = input.value.trim();
    if (kind === "bool") return input.checked;
    if (raw === "" && "empty" in input.dataset) return null;
    if (kind === "int" || kind === "float") return numeral(raw);
    if (kind === "list") return raw.split(",").map((part) => numeral(part.trim()));
    return key === "prompt" || key === "system" || kind === "map" ? input.value : raw;
  };
  const inputs = (from) => all("[data-key]", from);
  const fill = (spec) => {
    for (const part of all("[data-optional]")) {
      part.checked = Boolean(spec[part.dataset.optional]);
    }
    for (const input of inputs(form)) {
      if (input.closest("[data-row]")) continue;
      const part = input.closest("[data-part]")?.dataset.part;
      if (part && !spec[part]) continue;
      const found = get(spec, input.dataset.key);
      if (found !== undefined || !part) write(input, found);
    }
    rows("environments", Array.isArray(spec.environments) ? spec.environments : []);
    terms.fill(Array.isArray(spec.rewards) ? spec.rewards : []);
    base = spec;
    shape();
  };
  const collect = () => {
    const draft = structuredClone(base);
    for (const part of all("[data-optional]")) {
      const name = part.dataset.optional;
      draft[name] = part.checked ? draft[name] ?? {} : null;
    }
    for (const input of inputs(form)) {
      if (input.closest("[data-row]") || (input.dataset.kind === "choice" && !input.checked)) continue;
      const part = input.closest("[data-part]")?.dataset.part;
      if (part && !$(`[data-optional=${part}]`).checked) continue;
      put(draft, input.dataset.key, value(input));
    }
    draft.environments = rowsOf("environments").map(collectRow);
    draft.rewards = terms.read();
    return draft;
  };
  const collectRow = (row) => {
    const held = structuredClone(row.held ?? {});
    for (const input of inputs(row)) put(held, input.dataset.key, value(input));
    return held;
  };

  /* ---------------------------------------------------------------------------------------------------------- rows */
  const rowsOf = (kind) => all(`[data-rows=${kind}] > [data-row]`);
  const addRow = (kind, held) => {
    const row = $(`template[data-template=${kind}]`).content.firstElementChild.cloneNode(true);
    $(`[data-rows=${kind}]`).append(row);
    fillRow(row, held);
    return row;
  };
  const fillRow = (row, held) => {
    for (const input of inputs(row)) write(input, get(held, input.dataset.key));
    row.held = held;
  };
  const rows = (kind, wanted) => {
    const there = rowsOf(kind);
    wanted.forEach((held, n) => there[n] ? fillRow(there[n], held) : addRow(kind, held));
    there.slice(wanted.length).forEach((row) => row.remove());
  };
  const uses = () => rowsOf("environments").map((row) => $("[data-key=use]", row).value.trim());
  const ids = () => rowsOf("environments").map((row) => $("[data-key=id]", row).value.trim());
  const played = () => rowsOf("environments").map((row) => {
    const { id, use, options } = collectRow(row);
    return { id, use, options: typeof options === "object" ? options : {} };
  });
  const titleOf = (use) => $(`[data-environment="${CSS.escape(use)}"]`)?.closest("label").querySelector("b").textContent ?? use;

  /* What follows from the draft: which cards are chosen, what terms are about, whether shares and scopes matter. */
  const shape = () => {
    const used = uses(), named = ids(), mixed = named.length > 1;
    page.classList.toggle("o-mixed", mixed);
    for (const card of all("[data-environment]")) card.checked = used.includes(card.dataset.environment);
    for (const row of rowsOf("environments")) $("[data-title]", row).textContent = titleOf($("[data-key=use]", row).value.trim());
    for (const part of all("[data-part]")) part.hidden = !$(`[data-optional=${part.dataset.part}]`).checked;
    terms.environments(played(), mixed);
    const server = $('[data-key="generation.server_url"]').closest(".o-field");
    server.hidden = $('[data-key="generation.engine"]:checked')?.value !== "vllm-server";
    if (!server.hidden) server.closest("details").open = true;
  };
  /* ------------------------------------------------------------------------------------------------------ problems */
  const note = (field) => {
    const [kind, n, ...rest] = field.split(".");
    const row = /^\d+$/.test(n ?? "") ? rowsOf(kind)[Number(n)] : null;
    if (row) return $(`[data-note="${rest.join(".")}"]`, row) ?? $("[data-note=value], [data-note=id]", row);
    return all(`[data-note="${CSS.escape(field)}"]`, form).find((el) => !el.closest("[data-row]"));
  };
  const controlOf = (el) => el.closest(".o-field, .o-term, .o-card")?.querySelector("input:not([type=radio]), textarea");
  const showProblems = (problems) => {
    for (const el of all("[data-note]")) {
      el.help ??= el.textContent;
      el.textContent = el.help;
      el.classList.remove("o-wrong");
    }
    for (const el of all("[aria-invalid]")) el.removeAttribute("aria-invalid");
    const list = [];
    for (const { field, message, way } of problems) {
      const at = field && note(field);
      if (at) {
        at.textContent = message;
        at.classList.add("o-wrong");
        const last = field.split(".").pop(), scope = at.closest("[data-row], .o-field") ?? form;
        (scope.querySelector(`[data-key$="${CSS.escape(last)}"]`) ?? controlOf(at))?.setAttribute("aria-invalid", "true");
      }
      const item = document.createElement(way ? "a" : "button");
      if (way) item.href = way;
      else item.type = "button";
      item.className = "o-problem o-error";
      item.append(Object.assign(document.createElement("i"), { textContent: "!" }));
      const words = document.createElement("span");
      if (field) words.append(Object.assign(document.createElement("b"), { textContent: field }), " ");
      words.append(way ? `${message}. See all runs` : message);
      item.append(words);
      item.onclick = () => { if (at) reveal(at); };
      list.push(item);
    }
    $("[data-problems]").replaceChildren(...list.slice(0, 4));
    $("[data-outlook]").classList.toggle("o-stale", problems.length > 0);
  };
  const reveal = (at) => {
    for (let up = at.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    at.scrollIntoView({ block: "center", behavior: "smooth" });
    (at.closest("[data-row], .o-field")?.querySelector("[aria-invalid]"))?.focus({ preventScroll: true });
  };

  /* ---------------------------------------------------------------------------------------------- asking the server */
  const show = (answer, from) => {
    if (answer.spec && from === "yaml") fill(answer.spec);
    if (answer.yaml && (from !== "yaml" || yaml !== document.activeElement)) { yaml.value = answer.yaml; colour(); }
    if (answer.outlook) $("[data-outlook]").innerHTML = answer.outlook;
    showProblems(answer.problems ?? []);
  };
  const trouble = () => showProblems([{ field: "", message: "The server doesn't answer. Nothing is lost: this page keeps your "
    + "settings and asks again at the next change." }]);
  const draft = () => touched === "yaml" ? { yaml: yaml.value } : { spec: collect() };
  const look = async (from, kept = true) => {
    const mine = ++asked;
    try {
      const answer = await server.look(draft());
      if (mine !== asked) return;
      show(answer, from);
      if (kept) keep();
    } catch { if (mine === asked) trouble(); }
  };
  const later = (from, wait) => { clearTimeout(waiting); asked++; waiting = setTimeout(() => look(from), wait); };
  const keep = () => { try { sessionStorage.setItem(DRAFT, JSON.stringify({ touched, yaml: yaml.value, spec: collect() })); } catch { /* full or forbidden */ } };
  const changed = () => { touched = "form"; shape(); keep(); later("form", 180); };
  const start = async (query) => {
    touched = "form";
    try {
      const answer = await server.begin(query);
      if (answer.spec) fill(answer.spec);
      for (const card of all("[name=o-recipe]")) card.checked = card.value === answer.recipe;
      await look("form", !answer.problems);  /* what stands in for something that isn't there is nobody's draft */
      if (answer.problems) showProblems(answer.problems);
    } catch { trouble(); }
  };
  const launch = async (button) => {
    clearTimeout(waiting);
    const state = $("[data-state]");
    button.disabled = true;
    state.textContent = "Checking the spec and the model…";
    try {
      const answer = await server.launch(draft());
      if (answer.run) {
        try { sessionStorage.removeItem(DRAFT); } catch { /* forbidden */ }
        state.textContent = "Started.";
        location.href = `/run?id=${encodeURIComponent(answer.run)}`;
        return;
      }
      showProblems(answer.problems);
      const first = $("[data-note].o-wrong") ?? $("[data-problems]");
      first.matches("[data-note]") ? reveal(first) : first.scrollIntoView({ block: "nearest" });
    } catch { trouble(); }
    state.textContent = "";
    button.disabled = false;
  };

  /* -------------------------------------------------------------------------------------------------------- events */
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    const target = event.target;
    if (target.name === "o-recipe") return start({ recipe: target.value });
    if (target.dataset.environment) return choose(target);
    if (target.closest("[data-aside]")) return;
    changed();
  });
  const choose = (card) => {
    const use = card.dataset.environment;
    const before = ids();
    if (card.checked) {
      const taken = new Set(before);
      const named = card.dataset.id ?? use, options = JSON.parse(card.dataset.options ?? "{}");
      let id = named;
      for (let n = 2; taken.has(id); n++) id = `${named}-${n}`;
      addRow("environments", { id, use, weight: 1, tasks: { count: 64, first_seed: 0 }, options, max_turns: null, prompt: null, system: null });
      if (!before.length) ownTerms();
      else {
        scope((chosen) => chosen ?? before);
        addTerms(use, id);
      }
    } else {
      for (const row of rowsOf("environments")) if ($("[data-key=use]", row).value.trim() === use) row.remove();
      dropped(before);
    }
    changed();
  };
  /* A term goes on meaning what it meant: in a mix it keeps to the environments it was written for, and goes with them. */
  const scope = (choose) => terms.fill(terms.read().map((term) => ({ ...term, environments: choose(term.environments) })));
  const dropped = (before) => {
    const left = ids();
    const still = (term) => (term.environments ?? before).filter((id) => left.includes(id));
    terms.fill(terms.read().filter((term) => still(term).length || !left.length).map((term) => {
      const where = still(term);
      return { ...term, environments: where.length && where.length < left.length ? where : null };
    }));
  };
  const addTerms = (use, id) => {
    const names = new Set(terms.read().map(({ name }) => name));
    for (const [name, expression] of known.terms[use] ?? []) {
      const free = names.has(name) ? `${id}-${name}` : name;
      terms.add({ name: free, value: expression, weight: 1, environments: id ? [id] : null });
    }
  };
  const ownTerms = () => {
    terms.fill([]);
    const used = uses(), named = ids();
    used.forEach((use, n) => addTerms(use, used.length > 1 ? named[n] : null));
  };
  window.ortamTrial(page, server, draft);
  window.ortamCheck(page, server, { draft, problems: showProblems });

  page.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    switch (button.dataset.do) {
      case "launch": return void launch(button);
      case "remove": {
        const row = button.closest(".o-env-row"), before = ids();
        if (!row) return;
        row.remove();
        dropped(before);
        return changed();
      }
    }
  });
  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const colour = () => {
    paint.innerHTML = `${escaped(yaml.value).replace(/^(\s*(?:- )?\{?)([\w.-]+)(:)(?=\s|$)/gm, "$1<b>$2</b>$3")
      .replace(/(^|\s)(#.*)$/gm, "$1<i>$2</i>")}\n`;
    paint.scrollTop = yaml.scrollTop; paint.scrollLeft = yaml.scrollLeft;
  };
  yaml.addEventListener("input", () => { touched = "yaml"; colour(); keep(); later("yaml", 350); });
  yaml.addEventListener("scroll", () => { paint.scrollTop = yaml.scrollTop; paint.scrollLeft = yaml.scrollLeft; });

  const addSaved = async () => {
    try {
      const found = await server.saved({});
      $("[data-choices]").insertAdjacentHTML("beforeend", found.cards);
      $("#o-environments").innerHTML = found.addresses;
      known.terms = { ...found.terms, ...known.terms };
      shape();
    } catch { /* the catalog's are there */ }
  };
  addSaved();

  const query = Object.fromEntries(new URLSearchParams(location.search));
  let kept = null;
  try { kept = JSON.parse(sessionStorage.getItem(DRAFT)); } catch { /* none, or not ours */ }
  if (kept?.spec && !query.recipe && !query.from && !query.use) {
    fill(kept.spec);
    touched = kept.touched;
    yaml.value = kept.yaml;
    colour();
    look(touched);
  } else start(query);
};

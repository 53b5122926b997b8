/* The editor of reward terms. `ortamTerms(page, server, changed)` keeps its rows, completes what is typed, and offers presets and
   saved sets; it calls `changed()` after anything that changes a term.

     fill(terms) read() add(term)      terms in and out, as plain values
     problems(list)                    what is wrong: [{field: "rewards.0.value", message}]
     environments(list, mixed)         what they are about: [{id, use, options}]; also after `fill` and `add` */
window.ortamTerms = (page, server, changed, { run = "" } = {}) => {
  const box = page.querySelector("[data-terms]"), list = box.querySelector("[data-rows=rewards]");
  const $ = (selector, from = box) => from.querySelector(selector);
  const all = (selector, from = box) => [...from.querySelectorAll(selector)];
  const make = (tag, css, text, more = {}) => Object.assign(document.createElement(tag), { className: css, textContent: text ?? "" }, more);
  const functions = JSON.parse(box.dataset.functions);
  $("details.o-facts").open = matchMedia("(min-width: 601px)").matches;
  let played = [], mixed = false, groups = [], offered = [], asked = "", lastValue = null;

  /* ---------------------------------------------------------------------------------------------------------- rows */
  const rows = () => all(":scope > [data-row]", list);
  const put = (into, path, value) => {
    const keys = path.split("."), last = keys.pop();
    let at = into;
    for (const key of keys) at = at[key] ??= {};
    at[last] = value;
  };
  const get = (from, path) => path.split(".").reduce((value, key) => value?.[key], from);
  const DEFAULTS = { kind: "expression", scope: "end", weight: 1, "judge.timeout": 60 };
  const fillRow = (row, term) => {
    for (const input of all("[data-key]", row)) {
      if (input === document.activeElement && input.dataset.key !== "kind") continue;
      input.value = get(term, input.dataset.key) ?? DEFAULTS[input.dataset.key] ?? "";
    }
    row.held = term;
    shape(row);
  };
  const readRow = (row) => {
    const term = structuredClone(row.held ?? {});
    for (const input of all("[data-key]", row)) {
      const raw = input.value.trim(), { key, kind } = input.dataset;
      if (key.startsWith("judge.") && $("[data-key=kind]", row).value !== "judge") continue;
      const number = kind === "float" && raw !== "" && isFinite(raw);
      put(term, key, number ? Number(raw) : raw === "" && "empty" in input.dataset ? null : raw);
    }
    if (term.kind !== "judge") term.judge = null;
    if (term.kind === "environment" || term.kind === "judge") term.scope = "end";
    const applies = all("[data-applies] input", row);
    if (applies.length) {
      const chosen = applies.filter((each) => each.checked).map((each) => each.value);
      term.environments = chosen.length && chosen.length < applies.length ? chosen : null;
    } else term.environments = row.held?.environments ?? null;
    return term;
  };
  const addRow = (term) => {
    const row = $("template[data-template=rewards]").content.firstElementChild.cloneNode(true);
    list.append(row);
    fillRow(row, term);
    return row;
  };
  const fill = (terms) => {
    const there = rows();
    terms.forEach((term, n) => {
      if (!there[n]) return addRow(term);
      $("[data-applies]", there[n]).replaceChildren();
      fillRow(there[n], term);
    });
    there.slice(terms.length).forEach((row) => row.remove());
  };
  const read = () => rows().map(readRow);

  /* What belongs to a term of its kind. */
  const shape = (row) => {
    const kind = $("[data-key=kind]", row).value, value = $("[data-key=value]", row), own = $("[data-own]", row);
    row.dataset.kind = kind;
    own.hidden = kind !== "environment";
    value.hidden = kind === "environment";
    $("[data-key=scope]", row).hidden = kind === "environment" || kind === "judge";
    value.placeholder = { expression: "1.0 if won else 0.0", python: "rewards.py:my_function", judge: "What a good episode is, from 0 to 1" }[kind] ?? "";
    if (kind === "environment") own.value = value.value === "sum" ? "sum" : "last";
    grow(value);
  };
  const grow = (area) => {
    if (CSS.supports("field-sizing", "content")) return;
    area.style.height = "auto";
    if (area.scrollHeight) area.style.height = `${area.scrollHeight + 2}px`;
  };
  /* In a mix a term says where it applies. */
  const scopes = () => {
    for (const row of rows()) {
      const place = $("[data-applies]", row), before = all("input", place);
      const chosen = before.length ? before.filter((each) => each.checked).map((each) => each.value) : row.held?.environments ?? null;
      place.replaceChildren();
      if (!mixed) continue;
      place.append(make("span", "", "applies to"));
      for (const { id } of played) {
        const label = make("label", "");
        label.append(make("input", "", "", { type: "checkbox", value: id, checked: !chosen || !chosen.length || chosen.includes(id) }), make("span", "", id));
        place.append(label);
      }
    }
  };

  /* --------------------------------------------------------------------------------------------------------- facts */
  const environments = (now, isMix) => {
    played = now;
    mixed = isMix;
    scopes();
    const token = JSON.stringify(now);
    if (token === asked) return;
    asked = token;
    const current = (work) => (answer) => { if (token === asked) work(answer); };
    server.term_facts({ environments: now, run }).then(current(drawFacts), () => {});
    server.term_presets({ environments: now }).then(current(drawPresets), () => {});
  };
  const drawFacts = (told) => {
    groups = told.groups;
    $("[data-facts-when]").textContent = told.seen ? "with what they were in the last episode" : "and what they mean";
    $("[data-facts]").replaceChildren(...groups.map(({ title, facts }) => {
      const part = make("div", "o-factgroup");
      part.append(make("small", "", title));
      for (const { name, meaning, last } of facts) {
        const button = make("button", "o-fact", "", { type: "button", title: meaning });
        button.dataset.fact = name;
        button.append(make("b", "", name), make("i", "", last), make("span", "", meaning));
        part.append(button);
      }
      return part;
    }));
  };

  /* ---------------------------------------------------------------------------------------------------- completion */
  let listed = [], chosen = -1, field = null;
  const close = () => {
    if (!field) return;
    const menu = field.parentElement.querySelector(".o-complete");
    menu.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
    field = null; listed = []; chosen = -1;
  };
  const typing = (area) => {
    const before = area.value.slice(0, area.selectionStart);
    if ((before.match(/"/g) ?? []).length % 2 || (before.match(/'/g) ?? []).length % 2) return null;
    return /(^|[^\w.])([A-Za-z_]\w*)?$/.exec(before)?.[2] ?? "";
  };
  const complete = (area, asking = false) => {
    if (area.closest("[data-row]").dataset.kind !== "expression") return close();
    const word = typing(area);
    if (word === null || (!word && !asking)) return close();
    const low = word.toLowerCase(), seen = new Set(), known = [];
    for (const { title, facts } of groups) for (const fact of facts) if (!seen.has(fact.name)) { seen.add(fact.name); known.push({ ...fact, title }); }
    for (const one of functions) known.push({ ...one, name: `${one.name}(`, last: "function" });
    const score = ({ name }) => { const at = name.toLowerCase().indexOf(low); return at < 0 ? -1 : at ? 1 : 2; };
    listed = known.map((one) => [score(one), one]).filter(([s, { name }]) => s > 0 && name !== word).sort((a, b) => b[0] - a[0]).slice(0, 8).map(([, one]) => one);
    if (!listed.length || (listed.length && known.some(({ name }) => name === word) && !asking && score(listed[0]) < 2)) return close();
    if (field && field !== area) close();
    field = area;
    chosen = 0;
    drawMenu();
  };
  const drawMenu = () => {
    const menu = field.parentElement.querySelector(".o-complete");
    menu.id ||= `o-complete-${Math.random().toString(36).slice(2)}`;
    menu.replaceChildren(...listed.map(({ name, meaning, last }, n) => {
      const item = make("li", "", "", { role: "option", id: `${menu.id}-${n}` });
      item.setAttribute("aria-selected", n === chosen);
      item.append(make("b", "", name.replace("(", "")), make("i", "", last), make("span", "", meaning));
      item.onpointerdown = (event) => { event.preventDefault(); accept(n); };
      return item;
    }));
    menu.hidden = false;
    field.setAttribute("aria-controls", menu.id);
    field.setAttribute("aria-expanded", "true");
    field.setAttribute("aria-activedescendant", `${menu.id}-${chosen}`);
  };
  const accept = (n) => {
    const area = field, word = typing(area) ?? "", at = area.selectionStart, { name } = listed[n];
    close();
    area.setRangeText(name, at - word.length, at, "end");
    grow(area);
    changed();
  };
  list.addEventListener("keydown", (event) => {
    const area = event.target;
    if (!area.matches("[data-key=value]")) return;
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); return complete(area, true); }
    if (field === area) {
      const moves = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in moves) { event.preventDefault(); chosen = (chosen + moves[event.key] + listed.length) % listed.length; return drawMenu(); }
      if (event.key === "Enter" || event.key === "Tab") { event.preventDefault(); return accept(chosen); }
      if (event.key === "Escape") { event.stopPropagation(); return close(); }
    }
    if (event.key === "Enter" && area.closest("[data-row]").dataset.kind !== "judge") event.preventDefault();
  });
  list.addEventListener("focusin", ({ target }) => { if (target.matches("[data-key=value]")) lastValue = target; });
  list.addEventListener("focusout", ({ target }) => { if (target === field) close(); });
  list.addEventListener("input", ({ target }) => {
    const row = target.closest("[data-row]");
    if (target.matches("[data-key=value]")) { grow(target); complete(target); }
    if (target.matches("[data-key=kind]")) {
      const value = $("[data-key=value]", row);
      if (target.value === "environment") value.value = "last";
      else if (row.dataset.kind === "environment") value.value = "";
      shape(row);
      if (target.value !== "environment") value.focus();
    }
    if (target.matches("[data-own]")) $("[data-key=value]", row).value = target.value;
  });

  /* ------------------------------------------------------------------------------------------------- presets and sets */
  const free = (wanted, taken) => {
    let name = wanted;
    for (let n = 2; taken.has(name); n++) name = `${wanted.slice(0, 44)}-${n}`;
    return name;
  };
  const drawPresets = ({ groups: found }) => {
    offered = found;
    const place = $("[data-presets]");
    place.replaceChildren();
    for (const { id, presets } of found) {
      const line = make("div", "");
      line.append(make("small", "", found.length > 1 ? id : "Start from"));
      presets.forEach(({ title, about, terms }, n) => {
        const worth = terms.map(({ name, value }) => `${name}: ${value}`).join("\n");
        const button = make("button", "o-preset", title, { type: "button", title: `${about}\n${worth}` });
        button.dataset.preset = `${found.findIndex((each) => each.id === id)}.${n}`;
        line.append(button);
      });
      place.append(line);
    }
  };
  /* Alone it replaces all terms; in a mix, those that are for its environment only. */
  const usePreset = (place) => {
    const [at, n] = place.split(".").map(Number), { id, presets } = offered[at];
    const kept = offered.length > 1 ? read().filter(({ environments: where }) => !(where?.length === 1 && where[0] === id)) : [];
    const taken = new Set(kept.map(({ name }) => name));
    fill([...kept, ...presets[n].terms.map((term) => ({ ...term, name: free(term.name, taken) }))]);
    scopes();
    changed();
  };
  const say = (words, wrong = false) => {
    const note = $("[data-sets-note]");
    note.textContent = words;
    note.classList.toggle("o-wrong", wrong);
  };
  let kept = [];
  const drawSets = ({ sets, problem }, done = "") => {
    if (problem) return say(problem, true);
    kept = sets;
    say(done || (sets.length ? "" : "None saved yet. A set is kept with its name and can be used in any run."));
    $("[data-sets-list]").replaceChildren(...sets.map(({ name, terms }, n) => {
      const item = make("li", ""), about = make("span", "");
      about.append(make("b", "", name), make("small", "", terms.map((term) => term.name).join(" · ")));
      item.append(about);
      for (const [verb, label] of [["load", "Use"], ["copy", "Copy"], ["download", "Download"], ["delete", "Delete"]]) {
        const button = make("button", "o-textbutton", label, { type: "button", ariaLabel: `${label} ${name}` });
        button.dataset.set = `${verb}.${n}`;
        item.append(button);
      }
      return item;
    }));
  };
  const copy = async (yaml) => {
    try { await navigator.clipboard.writeText(yaml); say("Copied as YAML."); }
    catch { say("This browser didn't allow copying. Download it instead.", true); }
  };
  const download = (name, yaml) => {
    const link = make("a", "", "", { href: URL.createObjectURL(new Blob([yaml], { type: "application/yaml" })), download: `${name.replace(/[^\w-]+/g, "-")}.yaml` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const draft = (more = {}) => ({ environments: played, rewards: read(), ...more });
  const away = () => say("The server doesn't answer. Try again in a moment.", true);
  const sure = (button) => {
    if (button.dataset.sure) return true;
    button.dataset.sure = "yes";
    button.textContent = "Really delete?";
    return false;
  };
  const onSet = async (button) => {
    const [verb, n] = button.dataset.set.split("."), { name, terms, yaml } = kept[n];
    if (verb === "load") {
      const ids = new Set(played.map(({ id }) => id));
      fill(terms.map((term) => ({ ...term, environments: term.environments?.every((id) => ids.has(id)) ? term.environments : null })));
      scopes();
      say(`These are the terms of ${name}.`);
      changed();
    }
    if (verb === "copy") copy(yaml);
    if (verb === "download") download(name, yaml);
    if (verb === "delete" && sure(button)) server.set_delete({ name }).then((answer) => drawSets(answer, `${name} is deleted.`), away);
  };
  const save = (open = false) => {
    const panel = $("[data-sets]");
    if (open || panel.hidden) showSets(true);
    const name = $("[data-sets-name]");
    if (!name.value.trim()) { name.focus(); return say("Give the set a name."); }
    server.set_save(draft({ name: name.value.trim() })).then((answer) => drawSets(answer, `Saved as ${name.value.trim()}.`), away);
  };
  const showSets = (open) => {
    $("[data-sets]").hidden = !open;
    $("[data-do=sets]").setAttribute("aria-expanded", open);
    if (open) server.term_sets({}).then((answer) => drawSets(answer), away);
  };
  $("[data-sets-name]").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); save(); } });

  box.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.fact) {
      const into = lastValue?.isConnected && !lastValue.hidden ? lastValue : $(".o-term:last-child [data-key=value]");
      if (!into) return;
      into.focus();
      into.setRangeText(button.dataset.fact, into.selectionStart, into.selectionEnd, "end");
      grow(into);
      return changed();
    }
    if (button.dataset.preset) return usePreset(button.dataset.preset);
    if (button.dataset.set) return void onSet(button);
    switch (button.dataset.do) {
      case "remove": button.closest("[data-row]").remove(); return changed();
      case "sets": return showSets($("[data-sets]").hidden);
      case "set-save": return save();
      case "set-copy": return void server.terms_yaml(draft()).then(({ yaml, problem }) => problem ? say(problem, true) : copy(yaml), away);
      case "add-term": {
        const row = addRow({ name: free(`term-${rows().length + 1}`, new Set(read().map(({ name }) => name))), value: "", environments: null });
        scopes();
        $("[data-key=value]", row).focus();  /* it is asked about once something stands in it */
      }
    }
  });
  /* Shows each under its row, and gives back those that belong to none. */
  const problems = (found) => {
    for (const note of all("[data-note].o-wrong")) { note.textContent = ""; note.classList.remove("o-wrong"); }
    for (const input of all("[aria-invalid]")) input.removeAttribute("aria-invalid");
    return found.filter(({ field: at, message }) => {
      const [, n, ...rest] = /^rewards\.(\d+)\.?(.*)$/.exec(at) ?? [], row = n && rows()[n];
      if (!row) return true;
      const note = $(`[data-note="${CSS.escape(rest[0])}"]`, row) ?? $("[data-note=value]", row);
      note.textContent = message;
      note.classList.add("o-wrong");
      ($(`[data-key="${CSS.escape(rest[0])}"]`, row) ?? $("[data-key=value]", row)).setAttribute("aria-invalid", "true");
      return false;
    });
  };
  return { fill, read, problems, environments, add: addRow, saveAs: () => { showSets(true); $("[data-sets-name]").focus(); } };
};

/* Re-price: the terms are kept here and in the address; the server is asked once for each change, and a later answer is never
   overtaken by an earlier one. */
window.ortamReprice = (root, server) => {
  const page = root.querySelector(".o-reprice");
  if (!page || page.dataset.ready) return;
  page.dataset.ready = "yes";
  document.title = "Re-price · Ortam";
  const slot = (name) => page.querySelector(`[data-slot=${name}]`);
  const body = page.querySelector(".o-reprice-body"), told = page.querySelector(".o-reprice-told");
  const WAIT = 300;
  let run = "", own = [], environments = [], ticket = 0, timer = 0, curves = null, terms = null;

  const replay = (step) => { location.href = `/episode?${new URLSearchParams({ run, step, phase: "train" })}`; };
  const USUAL = { kind: "expression", scope: "end", weight: 1 };
  const short = (rewards) => JSON.stringify(rewards.map((term) => Object.fromEntries(Object.entries(term).sort()
    .filter(([key, value]) => value !== null && value !== USUAL[key]))));
  const keep = (rewards) => {
    const query = new URLSearchParams({ run });
    if (short(rewards) !== short(own)) query.set("rewards", short(rewards));
    history.replaceState(null, "", `${location.pathname}?${query}`);
    const launch = page.querySelector("[data-launch]");
    if (!launch) return;
    const to = new URLSearchParams({ from: run });
    if (query.has("rewards")) to.set("rewards", query.get("rewards"));
    launch.href = `/launch?${to}`;
  };
  const trouble = (words) => {
    const box = Object.assign(document.createElement("p"), { className: "o-fieldnote o-wrong", textContent: words });
    slot("problem").replaceChildren(...(words ? [box] : []));
  };
  const price = async () => {
    const mine = ++ticket, rewards = terms.read();
    clearTimeout(timer);
    page.setAttribute("aria-busy", "true");
    keep(rewards);
    try {
      const answer = await server.price({ run, environments, rewards });
      if (mine !== ticket) return;
      page.setAttribute("aria-busy", "false");
      const problems = answer.problems ?? [];
      trouble(terms.problems(problems).map(({ message }) => message).join(" "));
      for (const part of [told, slot("summary")]) part.classList.toggle("o-stale", problems.length > 0);
      if (problems.length) return;
      for (const name of ["summary", "table", "moved"]) slot(name).innerHTML = answer[name];
      draw(answer);
    } catch { if (mine === ticket) trouble("The server doesn't answer. Change something to ask again."); }
  };
  const draw = ({ charts, lines }) => {
    curves ??= Object.fromEntries(["learning", "terms"].map((name) => [name, window.ortamCurves(page.querySelector(`[data-section=${name}]`), replay)]));
    for (const [name, section] of Object.entries(curves)) {
      section.show(charts.filter((chart) => chart.section === name));
      section.merge({ lines, from: 0, whole: true });
    }
  };
  const changed = () => { ticket++; clearTimeout(timer); timer = setTimeout(price, WAIT); };

  const begin = async () => {
    const query = Object.fromEntries(new URLSearchParams(location.search));
    let answer;
    try { answer = await server.begin({ run: query.run ?? "", rewards: query.rewards ?? "" }); }
    catch { slot("head").textContent = "The server doesn't answer. Reload this page in a moment."; return; }
    if (answer.gone) { slot("head").innerHTML = answer.gone; page.setAttribute("aria-busy", "false"); return; }
    ({ run, own, environments } = answer);
    document.title = `Re-price ${answer.name} · Ortam`;
    slot("head").innerHTML = answer.head;
    body.classList.remove("o-hidden");
    terms = window.ortamTerms(page, server, changed, { run });
    terms.fill(answer.rewards);
    terms.environments(environments, environments.length > 1);
    price();
  };
  page.addEventListener("input", ({ target }) => { if (target.closest("[data-terms]") && !target.closest("[data-aside]")) changed(); });
  page.addEventListener("click", (event) => {
    switch (event.target.closest("[data-do]")?.dataset.do) {
      case "own": terms.fill(own); terms.environments(environments, environments.length > 1); return void price();
      case "save-as": terms.saveAs();
    }
  });
  begin();
};

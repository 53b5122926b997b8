/* The bar over the curves: environment, smoothing, x axis, log scale. `ortamView(bar, changed)`; `changed(again)` is called with
   true where the server has to be asked for other points. What is chosen stands in the address; what isn't about one run is
   remembered for the next one too. */
window.ortamView = (bar, changed) => {
  const field = (name) => bar.querySelector(`[name=${name}]`);
  const MEMORY = "ortam-curves", USUAL = { x: "step", smooth: 0, log: false, environment: "" };
  const AXES = [...field("x").options].map((option) => option.value);
  const query = new URLSearchParams(location.search);
  const remembered = (() => { try { return JSON.parse(localStorage.getItem(MEMORY) || "{}"); } catch { return {}; } })();
  const asked = {
    x: query.get("x") ?? remembered.x, smooth: Number(query.get("smooth") ?? remembered.smooth), environment: query.get("environment") ?? "",
    log: query.has("log") ? query.get("log") === "1" : remembered.log === true,
  };
  const view = {
    x: AXES.includes(asked.x) ? asked.x : USUAL.x, log: asked.log, environment: asked.environment.slice(0, 60),
    smooth: asked.smooth > 0 ? Math.min(0.99, Math.round(asked.smooth * 100) / 100) : 0,
  };
  let waiting = 0;

  const show = () => {
    field("x").value = view.x;
    field("smooth").value = view.smooth;
    field("smooth").setAttribute("aria-valuetext", view.smooth ? String(view.smooth) : "none");
    bar.querySelector("output").textContent = view.smooth ? view.smooth.toFixed(2) : "none";
    field("log").setAttribute("aria-pressed", String(view.log));
    if ([...field("environment").options].some((option) => option.value === view.environment)) field("environment").value = view.environment;
  };
  const keep = () => {
    const now = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(view)) {
      value === USUAL[name] ? now.delete(name) : now.set(name, value === true ? "1" : value);
    }
    history.replaceState(history.state, "", `${location.pathname}?${now}${location.hash}`);
    try { localStorage.setItem(MEMORY, JSON.stringify({ x: view.x, smooth: view.smooth, log: view.log })); } catch { /* private window */ }
  };
  const choose = (name, value, again = true) => {
    view[name] = value;
    show();
    clearTimeout(waiting);
    waiting = setTimeout(() => { keep(); changed(again); }, name === "smooth" ? 120 : 0);
  };
  field("x").onchange = () => choose("x", field("x").value);
  field("environment").onchange = () => choose("environment", field("environment").value);
  field("smooth").oninput = () => choose("smooth", Number(field("smooth").value));
  field("log").onclick = () => choose("log", !view.log, false);
  show();

  return {
    asked: () => ({ x: view.x, smooth: view.smooth, environment: view.environment }),
    drawn: () => ({ x: view.x, smooth: view.smooth, log: view.log }),
    is: (told) => ["x", "smooth", "environment"].every((name) => told[name] === view[name]),
    /* Which environments there are, and why an axis can't be drawn. */
    know(environments, unknown) {
      const choices = [["", "All together"], ...environments.map((name) => [name, name]), ["*", "A line each"]];
      const options = choices.map(([value, words]) => Object.assign(document.createElement("option"), { value, textContent: words }));
      field("environment").replaceChildren(...options);
      field("environment").closest("label").classList.toggle("o-hidden", environments.length < 2);
      for (const option of field("x").options) {
        const words = option.dataset.words ??= option.textContent, why = unknown[option.value];
        option.disabled = Boolean(why);
        option.textContent = why ? `${words} (not known)` : words;
        option.title = why ?? "";
      }
      const why = Object.values(unknown).join(". ");
      field("x").title = why ? `Not every axis can be drawn: ${why}` : "";
      if (unknown[view.x]) choose("x", USUAL.x);
      if (!choices.some(([value]) => value === view.environment)) choose("environment", "");
      show();
    },
  };
};

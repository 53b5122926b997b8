/* The list of runs: asks what changed, and at once when something is typed. */
window.ortamRuns = (root, server) => {
  const list = root.querySelector("[data-list]"), search = root.querySelector("input[type=search]");
  if (!list || list.dataset.ready) return;
  list.dataset.ready = "yes";
  document.title = "Runs · Ortam";
  const EVERY = 2500;
  let mark = "", typing = 0;
  const asking = window.ortamAsking(root, async () => {
    const answer = await server.look({ search: search.value, mark });
    if (answer.html !== undefined) { list.innerHTML = answer.html; mark = answer.mark; ticked(); }
  }, () => EVERY);
  const remember = () => {
    const address = new URL(location);
    search.value ? address.searchParams.set("q", search.value) : address.searchParams.delete("q");
    history.replaceState(null, "", address);
  };
  /* Chosen runs stay chosen while the list is drawn anew or searched. */
  const chosen = new Set(), compare = root.querySelector("[data-compare]");
  const ticked = () => {
    for (const box of list.querySelectorAll("[data-pick]")) box.checked = chosen.has(box.dataset.pick);
    compare.classList.toggle("o-hidden", chosen.size < 2);
    compare.textContent = `Compare ${chosen.size} runs`;
    compare.href = `/compare?runs=${[...chosen].join(",")}`;
  };
  list.addEventListener("change", ({ target }) => {
    if (!target.dataset.pick) return;
    target.checked ? chosen.add(target.dataset.pick) : chosen.delete(target.dataset.pick);
    ticked();
  });
  search.value = new URLSearchParams(location.search).get("q") ?? "";
  search.addEventListener("input", () => { remember(); clearTimeout(typing); typing = setTimeout(asking.now, 120); });
  window.ortamKeys(root, (key) => key === "/" && (() => search.focus()));
  asking.now();
};

/* Replay's list: filters saved under a name, folds that stay as they were, and the words looked for marked in the episode.

   Words are marked as a highlight over the text, so the page's own elements stay what they are. */

window.ortamFind = (element, server) => {
  const root = element.querySelector(".o-replay");
  const list = root.querySelector(":scope > [data-slot=list]");
  const FOLDS = ["o-more", "o-saved"];
  const open = new Set();

  // ------------------------------------------------------------------------------------------------------ saved filters

  async function change(button, verb, name) {
    const panel = button.closest("[data-saved]");
    button.disabled = true;
    let answer;
    try {
      answer = await server[verb]({ search: location.search, name });
    } catch {
      answer = { problem: "The server doesn't answer; try again." };
    }
    if (answer.html !== undefined) panel.innerHTML = answer.html;
    else panel.querySelector("[data-filter-problem]").textContent = answer.problem;
    button.disabled = false;
    stay();
  }

  const keep = (panel) => change(panel.querySelector("[data-filter=keep]"), "keep_filter",
    panel.querySelector("[data-filter-name]").value);

  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-filter]");
    if (!button) {
      const saved = event.target.closest(".o-saved") ? null : list.querySelector(".o-saved[open]");
      if (saved) saved.open = false;
      return;
    }
    if (button.dataset.filter === "keep") keep(button.closest("[data-saved]"));
    else change(button, "drop_filter", button.dataset.name);
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[data-filter-name]")) keep(event.target.closest("[data-saved]"));
    if (event.key === "Escape" && event.target.closest(".o-saved")) {
      const fold = event.target.closest(".o-saved");
      fold.open = false;
      fold.querySelector("summary").focus();
    }
  });

  root.addEventListener("toggle", (event) => {
    const fold = FOLDS.find((name) => event.target.classList.contains(name));
    if (fold) event.target.open ? open.add(fold) : open.delete(fold);
    if (fold === "o-saved" && event.target.open && event.target.matches(":focus-within")) {
      event.target.querySelector("[data-filter-name]")?.focus({ preventScroll: true });
    }
  }, true);
  function stay() {
    for (const fold of open) { const found = list.querySelector(`.${fold}`); if (found) found.open = true; }
    const view = list.querySelector(".o-views > [aria-current]");
    if (view) view.parentElement.scrollLeft = view.offsetLeft - view.parentElement.offsetLeft - 40;
  }

  // -------------------------------------------------------------------------------------------------------------- marks

  const MOST = 2000;
  const folded = new Map();
  const fold = (sign) => {
    if (!folded.has(sign))
      folded.set(sign, sign === "ı" ? "i" : sign === "ß" ? "ss" :
        sign.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "").normalize("NFC"));
    return folded.get(sign);
  };
  const APART = "[\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff]";
  const unspaced = new RegExp(`^${APART}`, "u");

  function pattern({ words, begins }) {
    const gap = (word) => (unspaced.test(word) ? "[^\\p{L}\\p{N}]*" : "[^\\p{L}\\p{N}]+");
    const body = words.map((word, place) => (place ? gap(word) : "") + word).join("");
    const before = unspaced.test(words[0]) ? "" : "(?<![\\p{L}\\p{N}])";
    const after = begins || unspaced.test(words.at(-1)) ? "" : "(?![\\p{L}\\p{N}])";
    return new RegExp(before + body + after, "gu");
  }

  function* places(text, patterns) {
    let plain = "", where = null;
    if (/^[\0-\x7f]*$/.test(text)) plain = text.toLowerCase();
    else {
      where = [];
      let at = 0;
      for (const sign of text) {
        for (const part of fold(sign)) for (let unit = 0; unit < part.length; unit++) where.push(at);
        plain += fold(sign);
        at += sign.length;
      }
      where.push(at);
    }
    for (const one of patterns)
      for (const hit of plain.matchAll(one))
        yield where ? [where[hit.index], where[hit.index + hit[0].length]] : [hit.index, hit.index + hit[0].length];
  }

  function mark() {
    if (!window.Highlight || !CSS.highlights) return;
    CSS.highlights.delete("o-found");
    const told = list.querySelector("[data-marks]");
    const cards = root.querySelector(".o-cards");
    if (!told || !cards) return;
    const patterns = JSON.parse(told.dataset.marks).map(pattern);
    if (!patterns.length) return;
    const ranges = [];
    const walker = document.createTreeWalker(cards, NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && ranges.length < MOST) {
      const node = walker.currentNode;
      if (!node.parentElement.closest(".o-written, .o-tool")) continue;
      for (const [start, end] of places(node.data, patterns)) {
        const range = new Range();
        range.setStart(node, start);
        range.setEnd(node, end);
        ranges.push(range);
        const hidden = node.parentElement.closest(".o-turn details:not([open])");
        if (hidden) hidden.open = true;
      }
    }
    CSS.highlights.set("o-found", new Highlight(...ranges));
  }

  let asked = 0;
  const soon = () => { cancelAnimationFrame(asked); asked = requestAnimationFrame(mark); };
  new MutationObserver(() => { stay(); soon(); }).observe(list, { childList: true });
  document.addEventListener("ortam:episode", function heard() {
    if (root.isConnected) soon();
    else document.removeEventListener("ortam:episode", heard);
  });
};

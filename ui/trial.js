/* Try these terms: asks until the games are played, and again whenever the terms change while the panel is open. */
window.ortamTrial = (page, server, draft) => {
  const panel = page.querySelector("[data-trial]"), buttons = () => page.querySelectorAll("[data-do=try]");
  const EVERY = 400, SETTLED = 700;
  let ticket = 0, timer = 0;

  const make = (tag, css, text) => Object.assign(document.createElement(tag), { className: css, textContent: text });
  const body = make("div", "o-trial-body", "");
  const again = Object.assign(make("button", "o-textbutton", "Play again"), { type: "button" });
  const shut = Object.assign(make("button", "o-textbutton", "Close"), { type: "button" });
  const bar = make("div", "o-row o-trial-bar", "");
  bar.append(again, shut);
  panel.append(body, bar);

  const going = (yes) => { panel.setAttribute("aria-busy", yes); for (const button of buttons()) button.disabled = yes; again.hidden = yes; };
  const wrong = (words) => body.replaceChildren(make("p", "o-fieldnote o-wrong", words));
  const ask = async (fresh = "") => {
    const mine = ++ticket;
    clearTimeout(timer);
    panel.hidden = false;
    going(true);
    try {
      const answer = await server.try_terms({ draft: draft(), again: fresh });
      if (mine !== ticket) return;
      body.classList.remove("o-stale");
      if (answer.problems) {
        wrong(answer.problems.some(({ field }) => field.startsWith("rewards.")) ? "A term above is wrong; correct it to try them."
          : answer.problems.map(({ field, message }) => field ? `${field}: ${message}` : message).join(" "));
        return going(false);
      }
      body.innerHTML = answer.html;
      if (answer.playing) { timer = setTimeout(() => ask(), EVERY); return; }
      going(false);
    } catch {
      if (mine !== ticket) return;
      wrong("The server doesn't answer. Try again in a moment.");
      going(false);
    }
  };
  again.onclick = () => ask("all");
  shut.onclick = () => { ticket++; clearTimeout(timer); going(false); panel.hidden = true; };
  const changed = () => {
    if (panel.hidden) return;
    ticket++;
    clearTimeout(timer);
    going(false);
    body.classList.add("o-stale");
    if (!draft().rewards?.some(({ kind }) => kind === "judge")) timer = setTimeout(() => ask(), SETTLED);
  };
  page.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.do === "try") ask("failed");
    else if (button?.closest("[data-terms]")) setTimeout(changed);
  });
  page.addEventListener("input", ({ target }) => { if (target.closest("[data-terms]") && !target.closest("[data-aside]")) changed(); });
};

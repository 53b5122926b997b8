/* Check before launch: starts a preflight of the draft on the form, and shows its lines as they arrive. */
window.ortamCheck = (page, server, { draft, problems }) => {
  const card = page.querySelector("[data-check]"), part = (name) => card.querySelector(`[data-check-${name}]`);
  const state = page.querySelector("[data-check-state]");
  const lines = part("lines"), doing = part("doing"), sees = part("sees"), end = part("verdict");
  const EVERY = 350;
  let id = null, have = 0, ticket = 0, timer = 0;

  const going = (yes) => {
    card.classList.toggle("o-going", yes);
    for (const button of page.querySelectorAll("[data-do=check]")) button.disabled = yes;
  };
  const say = (words) => { doing.textContent = words; state.textContent = words; };
  const add = (list, html) => {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    list.append(holder.content);
  };
  const tell = ({ green, amber, red }) =>
    [red && `${red} would fail`, amber && `${amber} to look at`, green && `${green} well`].filter(Boolean).join(" · ");

  const begin = async () => {
    const mine = ++ticket;
    clearTimeout(timer);
    going(true);
    say("Reading the settings…");
    try {
      const answer = await server.check_begin(draft());
      if (mine !== ticket) return;
      if (answer.problems) {
        problems(answer.problems);
        going(false);
        return say("");
      }
      [id, have] = [answer.id, 0];
      lines.replaceChildren();
      sees.replaceChildren();
      end.textContent = "";
      card.hidden = false;
      card.classList.remove("o-changed");
      card.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
      look(mine);
    } catch { lost(mine); }
  };
  const look = async (mine) => {
    try {
      const answer = await server.check_look({ id, have });
      if (mine !== ticket) return;
      if (answer.gone) return over("This check isn't known any more. Start it again.", "red");
      for (const line of answer.lines) add(lines, line);
      have += answer.lines.length;
      if (answer.sees) add(sees, answer.sees);
      if (!answer.ended) {
        say(`${answer.doing[0].toUpperCase()}${answer.doing.slice(1)}…`);
        timer = setTimeout(() => look(mine), EVERY);
        return;
      }
      const { red, amber } = answer.counts;
      over(answer.problem ? `The check came to no end: ${answer.problem}.` : answer.verdict, answer.problem || red ? "red" : amber ? "amber" : "green");
      state.textContent = answer.problem ? "The check came to no end." : `Checked: ${tell(answer.counts)}`;
    } catch { lost(mine); }
  };
  const over = (words, level) => {
    going(false);
    doing.textContent = state.textContent = "";
    end.textContent = words;
    end.className = `o-check-end o-${level}`;
    id = null;
  };
  const lost = (mine) => { if (mine === ticket) over("The server doesn't answer. Nothing is lost: check again when it is back.", "red"); };
  const stop = () => {
    const ended = id;
    ticket++;
    clearTimeout(timer);
    if (ended) server.check_stop({ id: ended }).catch(() => {});
    over("Stopped.", "amber");
  };

  page.addEventListener("click", (event) => {
    switch (event.target.closest("button")?.dataset.do) {
      case "check": return void begin();
      case "check-stop": return stop();
      case "check-close": if (id) stop(); card.hidden = true; state.textContent = "";
    }
  });
  page.addEventListener("input", () => { if (!card.hidden && !card.classList.contains("o-going")) card.classList.add("o-changed"); });
};

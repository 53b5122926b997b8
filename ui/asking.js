/* How a page asks the server, and what it says while no answer comes. */
(() => {
  class Unanswered extends Error {}
  const SOON = 2000, LATE = 10000, LONG = 20000;   // ms
  let failure = "";   // why the last question that was answered has no answer

  /* The page's functions on the server. Those of Gradio give undefined where no answer came; these fail. */
  window.ortamAnswers = (server) => new Proxy(server, {
    get: (functions, name) => typeof functions[name] !== "function" ? functions[name] : async (asked) => {
      const answer = await functions[name](asked);
      failure = answer?.failed ?? "";
      if (answer === undefined || failure) throw new Unanswered(failure || `${String(name)} wasn't answered`);
      return answer;
    },
  });

  /* One sentence in a box, as shell.problem writes it; with `again`, a button tries once more. */
  const problem = window.ortamProblem = (title, remedy = "", again = null) => {
    const box = Object.assign(document.createElement("div"), { className: "o-problem o-error", role: "alert" });
    const make = (tag, words, more) => Object.assign(document.createElement(tag), { textContent: words, ...more });
    box.append(make("i", "!", { ariaHidden: "true" }), make("span", title));
    const next = make("span", remedy, { className: "o-muted" });
    if (again) next.append(" ", make("button", "Try again", { type: "button", className: "o-button o-small", onclick: again }));
    if (next.firstChild) box.append(next);
    return box;
  };

  /* Started anew, perhaps from other code, a server may not know the functions of a page that is still open. */
  const anew = async () => {
    const { root, api_prefix, app_id } = window.gradio_config;
    const now = await fetch(`${root}${api_prefix}/app_id`).then((answer) => answer.json()).catch(() => null);
    return Boolean(now) && now.app_id !== app_id;
  };
  window.ortamUnanswered = (remedy, again) => failure ? problem(failure, "", again) : problem("The server doesn't answer.", remedy,
    again && (async () => await anew() ? location.reload() : again()));

  /* Asks again and again for as long as `root` is in the page: `ask()` once, then after `pause()` ms; rarely while nobody looks
     or nothing answers. One question is under way at a time; `now()` asks at once, or right after that one. */
  window.ortamAsking = (root, ask, pause) => {
    const away = Object.assign(document.createElement("div"), { className: "o-away" });
    let timer = 0, asking = false, again = false, misses = 0;
    root.prepend(away);

    const now = async () => {
      if (!root.isConnected) return;
      if (asking) { again = true; return; }
      clearTimeout(timer);
      asking = true;
      const tell = () => away.replaceChildren(window.ortamUnanswered(
        "This page keeps trying; runs go on meanwhile. If it stays away, start python app.py again."));
      const late = setTimeout(tell, LONG);
      try {
        await ask();
        misses = 0;
        away.replaceChildren();
      } catch (error) {
        if (!(error instanceof Unanswered)) console.error(error);
        misses += 1;
        if (misses > 1 && await anew()) return location.reload();
        if (misses === 2 || failure) tell();
      }
      clearTimeout(late);
      asking = false;
      if (again) { again = false; return now(); }
      const wait = misses ? Math.min(LATE, SOON * misses) : pause();
      timer = setTimeout(now, document.hidden ? Math.max(wait, LATE) : wait);
    };
    document.addEventListener("visibilitychange", () => { if (!document.hidden) now(); });
    return { now, get misses() { return misses; } };
  };
})();

/* What moves a page along its turns: play, step, drag along the line, choose a speed. Replay, Group and Arena use it, and so do
   files that open offline. */

/* The line of turns in `box`, as ui/timeline.py draws it. */
window.ortamLine = (box) => ({
  scrub: box.querySelector(".o-scrub"), dots: [...box.querySelectorAll(".o-scrub:not(.o-many) i")], ahead: box.querySelector(".o-ahead"),
  where: box.querySelector(".o-where"), speed: box.querySelector(".o-speed"),
});

/* Turn -> the drawing in `box` that shows it. */
window.ortamFrames = (box) => {
  const frames = [];
  for (const frame of box.querySelectorAll(".o-frame")) {
    for (let k = +frame.dataset.from; k <= +frame.dataset.to; k++) frames[k] = frame;
  }
  return frames;
};

/* `now()` says where the page is, as {turn, last} and its line, or null while nothing is shown; `turn(k)` goes to one of its
   turns; `marked()` carries data-playing meanwhile. */

window.ortamTransport = (root, { now, turn, marked = () => root }) => {
  let timer = 0, speed = 1;

  const go = (k) => {
    const here = now();
    if (!here) return;
    turn(Math.max(0, Math.min(here.last, k)));
  };

  function play() {
    const from = now();
    if (!from) return;
    if (timer) return stop();
    if (from.turn === from.last) go(0);
    marked().dataset.playing = "";
    const step = () => {
      if (!now()) return;
      go(now().turn + 1);
      timer = now().turn < now().last ? setTimeout(step, 900 / speed) : 0;
      if (!timer) stop();
    };
    timer = setTimeout(step, 500 / speed);
  }

  function stop() {
    clearTimeout(timer);
    timer = 0;
    delete marked()?.dataset.playing;
  }

  const to = (place) => () => { stop(); if (now()) go(place(now())); };
  const acts = { first: to(() => 0), last: to(({ last }) => last), back: to(({ turn }) => turn - 1), on: to(({ turn }) => turn + 1), play };
  const keys = { ArrowLeft: acts.back, ArrowRight: acts.on, Home: acts.first, End: acts.last, " ": acts.play };

  const at = (event, { scrub, last }) => {
    const box = scrub.getBoundingClientRect();
    return Math.floor((event.clientX - box.left) / box.width * (last + 1));
  };
  root.addEventListener("pointerdown", (event) => {
    const here = now();
    if (!here?.scrub?.contains(event.target)) return;
    stop();
    here.scrub.setPointerCapture(event.pointerId);
    go(at(event, here));
  });
  root.addEventListener("pointermove", (event) => {
    const here = now();
    if (here?.scrub?.hasPointerCapture(event.pointerId) && at(event, here) !== here.turn) go(at(event, here));
  });
  root.addEventListener("change", (event) => { if (event.target.matches(".o-speed")) speed = +event.target.value; });

  /* What the line itself shows of turn k. */
  const mark = (k) => {
    const { last, scrub, dots, ahead, where } = now();
    scrub.querySelector(".o-now")?.classList.remove("o-now");
    dots[k]?.classList.add("o-now");
    if (ahead) ahead.style.transform = `translateX(${(k + 0.5) / (last + 1) * 100}%)`;
    where.textContent = `${k} / ${last}`;
    scrub.setAttribute("aria-valuenow", k);
    scrub.setAttribute("aria-valuetext", k ? `Turn ${k} of ${last}` : "Start");
  };

  return { stop, go, mark, acts, keys, drawn: ({ speed: choice }) => { choice.value = String(speed); } };   // `drawn`: the line is new
};

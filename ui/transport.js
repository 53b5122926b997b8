/* What moves a page along its turns: play, step, drag along the line, choose a speed. `now()` says where it is, as
   {turn, last, scrub}, or null while nothing is shown; `turn(k)` goes there; `marked()` carries data-playing meanwhile.
   Replay, Group and Arena use it, and so do files that open offline. */

window.ortamTransport = (root, { now, turn, marked = () => root }) => {
  let timer = 0, speed = 1;

  function play() {
    const from = now();
    if (!from) return;
    if (timer) return stop();
    if (from.turn === from.last) turn(0);
    marked().dataset.playing = "";
    const step = () => {
      if (!now()) return;
      turn(now().turn + 1);
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

  const to = (place) => () => { stop(); turn(place()); };
  const acts = { first: to(() => 0), last: to(() => now().last), back: to(() => now().turn - 1), on: to(() => now().turn + 1), play };
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
    turn(at(event, here));
  });
  root.addEventListener("pointermove", (event) => {
    const here = now();
    if (here?.scrub?.hasPointerCapture(event.pointerId) && at(event, here) !== here.turn) turn(at(event, here));
  });
  root.addEventListener("change", (event) => { if (event.target.matches(".o-speed")) speed = +event.target.value; });

  return { stop, acts, keys, drawn: (choice) => { choice.value = String(speed); } };   // `drawn`: a choice of speeds that is new
};

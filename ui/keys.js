/* Keys that belong to the page, and the dialog that names them. Pages use it, and so do files that open offline. */

/* `does(key)` gives what a key does now, or nothing. A key is its element's own in whatever is typed into, in a list of choices
   and, where it presses something, on that; none is taken with Ctrl, Alt or Meta, or while a dialog is open. */
window.ortamKeys = (root, does) => {
  const TYPED = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio])";
  const help = root.querySelector("dialog.o-keys");

  const elsewhere = ({ key, target, ctrlKey, metaKey, altKey }) => ctrlKey || metaKey || altKey
    || document.querySelector("dialog[open]") || target.closest(TYPED)
    || (key === " " && target.closest("button, summary, a, input")) || (key.startsWith("Arrow") && target.closest("[type=radio]"));
  const of = (key) => key === "?" && help ? () => help.showModal() : does(key);

  document.addEventListener("keydown", function heard(event) {
    if (!root.isConnected) return document.removeEventListener("keydown", heard);
    if (elsewhere(event)) return;
    const act = of(event.key) || of(event.key.toLowerCase());
    if (!act) return;
    event.preventDefault();
    act();
  });
  if (help) root.addEventListener("click", ({ target }) => { if (target.closest("[data-do=help]")) help.showModal(); });
};

/* A press beside a dialog closes it. */
document.addEventListener("click", ({ target, clientX: x, clientY: y }) => {
  if (!target.matches?.("dialog")) return;
  const { left, right, top, bottom } = target.getBoundingClientRect();
  if (x < left || x > right || y < top || y > bottom) target.close();
});

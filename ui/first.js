/* Runs before the page is drawn: light or dark, as chosen here before, else as the system says. Gradio follows the system
   only, so its class is put right whenever it sets it. */
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => { try { return localStorage.getItem("ortam-theme"); } catch { return null; } };
  const dark = () => { const c = chosen(); return c ? c === "dark" : system.matches; };
  const put = () => {
    for (const el of [document.documentElement, document.body]) {
      if (el && el.classList.contains("dark") !== dark()) el.classList.toggle("dark", dark());
    }
  };
  put();
  const watch = new MutationObserver(put);
  document.addEventListener("DOMContentLoaded", () => {
    put();
    watch.observe(document.body, { attributes: true, attributeFilter: ["class"] });
  });
  system.addEventListener("change", put);
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("#o-theme")) return;
    try { localStorage.setItem("ortam-theme", dark() ? "light" : "dark"); } catch { /* private window: for this page only */ }
    put();
    document.dispatchEvent(new CustomEvent("ortam:theme", { detail: { dark: dark() } }));
  });
})();

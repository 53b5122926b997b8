/* Times in words, kept fresh without asking the server: <time data-ago="unix"> and <span data-since="unix">. */
(() => {
  const spell = window.ortamSpell = (s) => {
    s = Math.max(0, Math.floor(s));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60 ? `${s % 60} s` : ""}`.trim();
    if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
    return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
  };
  const ago = (s) => {
    if (s < 45) return "just now";
    if (s < 3600) return `${Math.max(1, Math.round(s / 60))} min ago`;
    if (s < 86400) return `${Math.round(s / 3600)} h ago`;
    const days = Math.round(s / 86400);
    return days === 1 ? "yesterday" : days < 60 ? `${days} days ago` : `${Math.round(days / 30)} months ago`;
  };
  const write = (el, text) => { if (el.textContent !== text) el.textContent = text; };
  const tell = () => {
    const now = Date.now() / 1000;
    for (const el of document.querySelectorAll("[data-ago]")) {
      write(el, ago(now - el.dataset.ago));
      if (!el.title) el.title = new Date(el.dataset.ago * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
    }
    for (const el of document.querySelectorAll("[data-since]")) write(el, spell(now - el.dataset.since));
  };
  document.addEventListener("DOMContentLoaded", () => {
    tell();
    setInterval(tell, 1000);
    let asked = false;
    new MutationObserver(() => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => { asked = false; tell(); });
    }).observe(document.body, { childList: true, subtree: true });
  });
})();

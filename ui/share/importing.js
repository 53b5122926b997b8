/* Import on the Runs page: a file is chosen or dropped, sent, and told what became of it. */
(() => {
  const limit = 200;
  let sending = null;

  function parts() {
    const dialog = document.querySelector("dialog.o-import");
    return dialog && {
      dialog, form: dialog.querySelector("form"), file: dialog.querySelector("input[type=file]"), drop: dialog.querySelector(".o-drop"),
      name: dialog.querySelector(".o-drop b"), go: dialog.querySelector("[type=submit]"), said: dialog.querySelector(".o-import-said"),
      bar: dialog.querySelector("progress"), format: dialog.querySelector("select"), at: dialog.querySelector("[name=at]"),
    };
  }

  function chosen() {
    const { file, name, go, format, at } = parts();
    const one = file.files[0], there = at.value.trim();
    name.textContent = one ? `${one.name.slice(0, limit)}, ${size(one.size)}` : "Choose a file, or drop it here";
    go.disabled = (!one && !there) || sending !== null;
    if (one && /\.parquet$/i.test(one.name) && !/trl|parquet/.test(format.value)) format.value = "trl";
  }

  const size = (n) => n < 1000 ? `${n} B` : n < 1e6 ? `${Math.round(n / 1000)} kB` : `${(n / 1e6).toFixed(1)} MB`;

  function send() {
    const { file, format, said, bar, at } = parts();
    const one = file.files[0], there = at.value.trim();
    if ((!one && !there) || sending) return;
    said.replaceChildren();
    bar.hidden = false;
    bar.removeAttribute("value");
    sending = new XMLHttpRequest();   // unlike fetch it tells how far an upload is
    sending.open("POST", one ? `/share/import?${new URLSearchParams({ format: format.value, name: encodeURIComponent(one.name) })}`
      : `/share/hub/bring?${new URLSearchParams({ at: there })}`);
    sending.setRequestHeader("X-Ortam", "import");
    sending.setRequestHeader("Content-Type", "application/octet-stream");
    sending.upload.onprogress = ({ loaded, total }) => { bar.max = total; bar.value = loaded; };
    sending.upload.onload = () => bar.removeAttribute("value");
    sending.onloadend = () => {
      let answer = {};
      try { answer = JSON.parse(sending.responseText); } catch { /* said below */ }
      sending = null;
      bar.hidden = true;
      if (answer.html) said.innerHTML = answer.html;
      else said.replaceChildren(window.ortamProblem(answer.problem ?? "The server didn't take the file. It may have stopped or be busy; try again."));
      if (answer.html) file.value = at.value = "";
      chosen();
    };
    chosen();
    sending.send(one ?? null);
  }

  document.addEventListener("click", (event) => {
    const dialog = parts()?.dialog;
    if (event.target.closest?.("[data-import]")) dialog.showModal();
    if (event.target.closest?.("[data-close-import]")) dialog.close();
  });
  document.addEventListener("change", (event) => { if (event.target.closest?.(".o-import input[type=file]")) chosen(); });
  document.addEventListener("input", (event) => { if (event.target.closest?.(".o-import [name=at]")) chosen(); });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches(".o-import form")) return;
    event.preventDefault();
    send();
  });
  for (const kind of ["dragenter", "dragover"]) {
    document.addEventListener(kind, (event) => {
      if (!parts() || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      if (!parts().dialog.open) parts().dialog.showModal();
      parts().drop.classList.add("o-over");
    });
  }
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) parts()?.drop.classList.remove("o-over"); });
  document.addEventListener("drop", (event) => {
    if (!parts() || !event.dataTransfer?.files.length) return;
    event.preventDefault();
    parts().drop.classList.remove("o-over");
    parts().file.files = event.dataTransfer.files;
    chosen();
  });
})();

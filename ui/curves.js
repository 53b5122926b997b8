/* Curves: the charts of one section of a page.

     const section = ortamCurves(box, pick)     `pick(step)` is called for a point that was clicked
     section.show(charts)                       which charts there are, as ui/charts.py describes them
     section.merge({ lines, from, whole })      points, by series key: { x: steps, y, low?, high?, at?, smooth?, n? }, all equally
                                                long, None a gap. From step `from` on they replace what is there; `whole`
                                                replaces all. `at` is x on the axis of the view, `smooth` is y smoothed,
                                                `n` how many runs a mean is of (where series.counted).
     section.view({ x, smooth, log })           how all of them are drawn (curves_figure.js); `at` and `smooth` have to come
     section.mark(step or null)                 a line at the step that is being looked at
     section.leave()                            before `box` is thrown away
     section.empty                              nothing to draw yet

   A series is { key, label, colour: a token of the stylesheet, band, dots, width?, dash?, counted?, clean?: smoothed without
   the line as it was measured }. Only charts in sight are drawn,
   and only when their points changed; zoom and hidden lines stay. A page that draws curves has Plotly's script in its EARLY. */
(() => {
  const figure = window.ortamFigure;
  let loading = null;
  const plotly = () => loading ??= window.Plotly ? Promise.resolve() : new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = document.querySelector('[data-early="plotly.min.js"]').href;
    script.onload = done;
    script.onerror = () => { loading = null; failed(); };
    document.head.appendChild(script);
  });
  /* What was changed is on the screen, or the tab isn't. */
  const painted = () => new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 200);
  });

  const make = (tag, css, text) => {
    const el = document.createElement(tag);
    if (css) el.className = css;
    if (text !== undefined) el.textContent = text;
    return el;
  };
  const kept = (name, value) => {
    try {
      if (value === undefined) return JSON.parse(localStorage.getItem(name) || "[]");
      localStorage.setItem(name, JSON.stringify(value));
    } catch { /* private window */ }
    return [];
  };

  class Chart {
    constructor(shown, pick, view) {
      this.pick = pick;
      this.view = view;
      this.lines = new Map();
      this.memory = `ortam-hidden-${shown.id}`;
      this.hidden = new Set(kept(this.memory));
      this.dirty = false;
      this.seen = false;
      this.zoom = {};    // in steps and plain values; Plotly's uirevision forgets it whenever the full range grows
      this.box = make("figure", `o-card o-chart o-hidden${shown.section === "learning" ? " o-chart-large" : ""}`);
      const caption = make("figcaption", "o-chart-head");
      this.title = make("h3", "o-chart-title");
      this.legend = make("div", "o-legend");
      caption.append(this.title, this.legend);
      this.plot = make("div", "o-plot");
      this.box.append(caption, this.plot);
      this.show(shown);
      this.sight = new IntersectionObserver((entries) => {
        this.seen = entries[entries.length - 1].isIntersecting;
        if (this.seen && this.dirty) this.draw();
      }, { rootMargin: "200px" });
      this.sight.observe(this.box);
      this.size = new ResizeObserver(() => { if (this.plot.data && this.plot.clientWidth) window.Plotly.Plots.resize(this.plot); });
      this.size.observe(this.plot);
    }

    show(shown) {
      this.shown = shown;
      this.unit = make("span", "o-chart-unit");
      this.title.replaceChildren(make("span", "", shown.title), this.unit);
      this.title.title = shown.about;
      this.plot.setAttribute("aria-label", `${shown.title}. ${shown.about}`);
      this.plot.setAttribute("role", "img");
      for (const key of this.lines.keys()) if (!shown.series.some((series) => series.key === key)) this.lines.delete(key);
    }

    merge(lines, from, whole) {
      let changed = false;
      for (const series of this.shown.series) {
        const fresh = lines[series.key];
        if (whole) this.lines.delete(series.key);
        if (!fresh) continue;
        changed = true;
        const line = this.lines.get(series.key);
        let keep = line ? line.x.length : 0;
        while (keep && line.x[keep - 1] >= from) keep -= 1;
        const gaps = Array(fresh.x.length).fill(null);
        this.lines.set(series.key, Object.fromEntries(["x", "y", "low", "high", "at", "smooth", "n"].map((name) =>
          [name, (line ? line[name].slice(0, keep) : []).concat(fresh[name] ?? gaps)])));
      }
      if (changed || whole) this.refresh();
    }

    get empty() { return figure.present(this).length === 0; }

    refresh() {
      this.box.classList.toggle("o-hidden", this.empty);
      if (this.empty) return;
      this.label();
      this.dirty = true;
      if (this.seen) this.draw();
    }

    label() {
      const present = figure.present(this), log = this.view.log && figure.notLog(this);
      const ends = present.map(({ key }) => this.lines.get(key).x.slice(-1)[0]);
      this.unit.textContent = [this.shown.unit, log].filter(Boolean).join(" · ");
      this.legend.classList.toggle("o-watch-one", present.length === 1 && this.shown.kind === "lines");
      const at = make("span", "o-legend-at o-num", `step ${Math.max(...ends).toLocaleString("en")}`);
      at.title = "The numbers are those of this step, not smoothed";
      this.legend.replaceChildren(at, ...present.map((series, k) => {
        const line = this.lines.get(series.key);
        const chip = make("button", "o-line-key");
        chip.type = "button";
        chip.style.setProperty("--c", `var(--o-${series.colour})`);
        chip.setAttribute("aria-pressed", String(!this.hidden.has(series.key)));
        chip.title = `${present.length > 1 ? "Show or hide " : ""}${series.label}; the number is that of step ${ends[k]}`;
        chip.disabled = present.length < 2;
        chip.append(make("i"), make("span", "", series.label), make("b", "o-num", figure.spelled(line.y[line.y.length - 1], this.shown.share)));
        chip.onclick = () => {
          this.hidden.has(series.key) ? this.hidden.delete(series.key) : this.hidden.add(series.key);
          kept(this.memory, [...this.hidden]);
          this.refresh();
        };
        return chip;
      }));
    }

    mark(step) {
      if (this.marked === step) return;
      this.marked = step;
      if (this.plot.data && !this.empty) window.Plotly.relayout(this.plot, { shapes: figure.shapes(this) });
    }

    /* Axes, smoothing or scale: the points for it are already here. */
    look(view) {
      this.view = view;
      if (!this.empty) this.refresh();
    }

    zoomed(changed) {
      let found = false;
      for (const name of ["xaxis", "yaxis"]) {
        const from = changed[`${name}.range[0]`] ?? changed[`${name}.range`]?.[0];
        const to = changed[`${name}.range[1]`] ?? changed[`${name}.range`]?.[1];
        if (from === undefined || to === undefined) continue;
        const range = [from, to];
        this.zoom[name] = name === "xaxis" ? figure.toSteps(this, range) : figure.isLog(this) ? range.map((y) => 10 ** y) : range;
        found = true;
      }
      return found;
    }

    async draw() {
      this.dirty = false;
      if (!window.Plotly) {
        this.plot.innerHTML = window.ortamSketch(figure.traces(this), figure.layout(this), this.plot);
        await painted();
      }
      try {
        await plotly();
      } catch {
        this.plot.textContent = "The curves can't be drawn: plotly.min.js did not arrive. Reload the page.";
        return;
      }
      if (this.left || this.empty) return;
      const first = !this.plot.data;
      if (first) this.plot.replaceChildren();
      try {
        await window.Plotly.react(this.plot, figure.traces(this), figure.layout(this), { displayModeBar: false, responsive: false, showTips: false,
          doubleClick: false });
      } catch (error) {   // values near the largest a number can be
        this.plot.textContent = `These numbers can't be drawn (${error.message}).`;
        return;
      }
      if (!first) return;
      this.plot.on("plotly_relayout", (changed) => { if (this.zoomed(changed)) this.draw(); });
      this.plot.on("plotly_doubleclick", () => { this.zoom = {}; this.draw(); });
      this.plot.on("plotly_click", ({ points }) => points.length && this.pick(points[0].customdata?.[0] ?? points[0].x));
    }

    leave() {
      this.left = true;
      this.sight.disconnect();
      this.size.disconnect();
      if (this.plot.data) window.Plotly.purge(this.plot);
      this.box.remove();
    }
  }

  const curves = (box, pick) => {
    const charts = new Map();
    let view = { x: "step", smooth: 0, log: false };
    const redraw = () => {
      for (const chart of charts.values()) {
        chart.dirty = !chart.empty;
        if (chart.seen && chart.dirty) chart.draw();
      }
    };
    document.addEventListener("ortam:theme", redraw);
    return {
      show(list) {
        for (const [id, chart] of charts) if (!list.some((shown) => shown.id === id)) { chart.leave(); charts.delete(id); }
        for (const shown of list) {
          if (charts.has(shown.id)) charts.get(shown.id).show(shown);
          else charts.set(shown.id, new Chart(shown, pick, view));
        }
        const boxes = list.map(({ id }) => charts.get(id).box);
        if (boxes.length !== box.children.length || boxes.some((each, k) => each !== box.children[k])) box.replaceChildren(...boxes);
      },
      merge({ lines, from, whole }) { for (const chart of charts.values()) chart.merge(lines, from, whole); },
      view(asked) { view = { ...view, ...asked }; for (const chart of charts.values()) chart.look(view); },
      mark(step) { for (const chart of charts.values()) chart.mark(step); },
      leave() { document.removeEventListener("ortam:theme", redraw); for (const chart of charts.values()) chart.leave(); charts.clear(); },
      get empty() { return [...charts.values()].every((chart) => chart.empty); },
    };
  };
  window.ortamCurves = curves;
})();

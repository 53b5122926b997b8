/* Curves. `ortamCurves(box, pick)` keeps the charts of one section in `box`; `pick(step)` is called for a clicked point.
   Only charts in sight are drawn, and only when their points changed; zoom and hidden lines stay. */
(() => {
  let loading = null;
  const plotly = () => loading ??= window.Plotly ? Promise.resolve() : new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = document.querySelector("[data-plotly]").dataset.plotly;
    script.onload = done;
    script.onerror = () => { loading = null; failed(); };
    document.head.appendChild(script);
  });

  const BARS = 32;   // up to so many steps, shares are bars
  const make = (tag, css, text) => {
    const el = document.createElement(tag);
    if (css) el.className = css;
    if (text !== undefined) el.textContent = text;
    return el;
  };
  const token = (name) => getComputedStyle(document.body).getPropertyValue(`--o-${name}`).trim() || "#888";
  const clear = (colour, share) => {
    const hex = /^#([0-9a-f]{6})$/i.exec(colour);
    if (!hex) return colour;
    const n = parseInt(hex[1], 16);
    return `rgba(${n >> 16}, ${(n >> 8) & 255}, ${n & 255}, ${share})`;
  };
  const spelled = (value, share) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    const shown = share ? `${+(size * 100).toFixed(size < 0.1 && size > 0 ? 1 : 0)} %`
      : size !== 0 && size < 0.001 ? size.toExponential(1)
      : size >= 10000 ? size.toLocaleString("en", { maximumFractionDigits: 0 }) : String(+size.toPrecision(3));
    return (value < 0 ? "−" : "") + shown;
  };
  const kept = (name, value) => {
    try {
      if (value === undefined) return JSON.parse(localStorage.getItem(name) || "[]");
      localStorage.setItem(name, JSON.stringify(value));
    } catch { /* private window */ }
    return [];
  };

  class Chart {
    constructor(shown, pick) {
      this.pick = pick;
      this.lines = new Map();
      this.memory = `ortam-hidden-${shown.id}`;
      this.hidden = new Set(kept(this.memory));
      this.dirty = false;
      this.seen = false;
      this.zoom = {};    // axis -> range; Plotly's uirevision forgets it whenever the full range grows
      this.box = make("figure", `o-card o-chart o-hidden${shown.section === "learning" ? " o-chart-large" : ""}`);
      const caption = make("figcaption", "o-chart-head");
      this.title = make("h3", "o-chart-title");
      this.legend = make("div", "o-legend");
      caption.append(this.title, this.legend);
      this.plot = make("div", "o-plot");
      this.box.append(caption, this.plot);
      this.shown = null;
      this.show(shown);
      new IntersectionObserver(([entry]) => {
        this.seen = entry.isIntersecting;
        if (this.seen && this.dirty) this.draw();
      }, { rootMargin: "200px" }).observe(this.box);
      new ResizeObserver(() => { if (this.plot.data && this.plot.clientWidth) window.Plotly.Plots.resize(this.plot); }).observe(this.plot);
    }

    show(shown) {
      this.shown = shown;
      this.title.replaceChildren(make("span", "", shown.title), make("span", "o-chart-unit", shown.unit));
      this.title.title = shown.about;
      this.plot.setAttribute("aria-label", `${shown.title}. ${shown.about}`);
      this.plot.setAttribute("role", "img");
    }

    /* Points from step `from` on replace what is there. */
    merge(lines, from, whole) {
      let changed = false;
      for (const series of this.shown.series) {
        const fresh = lines[series.key];
        if (whole) this.lines.delete(series.key);
        if (!fresh) continue;
        changed = true;
        const line = this.lines.get(series.key) ?? { x: [], y: [], low: [], high: [] };
        let keep = line.x.length;
        while (keep && line.x[keep - 1] >= from) keep -= 1;
        const n = fresh.x.length;
        this.lines.set(series.key, {
          x: line.x.slice(0, keep).concat(fresh.x),
          y: line.y.slice(0, keep).concat(fresh.y),
          low: line.low.slice(0, keep).concat(fresh.low ?? Array(n).fill(null)),
          high: line.high.slice(0, keep).concat(fresh.high ?? Array(n).fill(null)),
        });
      }
      if (changed || whole) this.refresh();
    }

    present() {
      return this.shown.series.filter(({ key }) => this.lines.get(key)?.y.some((y) => this.shown.kind === "shares" ? y > 0 : y !== null));
    }

    get empty() { return this.present().length === 0; }

    refresh() {
      this.box.classList.toggle("o-hidden", this.empty);
      if (this.empty) return;
      this.label();
      this.dirty = true;
      if (this.seen) this.draw();
    }

    label() {
      const present = this.present();
      this.legend.classList.toggle("o-watch-one", present.length === 1 && this.shown.kind === "lines");
      this.legend.replaceChildren(...present.map((series) => {
        const line = this.lines.get(series.key);
        const chip = make("button", "o-line-key");
        chip.type = "button";
        chip.style.setProperty("--c", `var(--o-${series.colour})`);
        chip.setAttribute("aria-pressed", String(!this.hidden.has(series.key)));
        chip.title = present.length > 1 ? `Show or hide ${series.label}` : series.label;
        chip.disabled = present.length < 2;
        chip.append(make("i"), make("span", "", series.label), make("b", "o-num", spelled(line.y[line.y.length - 1], this.shown.share)));
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
      if (this.plot.data) window.Plotly.relayout(this.plot, { shapes: this.shapes() });
    }

    shapes() {
      if (this.marked === null || this.marked === undefined) return [];
      return [{ type: "line", x0: this.marked, x1: this.marked, yref: "paper", y0: 0, y1: 1,
        line: { color: token("accent"), width: 1, dash: "dot" } }];
    }

    traces() {
      const { kind, share } = this.shown;
      const present = this.present().filter(({ key }) => !this.hidden.has(key));
      const traces = [];
      const stacked = kind === "shares";
      const steps = stacked ? Math.max(0, ...present.map(({ key }) => this.lines.get(key).x.length)) : 0;
      for (const series of present) {
        const line = this.lines.get(series.key);
        const colour = token(series.colour);
        const said = share ? "%{y:.1~%}" : "%{y:.4~g}";
        const name = series.label.replace(/[<>&]/g, " ");
        if (stacked) {
          traces.push(steps <= BARS
            ? { type: "bar", name, x: line.x, y: line.y, marker: { color: clear(colour, 0.72), line: { width: 0 } }, hovertemplate: said }
            : { type: "scatter", mode: "lines", name, x: line.x, y: line.y, stackgroup: "all", line: { width: 0, color: colour },
                fillcolor: clear(colour, 0.72), hovertemplate: said });
          continue;
        }
        if (series.band) traces.push(this.band(line, colour));
        traces.push({
          type: "scatter", mode: series.dots ? "markers+lines" : "lines", name, x: line.x, y: line.y, connectgaps: false,
          line: { color: colour, width: series.width ?? (series.key === "curve:total" ? 2.4 : 1.8), dash: series.dots ? "dot" : "solid" },
          marker: { color: colour, size: 7 },
          customdata: series.band ? line.x.map((_, k) => [line.low[k], line.high[k]]) : undefined,
          hovertemplate: series.band ? `${said}  <span style="opacity:.7">%{customdata[0]:.3~g} to %{customdata[1]:.3~g}</span>` : said,
        });
        const alone = series.dots ? [] : lonely(line.y);
        if (alone.length) {
          traces.push({ type: "scatter", mode: "markers", x: alone.map((k) => line.x[k]), y: alone.map((k) => line.y[k]),
            marker: { color: colour, size: 6 }, hoverinfo: "skip" });
        }
      }
      return traces;
    }

    /* One polygon for each stretch without a gap. */
    band(line, colour) {
      const x = [], y = [];
      let start = 0;
      for (let k = 0; k <= line.x.length; k += 1) {
        if (k < line.x.length && line.low[k] !== null && line.high[k] !== null) continue;
        if (k - start > 1) {
          if (x.length) { x.push(null); y.push(null); }
          for (let n = start; n < k; n += 1) { x.push(line.x[n]); y.push(line.high[n]); }
          for (let n = k - 1; n >= start; n -= 1) { x.push(line.x[n]); y.push(line.low[n]); }
        }
        start = k + 1;
      }
      return { type: "scatter", mode: "lines", x, y, fill: "toself", fillcolor: clear(colour, 0.13), line: { width: 0, color: colour },
        hoverinfo: "skip", showlegend: false };
    }

    layout() {
      const { share, kind } = this.shown;
      const text = token("muted"), grid = clear(token("line-2"), 0.45);
      const steps = this.present().flatMap(({ key }) => { const x = this.lines.get(key).x; return [x[0], x[x.length - 1]]; });
      const last = Math.max(...steps), first = Math.min(...steps);
      const few = last - first < 8;
      const aside = kind === "shares" || few ? 0.5 : (last - first) / 80;
      const axis = { gridcolor: grid, zerolinecolor: grid, linecolor: grid, tickfont: { color: text, size: 11 }, fixedrange: false,
        automargin: false };
      const drawn = {
        uirevision: "kept", autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
        margin: { l: 44, r: 10, t: 8, b: 26 }, font: { family: token("sans"), size: 12, color: token("text") },
        hovermode: "x unified", hoverdistance: this.reach(first, last), barmode: "stack", bargap: 0.12, shapes: this.shapes(),
        hoverlabel: { bgcolor: token("surface"), bordercolor: token("line-2"), font: { size: 12, color: token("text") }, namelength: 24 },
        dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
        xaxis: { ...axis, showgrid: false, ticks: "", tickformat: "~d", nticks: 8, unifiedhovertitle: { text: "step %{x}" },
          showspikes: true, spikemode: "across", spikethickness: -1, spikedash: "dot", spikecolor: text, spikesnap: "cursor",
          ...(few ? { dtick: 1 } : {}), range: [first - aside, Math.max(last, first + 3) + aside] },
        yaxis: { ...axis, showline: false, zeroline: !share, nticks: 5,
          tickformat: share ? ".2~%" : ".3~g",
          ...this.heights() },
      };
      for (const [name, range] of Object.entries(this.zoom)) Object.assign(drawn[name], { range: [...range], autorange: false, dtick: undefined });
      return drawn;
    }

    heights() {
      const { share, kind } = this.shown;
      if (kind === "shares") return { range: [0, 1] };
      const values = this.present().flatMap(({ key }) => this.lines.get(key).y.filter((y) => y !== null));
      const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
      if (share) return { range: high > 0.4 || high === 0 ? [-0.02, 1.04] : [-0.05 * high - 0.0002, Math.max(1.25 * high, 0.01)] };
      if (low === high && low >= 0) return { range: low ? [0, 2 * low] : [-0.05, 1] };
      return { autorange: true };
    }

    /* Half the room between two points in pixels: a line with a gap at the step under the mouse says nothing there. */
    reach(first, last) {
      const [from, to] = this.zoom.xaxis ?? [first, last];
      const points = Math.max(...this.present().map(({ key }) => this.lines.get(key).x.filter((x) => x >= from && x <= to).length));
      return Math.max(2, Math.ceil((this.plot.clientWidth || 600) / Math.max(1, points - 1) / 2));
    }

    zoomed(changed) {
      let found = false;
      for (const name of ["xaxis", "yaxis"]) {
        const from = changed[`${name}.range[0]`] ?? changed[`${name}.range`]?.[0];
        const to = changed[`${name}.range[1]`] ?? changed[`${name}.range`]?.[1];
        if (from === undefined || to === undefined) continue;
        this.zoom[name] = [from, to];
        found = true;
      }
      return found;
    }

    async draw() {
      this.dirty = false;
      try {
        await plotly();
      } catch {
        this.plot.textContent = "The curves can't be drawn: plotly.min.js did not arrive. Reload the page.";
        return;
      }
      const first = !this.plot.data;
      await window.Plotly.react(this.plot, this.traces(), this.layout(), { displayModeBar: false, responsive: false, showTips: false,
        doubleClick: false });
      if (!first) return;
      this.plot.on("plotly_relayout", (changed) => { if (this.zoomed(changed)) this.draw(); });
      this.plot.on("plotly_doubleclick", () => { this.zoom = {}; this.draw(); });
      this.plot.on("plotly_click", ({ points }) => points.length && this.pick(points[0].x));
    }

    leave() {
      if (this.plot.data) window.Plotly.purge(this.plot);
      this.box.remove();
    }
  }

  /* A point between two gaps is no line, so it gets a dot; markers for all points would be an element each. */
  const lonely = (y) => [...y.keys()].filter((k) => y[k] !== null && (y[k - 1] ?? null) === null && (y[k + 1] ?? null) === null);

  window.ortamCurves = (box, pick) => {
    const charts = new Map();
    document.addEventListener("ortam:theme", () => {
      for (const chart of charts.values()) {
        chart.dirty = !chart.empty;
        if (chart.seen && chart.dirty) chart.draw();
      }
    });
    return {
      show(list) {
        for (const [id, chart] of charts) if (!list.some((shown) => shown.id === id)) { chart.leave(); charts.delete(id); }
        for (const shown of list) {
          if (charts.has(shown.id)) charts.get(shown.id).show(shown);
          else charts.set(shown.id, new Chart(shown, pick));
        }
        box.replaceChildren(...list.map(({ id }) => charts.get(id).box));
      },
      merge({ lines, from, whole }) { for (const chart of charts.values()) chart.merge(lines, from, whole); },
      mark(step) { for (const chart of charts.values()) chart.mark(step); },
      get empty() { return [...charts.values()].every((chart) => chart.empty); },
    };
  };
})();

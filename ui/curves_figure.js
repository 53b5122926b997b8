/* A chart as Plotly takes it: traces and layout, worked out from what a chart of curves.js holds and from nothing else.

   The view is { x: "step" | "episodes" | "tokens" | "time", smooth: 0 to 0.99, log: true or false }. Zooms are kept in steps
   and in plain values, so that they mean the same on every axis. */
(() => {
  const BARS = 32;   // up to so many steps, shares are bars
  const UNITS = [[240, 1, "s"], [4 * 3600, 60, "min"], [4 * 86400, 3600, "h"], [Infinity, 86400, "d"]];   // up to, seconds, name

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

  const stacked = ({ shown }) => shown.kind !== "lines";
  const present = ({ shown, lines }) => shown.series.filter(({ key }) => lines.get(key)?.y.some((y) => shown.kind === "shares" ? y > 0 : y !== null));

  /* ------------------------------------------------------------------------------------------------ the x axis */

  const places = (chart, line) => chart.view.x === "step" ? line.x : line.at;
  const unit = (chart) => {
    if (chart.view.x !== "time") return [Infinity, 1, chart.view.x];
    const longest = present(chart).reduce((most, { key }) => Math.max(most, ...chart.lines.get(key).at.slice(-1)), 0);
    return UNITS.find(([up]) => longest < up);
  };
  const across = (chart, line) => {
    const [, per] = unit(chart);
    return per === 1 ? places(chart, line) : places(chart, line).map((at) => at === null ? null : at / per);
  };

  /* On the straight lines through the points (from[k], to[k]), and on beyond their ends. */
  const between = (from, to, value) => {
    if (from.length < 2) return value - (from[0] ?? 0) + (to[0] ?? 0);
    let low = 0, high = from.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      from[middle] <= value ? low = middle : high = middle;
    }
    const wide = from[high] - from[low];
    return wide ? to[low] + (to[high] - to[low]) * (value - from[low]) / wide : to[low];
  };
  const guide = (chart) => {
    const longest = present(chart).map(({ key }) => chart.lines.get(key)).reduce((a, b) => b.x.length > a.x.length ? b : a);
    const at = across(chart, longest), known = [...at.keys()].filter((k) => at[k] !== null);
    return [known.map((k) => longest.x[k]), known.map((k) => at[k])];
  };
  const toAxis = (chart, steps) => {
    if (chart.view.x === "step") return steps;
    const [from, to] = guide(chart);
    return steps.map((step) => between(from, to, step));
  };
  const toSteps = (chart, values) => {
    if (chart.view.x === "step") return values;
    const [to, from] = guide(chart);
    return values.map((value) => between(from, to, value));
  };

  /* ------------------------------------------------------------------------------------------------ the y axis */

  /* Why a chart can't be drawn on a log scale; "" where it can. */
  const notLog = (chart) => {
    if (chart.shown.share) return "shares stay linear";
    if (stacked(chart)) return "parts of a whole stay on a linear scale";
    const low = present(chart).flatMap(({ key, band }) => {
      const line = chart.lines.get(key);
      return band ? [...line.y, ...line.low] : line.y;
    }).some((y) => y !== null && y <= 0);
    return low ? "linear, since some values are 0 or less" : "";
  };
  const isLog = (chart) => chart.view.log && !notLog(chart);

  const heights = (chart) => {
    const { share, kind } = chart.shown;
    if (kind === "shares") return { range: [0, 1] };
    if (kind === "parts") return { rangemode: "tozero", autorange: true };
    if (isLog(chart)) return { type: "log", autorange: true };
    const values = present(chart).flatMap(({ key }) => chart.lines.get(key).y.filter((y) => y !== null));
    const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    if (share && low >= 0) return { range: high > 0.4 || high === 0 ? [-0.02, 1.04] : [-0.05 * high - 0.0002, Math.max(1.25 * high, 0.01)] };
    if (low === high && low >= 0) return { range: low ? [0, 2 * low] : [-0.05, 1] };
    return { autorange: true };
  };

  /* ---------------------------------------------------------------------------------------------------- traces */

  /* A point between two gaps is no line, so it gets a dot; markers for all points would be an element each. */
  const lonely = (y) => [...y.keys()].filter((k) => y[k] !== null && (y[k - 1] ?? null) === null && (y[k + 1] ?? null) === null);

  /* One polygon for each stretch without a gap. */
  const band = (line, places, colour) => {
    const x = [], y = [];
    let start = 0;
    for (let k = 0; k <= places.length; k += 1) {
      if (k < places.length && line.low[k] !== null && line.high[k] !== null && places[k] !== null) continue;
      if (k - start > 1) {
        if (x.length) { x.push(null); y.push(null); }
        for (let n = start; n < k; n += 1) { x.push(places[n]); y.push(line.high[n]); }
        for (let n = k - 1; n >= start; n -= 1) { x.push(places[n]); y.push(line.low[n]); }
      }
      start = k + 1;
    }
    return { type: "scatter", mode: "lines", x, y, fill: "toself", fillcolor: clear(colour, 0.13), line: { width: 0, color: colour },
      hoverinfo: "skip", showlegend: false };
  };

  const parts = (chart, shown) => {
    const { share, kind } = chart.shown;
    const most = Math.max(0, ...shown.map(({ key }) => chart.lines.get(key).x.length));
    return shown.map((series) => {
      const line = chart.lines.get(series.key), colour = token(series.colour);
      const drawn = { name: series.label.replace(/[<>&]/g, " "), x: across(chart, line), y: line.y, customdata: line.x.map((step) => [step]),
        hovertemplate: share ? "%{y:.1~%}" : "%{y:.4~g}" };
      return most <= BARS && chart.view.x === "step" && kind === "shares"
        ? { ...drawn, type: "bar", marker: { color: clear(colour, 0.72), line: { width: 0 } } }
        : { ...drawn, type: "scatter", mode: "lines", stackgroup: "all", line: { width: 0, color: colour }, fillcolor: clear(colour, 0.72) };
    });
  };

  const traces = (chart) => {
    const shown = present(chart).filter(({ key }) => !chart.hidden.has(key));
    if (stacked(chart)) return parts(chart, shown);
    const made = [];
    for (const series of shown) {
      const line = chart.lines.get(series.key), colour = token(series.colour), x = across(chart, line);
      const smooth = chart.view.smooth > 0 && !series.dots && line.smooth.some((y) => y !== null);
      const values = smooth ? line.smooth : line.y;
      const width = series.width ?? (series.key.startsWith("curve:total") ? 2.4 : 1.8);
      const said = chart.shown.share ? "%{y:.1~%}" : "%{y:.4~g}", raw = chart.shown.share ? ".1~%" : ".4~g";
      const aside = (words) => `  <span style="opacity:.7">${words}</span>`;
      if (series.band) made.push(band(line, x, colour));
      if (smooth && !series.clean) {
        made.push({ type: "scatter", mode: "lines", x, y: line.y, connectgaps: false, line: { color: clear(colour, 0.34), width: 1 }, hoverinfo: "skip" });
      }
      made.push({
        type: "scatter", mode: series.dots ? "markers+lines" : "lines", name: series.label.replace(/[<>&]/g, " "), x, y: values, connectgaps: false,
        line: { color: colour, width, dash: series.dash ?? (series.dots ? "dot" : "solid") }, marker: { color: colour, size: 7 },
        customdata: line.x.map((step, k) => [step, line.low[k], line.high[k], line.y[k], line.n[k]]),
        hovertemplate: said + (smooth ? aside(`smoothed; this step %{customdata[3]:${raw}}`)
          : series.band ? aside("%{customdata[1]:.3~g} to %{customdata[2]:.3~g}") : "")
          + (series.counted ? aside("n = %{customdata[4]}") : ""),
      });
      const alone = series.dots ? [] : lonely(values);
      if (alone.length) {
        made.push({ type: "scatter", mode: "markers", x: alone.map((k) => x[k]), y: alone.map((k) => values[k]),
          marker: { color: colour, size: 6 }, hoverinfo: "skip" });
      }
    }
    return made;
  };

  /* ---------------------------------------------------------------------------------------------------- layout */

  const shapes = (chart) => {
    if (chart.marked === null || chart.marked === undefined) return [];
    const [x] = toAxis(chart, [chart.marked]);
    return [{ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: token("accent"), width: 1, dash: "dot" } }];
  };

  /* Half the room between two points in pixels: a line with a gap at the step under the mouse says nothing there. */
  const reach = (chart, xs, from, to) => {
    const points = Math.max(...xs.map((x) => x.filter((at) => at !== null && at >= from && at <= to).length));
    return Math.max(2, Math.ceil((chart.plot.clientWidth || 600) / Math.max(1, points - 1) / 2));
  };

  /* An axis that moved with every step would lay out all its labels anew. */
  const roomy = (last, wide, least) => {
    const piece = Math.max(least, wide > 0 ? 2 ** Math.ceil(Math.log2(wide / 64)) : 0);
    return piece ? Math.ceil(last / piece) * piece : last;
  };

  const layout = (chart) => {
    const { share, kind } = chart.shown, steps = chart.view.x === "step", [, , name] = unit(chart);
    const text = token("muted"), grid = clear(token("line-2"), 0.45);
    const xs = present(chart).map(({ key }) => across(chart, chart.lines.get(key)).filter((at) => at !== null));
    const ends = xs.flatMap((x) => x.length ? [x[0], x[x.length - 1]] : []);
    const last = ends.length ? Math.max(...ends) : 1, first = ends.length ? Math.min(...ends) : 0;
    const few = steps && last - first < 8;
    const large = present(chart).some(({ key }) => chart.lines.get(key).y.slice(-1)[0] >= 10000);
    const end = roomy(steps ? Math.max(last, first + 3) : last, last - first, steps ? 1 : 0);
    const aside = steps && (kind === "shares" || few) ? 0.5 : (last - first) / 80;
    const axis = { gridcolor: grid, zerolinecolor: grid, linecolor: grid, tickfont: { color: text, size: 11 }, fixedrange: false, automargin: false,
      ticklabeloverflow: "allow" };   // else each label is measured, and Plotly keeps every measure
    const said = { step: "step %{x}", episodes: "%{x:,.0f} episodes", tokens: "%{x:,.0f} tokens", time: `%{x:.3~g} ${name}` }[chart.view.x];
    const x = { ...axis, showgrid: false, ticks: "", tickformat: steps ? "~d" : chart.view.x === "time" ? "~g" : "~s", nticks: 8,
      ticksuffix: chart.view.x === "time" ? ` ${name}` : "", unifiedhovertitle: { text: said }, showspikes: true, spikemode: "across",
      spikethickness: -1, spikedash: "dot", spikecolor: text, spikesnap: "cursor", ...(few ? { dtick: 1 } : {}),
      range: [first - aside, end + aside] };
    const y = { ...axis, showline: false, zeroline: !share, nticks: isLog(chart) ? 3 : 5, tickformat: share ? ".2~%" : large ? ".3~s" : ".3~g", ...heights(chart) };
    if (chart.zoom.xaxis) Object.assign(x, { range: toAxis(chart, chart.zoom.xaxis), autorange: false, dtick: undefined });
    if (chart.zoom.yaxis && !(isLog(chart) && chart.zoom.yaxis[0] <= 0)) {
      Object.assign(y, { range: isLog(chart) ? chart.zoom.yaxis.map(Math.log10) : [...chart.zoom.yaxis], autorange: false });
    }
    return {
      uirevision: "kept", autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
      margin: { l: 44, r: 10, t: 8, b: 26 }, font: { family: token("sans"), size: 12, color: token("text") },
      hovermode: "x unified", hoverdistance: reach(chart, xs, ...x.range), barmode: "stack", bargap: 0.12, shapes: shapes(chart),
      hoverlabel: { bgcolor: token("surface"), bordercolor: token("line-2"), font: { size: 12, color: token("text") }, namelength: 24 },
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", xaxis: x, yaxis: y,
    };
  };

  window.ortamFigure = { traces, layout, shapes, present, spelled, notLog, isLog, toSteps };
})();

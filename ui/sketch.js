/* The lines of a chart as plain SVG, for the second that Plotly's script takes to start: ortamSketch(traces, layout, box).
   The same points on nearly the same axes, without labels. Stacked parts are left to Plotly: "" then. */
window.ortamSketch = (traces, { xaxis, yaxis, margin }, box) => {
  const wide = box.clientWidth - margin.l - margin.r, high = box.clientHeight - margin.t - margin.b;
  const lines = traces.filter(({ type, stackgroup, mode }) => type === "scatter" && !stackgroup && mode.includes("lines"));
  if (wide <= 0 || high <= 0 || lines.length === 0) return "";
  const level = yaxis.type === "log" ? Math.log10 : (y) => y;
  const values = lines.flatMap(({ y }) => y.filter((value) => value !== null)).map(level);
  const low = values.reduce((a, b) => Math.min(a, b), Infinity), top = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const aside = (top - low || 1) / 18;
  const [from, to] = yaxis.range ?? [low - aside, top + aside], [first, last] = xaxis.range;
  if (!(last > first && to > from && Number.isFinite(to - from))) return "";
  const place = (x, y) => `${(wide * (x - first) / (last - first)).toFixed(1)} ${(high * (to - level(y)) / (to - from)).toFixed(1)}`;
  const paths = lines.map(({ x, y, fill, fillcolor, line }) => {
    let pen = "M";
    const d = y.map((value, k) => {
      if (value === null || x[k] === null) { pen = "M"; return ""; }
      const drawn = pen + place(x[k], value);
      pen = "L";
      return drawn;
    }).join("");
    return `<path d="${d}" fill="${fill ? fillcolor : "none"}" stroke="${line.width ? line.color : "none"}" stroke-width="${line.width}"/>`;
  });
  return `<svg class="o-sketch" aria-hidden="true" width="100%" height="100%"><svg x="${margin.l}" y="${margin.t}" width="${wide}" height="${high}">${paths.join("")}</svg></svg>`;
};

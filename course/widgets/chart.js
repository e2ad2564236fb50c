// Plots that several widgets share: axes, lines, bars. Each call may be repeated; it updates in place.

/** A scale from data to pixels; `log` is a logarithmic one. */
function scale([lo, hi], [from, to], log = false) {
  const u = log ? Math.log : (x) => x;
  return (x) => from + ((u(x) - u(lo)) / (u(hi) - u(lo))) * (to - from);
}

/**
 * Axes with ticks and a title: box {x, y, w, h}; X and Y {range, ticks, log, text, label}.
 * Returns {g, sx, sy}: a group to draw in and the two scales.
 */
function plot(svg, name, { x, y, w, h: height, X, Y, title }) {
  const g = layer(svg, name), axes = layer(g, "axes"), labels = layer(g, "labels");
  const sx = scale(X.range, [x, x + w], X.log), sy = scale(Y.range, [y + height, y], Y.log);
  const lines = [
    ...Y.ticks.map((v) => ({ x1: x, x2: x + w, y1: sy(v), y2: sy(v), class: v === Y.range[0] ? "cw-axis" : "cw-grid" })),
    ...X.ticks.map((v) => ({ x1: sx(v), x2: sx(v), y1: y + height, y2: y + height + 4, class: "cw-axis" })),
  ];
  join(axes, "line", lines, (line) => line);
  const words = [
    ...Y.ticks.map((v) => ({ x: x - 6, y: sy(v) + 4, "text-anchor": "end", class: "cw-small", text: Y.text?.(v) ?? String(v) })),
    ...X.ticks.map((v) => ({ x: sx(v), y: y + height + 17, "text-anchor": "middle", class: "cw-small", text: X.text?.(v) ?? String(v) })),
  ];
  if (title) words.push({ x, y: y - 9, "text-anchor": "start", class: "cw-label", text: title });
  if (X.label) words.push({ x: x + w, y: y + height + 32, "text-anchor": "end", class: "cw-small", text: X.label });
  join(labels, "text", words, (word) => word);
  return { g, sx, sy, box: { x, y, w, h: height } };
}

/** A line through [x, y] points in data units; the class says which line it is. */
function curve(p, name, points, kind) {
  const d = points.map(([a, b], i) => `${i ? "L" : "M"}${p.sx(a).toFixed(1)} ${p.sy(b).toFixed(1)}`).join("");
  join(layer(p.g, name), "path", [d], () => ({ d, class: `cw-line ${kind}` }));
}

/** Bars from the baseline for one value an item. */
function bars(p, name, values, kind, gap = 0.25) {
  const { x, y, w, h: height } = p.box, step = w / values.length;
  join(layer(p.g, name), "rect", values, (v, i) => {
    const top = Math.max(y, Math.min(p.sy(v), y + height));
    return { x: (x + step * (i + gap / 2)).toFixed(2), width: (step * (1 - gap)).toFixed(2), y: top.toFixed(2), height: (y + height - top).toFixed(2), class: kind };
  });
}

/** The cross that marks what is wrong or collapsed (colour alone never does). */
const cross = (cx, cy, r = 5) => `M${cx - r} ${cy - r}L${cx + r} ${cy + r}M${cx - r} ${cy + r}L${cx + r} ${cy - r}`;

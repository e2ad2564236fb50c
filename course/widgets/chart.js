// Plots that several widgets share: axes, lines, bars. Each call may be repeated; it updates in place,
// and what has not changed since last time is left alone.

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
  const key = [x, y, w, height, X.range, X.ticks, X.label, Y.range, Y.ticks, title].join();
  if (!stale(g, "axes", key)) return g._plot;
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
  return (g._plot = { g, sx, sy, key, box: { x, y, w, h: height } });
}

/** The path through [x, y] points in data units. */
function through(p, points) {
  let d = "";
  for (const [a, b] of points) d += `${d ? "L" : "M"}${p.sx(a).toFixed(1)} ${p.sy(b).toFixed(1)}`;
  return d;
}

/**
 * A line through [x, y] points in data units; the class says which line it is. `points` may be a
 * function and `key` say what it depends on: then it is asked only when the key or the axes change.
 */
function curve(p, name, points, kind, key) {
  const line = layer(p.g, name), path = (line._path ??= line.appendChild(h("path")));
  if (key === undefined) attributes(path, { d: through(p, points) });
  else if (stale(line, "points", `${key} ${p.key}`)) attributes(path, { d: through(p, points()) });
  attributes(path, { class: `cw-line ${kind}` });
}

/** Bars from the baseline for one value an item. */
function bars(p, name, values, kind, gap = 0.25) {
  const { x, y, w, h: height } = p.box, step = w / values.length;
  const list = Array.from(values, (v, i) => {
    const top = Math.max(y, Math.min(p.sy(v), y + height));
    return [x + step * (i + gap / 2), top, step * (1 - gap), y + height - top];
  });
  join(layer(p.g, name), "path", [0], () => ({ d: boxes(list), class: kind }));
}

/** The cross that marks what is wrong or collapsed (colour alone never does). */
const cross = (cx, cy, r = 5) => `M${cx - r} ${cy - r}L${cx + r} ${cy + r}M${cx - r} ${cy + r}L${cx + r} ${cy - r}`;

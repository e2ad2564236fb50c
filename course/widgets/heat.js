// A map of weights: one hue from paper to attention's blue, masked cells hatched, rows are queries.

/**
 * The cells of a map, one pixel a cell, stretched by the browser without smoothing: a thousand cells
 * are one picture to style, lay out and paint. `amounts` holds a number from 0 to 1 for each cell.
 * Placed in parts of the width W that is drawn for, it stays under its cells where the picture is
 * shown in another, as on paper.
 */
function pixels(svg, name, { x, y, w, h: height, rows, cols, W }, amounts) {
  const maps = (svg._maps ??= {}), canvas = (maps[name] ??= h("canvas", { class: "cw-map", "aria-hidden": "true" }));
  if (!canvas.parentNode) svg.before(canvas);
  const empty = amounts.every((v) => v === 0);
  attributes(canvas, { hidden: empty }); // a map of numbers only
  if (empty) return;
  const part = (v) => `${((100 * v) / W).toFixed(3)}%`; // a margin's percentage, too, is one of the width
  attributes(canvas, { width: cols, height: rows, style: `left:${part(x)};margin-top:${part(y)};width:${part(cols * w)};aspect-ratio:${cols * w}/${rows * height}` });
  // Read back never, drawn by the processor always: a map is too small to be worth a trip to the GPU.
  const c = (canvas._context ??= canvas.getContext("2d", { willReadFrequently: true }));
  const image = c.createImageData(cols, rows);
  for (let i = 0; i < amounts.length; i++) image.data[4 * i + 3] = Math.round(255 * Math.max(0, Math.min(1, amounts[i])));
  c.putImageData(image, 0, 0);
  c.globalCompositeOperation = "source-in";
  c.fillStyle = svg._f.colour("attention");
  c.fillRect(0, 0, cols, rows);
}

/**
 * Draw a matrix at (x, y) with cells of `size` px (or [width, height]) in a picture W wide; may be repeated.
 * value(i, j): a number, or null where masked. Options: weight(i, j) → 0 … 1 for the colour (the
 * value itself by default; null leaves the cell bare), text(v) to write numbers, rowLabels,
 * colLabels (and their classes), title, mark: {row, col} to frame; key: the cells are drawn anew
 * only when it changes (or the page's theme).
 */
function heat(svg, name, { W, x, y, size, rows, cols, value, weight, text, rowLabels, colLabels, rowKind = "query", colKind = "key", title, mark = {}, hatch, slant, key }) {
  const g = layer(svg, name), [w, h0] = Array.isArray(size) ? size : [size, size];
  const words = [], draws = key === undefined || stale(g, "cells", `${key} ${W} ${svg._f.theme()}`);
  if (draws || text) {
    const amounts = new Float32Array(rows * cols), hatched = [];
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < cols; j++) {
        const v = value(i, j), cx = x + j * w, cy = y + i * h0;
        if (v === null) {
          // Neighbours that are masked are one rectangle.
          const last = hatched.at(-1);
          if (last && last[1] === cy && last[0] + last[2] === cx) last[2] += w;
          else hatched.push([cx, cy, w, h0]);
          continue;
        }
        const amount = weight ? weight(i, j) : v;
        amounts[i * cols + j] = amount ?? 0;
        if (text) words.push({ x: cx + w / 2, y: cy + h0 / 2 + 4, "text-anchor": "middle", class: `cw-number${amount > 0.5 ? " cw-on" : ""}`, text: text(v) });
      }
    }
    if (draws) {
      pixels(svg, name, { x, y, w, h: h0, rows, cols, W }, amounts);
      join(layer(g, "hatched"), "path", [0], () => ({ d: boxes(hatched), fill: hatch }));
    }
  }
  const same = (a) => a;
  join(layer(g, "box"), "rect", [{ x, y, width: cols * w, height: rows * h0, class: "cw-box" }], same);
  const marks = [];
  if (mark.row !== undefined) marks.push({ x: x - 1, y: y + mark.row * h0 - 1, width: cols * w + 2, height: h0 + 2, class: "cw-mark" });
  if (mark.col !== undefined) marks.push({ x: x + mark.col * w - 1, y: y - 1, width: w + 2, height: rows * h0 + 2, class: "cw-mark" });
  join(layer(g, "marks"), "rect", marks, same);
  for (const [i, label] of (rowLabels ?? []).entries()) {
    if (label) words.push({ x: x - 6, y: y + i * h0 + h0 / 2 + 4, "text-anchor": "end", class: `cw-small ${rowKind}`, text: label });
  }
  for (const [j, label] of (colLabels ?? []).entries()) {
    if (!label) continue;
    const cx = x + j * w + w / 2;
    words.push(slant
      ? { x: cx + 3, y: y - 5, "text-anchor": "start", transform: `rotate(-55 ${cx + 3} ${y - 5})`, class: `cw-small ${colKind}`, text: label }
      : { x: cx, y: y - 6, "text-anchor": "middle", class: `cw-small ${colKind}`, text: label });
  }
  if (title) words.push({ x, y: y - (colLabels && !slant ? 24 : 10), class: "cw-label", "text-anchor": "start", text: title });
  join(layer(g, "words"), "text", words, (word) => ({ transform: null, ...word }));
  return { width: cols * w, height: rows * h0 };
}

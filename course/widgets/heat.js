// A map of weights: one hue from paper to attention's blue, masked cells hatched, rows are queries.

/**
 * Draw a matrix at (x, y) with cells of `size` px (or [width, height]); may be repeated.
 * value(i, j): a number, or null where masked. Options: weight(i, j) → 0 … 1 for the colour (the
 * value itself by default; null leaves the cell bare), text(v) to write numbers, rowLabels,
 * colLabels (and their classes), title, mark: {row, col} to frame; key: the cells are drawn anew
 * only when it changes (not with text).
 */
function heat(svg, name, { x, y, size, rows, cols, value, weight, text, rowLabels, colLabels, rowKind = "query", colKind = "key", title, mark = {}, hatch, slant, key }) {
  const g = layer(svg, name), [w, h0] = Array.isArray(size) ? size : [size, size];
  const cells = [], hatched = [], words = [];
  const drawn = key !== undefined && g._key === key; // the same cells as last time: leave them
  g._key = key;
  for (let i = 0; i < rows && !drawn; i++) {
    for (let j = 0; j < cols; j++) {
      const v = value(i, j), at = { x: x + j * w, y: y + i * h0 };
      if (v === null) {
        const last = hatched.at(-1);
        if (last && last.y === at.y && last.x + last.width === at.x) last.width += w;
        else hatched.push({ ...at, width: w, height: h0, fill: hatch });
        continue;
      }
      const amount = weight ? weight(i, j) : v;
      if (amount !== null) {
        // Neighbours of one colour are one rectangle: rows of an average have one colour each.
        const shade = Math.max(0, Math.min(1, amount)).toFixed(4), last = cells.at(-1);
        if (last && last.y === at.y && last.x + last.width === at.x && last["fill-opacity"] === shade) last.width += w;
        else cells.push({ ...at, width: w, height: h0, class: "cw-cell", "fill-opacity": shade });
      }
      if (text) words.push({ x: at.x + w / 2, y: at.y + h0 / 2 + 4, "text-anchor": "middle", class: `cw-number${amount > 0.5 ? " cw-on" : ""}`, text: text(v) });
    }
  }
  const same = (a) => a;
  for (const [part, list] of drawn ? [] : [["cells", cells], ["hatched", hatched]]) join(layer(g, part), "rect", list, same);
  join(layer(g, "box"), "rect", [{ x, y, width: cols * w, height: rows * h0, class: "cw-box" }], same);
  const marks = [];
  if (mark.row !== undefined) marks.push({ x: x - 1, y: y + mark.row * h0 - 1, width: cols * w + 2, height: h0 + 2, class: "cw-mark" });
  if (mark.col !== undefined) marks.push({ x: x + mark.col * w - 1, y: y - 1, width: w + 2, height: rows * h0 + 2, class: "cw-mark" });
  join(layer(g, "marks"), "rect", marks, same);
  for (const [i, label] of (rowLabels ?? []).entries()) {
    words.push({ x: x - 6, y: y + i * h0 + h0 / 2 + 4, "text-anchor": "end", class: `cw-small ${rowKind}`, text: label });
  }
  for (const [j, label] of (colLabels ?? []).entries()) {
    const cx = x + j * w + w / 2;
    words.push(slant
      ? { x: cx + 3, y: y - 5, "text-anchor": "start", transform: `rotate(-55 ${cx + 3} ${y - 5})`, class: `cw-small ${colKind}`, text: label }
      : { x: cx, y: y - 6, "text-anchor": "middle", class: `cw-small ${colKind}`, text: label });
  }
  if (title) words.push({ x, y: y - (colLabels && !slant ? 24 : 10), class: "cw-label", "text-anchor": "start", text: title });
  join(layer(g, "words"), "text", words, (word) => ({ transform: null, ...word }));
  return { width: cols * w, height: rows * h0 };
}

// AttentionMap: pick a layer, a head, a query; the row is also shown as text, marked by weight.

let read = null; // the weights last unpacked, and what from
function mapOf(get) {
  const packed = get("weights");
  if (read?.packed !== packed) read = { packed, all: unpack(packed) };
  const [, H, T, S] = read.all.shape, layerAt = (get("layer") - 1) * H * T * S, head = get("head");
  const at = (i, j) => {
    if (head) return read.all[layerAt + ((head - 1) * T + i) * S + j];
    let sum = 0;
    for (let k = 0; k < H; k++) sum += read.all[layerAt + (k * T + i) * S + j];
    return sum / H;
  };
  return { at, H, T, S, L: read.all.shape[0] };
}

export default course({
  traits: ["query"],

  numbers(get) {
    const { at, S } = mapOf(get), i = get("query") - 1, row = Array.from({ length: S }, (_, j) => at(i, j));
    const order = row.map((_, j) => j).sort((a, b) => row[b] - row[a] || a - b);
    const most = order.slice(0, 2).map((j) => ({ token: get("key_tokens")[j], weight: row[j] }));
    return { layer: get("layer"), head: get("head"), token: get("tokens")[i], row, first: most[0], second: most.at(-1), effective: Math.exp(entropy(row)) };
  },

  controls(get, t) {
    const { H, L, T } = mapOf(get), list = [];
    if (L > 1) list.push({ kind: "choice", trait: "layer", label: t("layer"), options: Array.from({ length: L }, (_, i) => [i + 1, String(i + 1)]) });
    if (H > 1) list.push({ kind: "choice", trait: "head", label: t("head"), options: [...Array.from({ length: H }, (_, i) => [i + 1, String(i + 1)]), [0, t("mean")]] });
    list.push({ kind: "range", trait: "query", label: t("query"), min: 1, max: T, text: (v) => t("query_text", { at: v, token: get("tokens")[v - 1] }), end: String });
    return list;
  },

  picture(f) {
    const svg = f.svg(), { t } = f, line = h("p", { class: "cw-marked", "aria-hidden": "true" });
    f.picture.append(line);
    // A click or a tap on the map chooses its row; the slider does the same for the keyboard.
    let box = null;
    svg.onclick = (e) => {
      const i = Math.floor((e.clientY - svg.getBoundingClientRect().top - box.y) / box.size);
      if (i >= 0 && i < box.T) f.set("query", i + 1);
    };
    return (n, W) => {
      const { at, H, T, S } = mapOf(f.get), keys = f.get("key_tokens"), queries = f.get("tokens"), causal = f.get("causal");
      const longest = Math.max(...keys.map((k) => [...k].length)), labels = Math.min(88, 14 + 7 * Math.max(...queries.map((q) => [...q].length)));
      const size = Math.max(5, Math.min(46, Math.floor((Math.min(W, 560) - labels - 24) / S))), all = size >= 12;
      const slant = all && longest * 7.5 > size;
      const top = slant ? Math.min(76, 16 + 5.6 * longest) : 22, y = Math.round(top);
      box = { y, size, T };
      const mine = (list, chosen) => list.map((text, i) => (all || i === chosen ? text : ""));
      const best = n.row.indexOf(Math.max(...n.row));
      heat(svg, "map", {
        W,
        x: labels, y, size, rows: T, cols: S, hatch: f.hatch, value: (i, j) => (causal && j > i ? null : at(i, j)),
        rowLabels: mine(queries, f.get("query") - 1), colLabels: mine(keys, best), slant, mark: { row: f.get("query") - 1 },
        key: `${f.get("layer")} ${f.get("head")} ${labels} ${y} ${size}`,
      });
      let height = y + T * size + 6;
      const d = f.get("d_model"), head = f.get("head"), g = layer(svg, "width");
      if (d && H > 1) {
        const w = Math.min(W - 2, 420);
        join(layer(g, "parts"), "rect", Array.from({ length: H }), (_, i) => ({ x: 1 + (i * w) / H, y: height + 26, width: w / H - 3, height: 16, class: `cw-part${i + 1 === head || !head ? " cw-on" : ""}` }));
        join(layer(g, "words"), "text", [0], () => ({ x: 1, y: height + 18, class: "cw-small", text: `${t("width")}: ${head ? `${((head - 1) * d) / H + 1}–${(head * d) / H}` : `1–${d}`} / ${d}` }));
        height += 48;
      }
      attributes(svg, { width: W, height, viewBox: `0 0 ${W} ${height}` });
      join(line, "span", keys, (key, j) => ({ text: key, style: `--w:${(n.row[j] ?? 0).toFixed(2)}`, class: causal && j >= f.get("query") ? "cw-future" : "" }));
    };
  },
});

// NextToken: one row of real logits through temperature, top-k and top-p.

const SHOWN = 14, ranks = new Map();

/** The logits of a context and their ids by falling logit (ties: lower id first), kept once. */
function ranked(get) {
  const key = get("logits").data.slice(0, 64) + get("context");
  if (!ranks.has(key)) {
    const all = unpack(get("logits")), V = all.shape[1], row = Array.from(all.subarray(get("context") * V, (get("context") + 1) * V));
    const order = row.map((_, i) => i).sort((a, b) => row[b] - row[a] || a - b);
    ranks.set(key, { order, logits: order.map((i) => row[i]) });
  }
  return ranks.get(key);
}

export default course({
  numbers(get) {
    const { order, logits } = ranked(get), T = get("temperature"), V = logits.length;
    const scaled = logits.map((x) => x / (T || 1)), before = softmax(scaled);
    const k = T === 0 ? 1 : get("top_k") || V, kept = softmax(scaled.map((x, i) => (i < k ? x : -Infinity)));
    let above = 0, count = 0, lost = 0;
    const left = scaled.map((x, i) => {
      const keep = i < k && (i === 0 || get("top_p") >= 1 || above < get("top_p") - 1e-12);
      above += kept[i];
      if (keep) count++;
      else lost += before[i];
      return keep ? x : -Infinity;
    });
    const after = softmax(left);
    return {
      kept: count, total: V, piece: get("pieces")[order[0]], best: after[0], tokens: Math.exp(entropy(after)), lost,
      order: order.slice(0, SHOWN), before: before.slice(0, SHOWN), after: after.slice(0, SHOWN),
    };
  },

  controls(get, t) {
    const V = get("pieces").length, ks = [1, 2, 3, 5, 10, 20, 40, 100, 200, 500].filter((k) => k < V);
    return [
      { kind: "select", trait: "context", label: t("context"), options: get("contexts").map((c, i) => [i, c]) },
      { kind: "range", trait: "temperature", label: t("temperature"), min: 0, max: 2, step: 0.05, text: (v) => fixed(v, 2) },
      { kind: "range", trait: "top_k", label: t("top_k"), values: [...ks, 0], text: (v) => (v ? String(v) : t("all")), log: true },
      { kind: "range", trait: "top_p", label: t("top_p"), min: 0.05, max: 1, step: 0.05, text: (v) => fixed(v, 2) },
    ];
  },

  picture(f) {
    const svg = f.svg(), { t } = f, pieces = f.get("pieces");
    return (n, W) => {
      const row = 24, left = 96, right = 56, y = 24, room = W - left - right, rows = n.order.map((id, i) => ({ id, i, at: y + i * row }));
      const most = Math.max(0.05, ...n.before, ...n.after), wide = (v) => Math.max(0.5, (room * v) / most);
      const g = layer(svg, "rows"), cut = (r) => n.after[r.i] === 0, outline = (r) => [left, r.at + 3, wide(n.before[r.i]), row - 6];
      join(layer(g, "before"), "path", [rows.filter(cut), rows.filter((r) => !cut(r))], (list, i) => ({ d: boxes(list.map(outline)), class: "cw-before", fill: i ? "none" : f.hatch }));
      const bar = (r) => [left, r.at + 6, cut(r) ? 0 : wide(n.after[r.i]), row - 12];
      join(layer(g, "after"), "path", [0], () => ({ d: boxes(rows.map(bar)), class: "cw-fill attention" }));
      const words = rows.flatMap((r) => [
        { x: left - 8, y: r.at + 16, "text-anchor": "end", class: cut(r) ? "cw-small" : "", text: pieces[r.id] },
        { x: left + Math.max(wide(n.before[r.i]), wide(n.after[r.i])) + 7, y: r.at + 16, "text-anchor": "start", class: "cw-small", text: cut(r) ? t("cut") : fixed(n.after[r.i], 3) },
      ]);
      join(layer(g, "words"), "text", [{ x: 0, y: 13, class: "cw-label", "text-anchor": "start", text: t("candidates") }, ...words], (a) => a);
      const height = y + rows.length * row + 2;
      attributes(svg, { width: W, height, viewBox: `0 0 ${W} ${height}` });
    };
  },
});

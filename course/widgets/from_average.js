// FromAverage: the average beside a trained map, and the way from one to the other.

const SMALLEST = 2 ** -24;
let kept = null;
function logsOf(get) {
  if (kept?.from !== get("weights")) {
    const w = unpack(get("weights")), T = w.shape[0];
    kept = { from: get("weights"), T, rows: Array.from({ length: T }, (_, i) => Array.from(w.subarray(i * T, i * T + i + 1), (v) => Math.log(Math.max(v, SMALLEST)))) };
  }
  return kept;
}
const rowAt = (get, i) => softmax(logsOf(get).rows[i].map((v) => get("strength") * v));

export default course({
  traits: ["query"],

  numbers(get) {
    const i = get("query") - 1, past = rowAt(get, i), row = [...past, ...Array(logsOf(get).T - 1 - i).fill(0)], weight = Math.max(...row);
    return { token: get("tokens")[i], average: i + 1, row, effective: Math.exp(entropy(row)), most: get("tokens")[row.indexOf(weight)], weight };
  },

  controls: (get, t) => [
    { kind: "range", trait: "strength", label: t("strength"), min: 0, max: 2, step: 0.05, text: (v) => fixed(v, 2) },
    { kind: "range", trait: "query", label: t("query"), min: 1, max: get("tokens").length, text: (v) => t("query_text", { at: v, token: get("tokens")[v - 1] }), end: String },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f;
    let box = null;
    svg.onclick = (e) => {
      const i = Math.floor((e.clientY - svg.getBoundingClientRect().top - box.y) / box.size);
      if (i >= 0 && i < box.T) f.set("query", i + 1);
    };
    return (n, W) => {
      const words = f.get("tokens"), T = words.length, chosen = f.get("query") - 1;
      const wide = W >= 520, left = wide ? 8 + 7.2 * Math.max(...words.map((w) => [...w].length)) : 2, gap = wide ? 28 : 14;
      const size = Math.max(5, Math.floor((W - left - gap - 2) / (2 * T))), all = size >= 12, y = 28;
      box = { y, size, T };
      const rows = Array.from({ length: T }, (_, i) => rowAt(f.get, i)), mark = { row: chosen };
      const common = { W, y, size, rows: T, cols: T, hatch: f.hatch, mark };
      heat(svg, "average", { ...common, key: `${left} ${size}`, x: left, value: (i, j) => (j > i ? null : 1 / (i + 1)), rowLabels: wide ? words.map((w, i) => (all || i === chosen ? w : "")) : null, title: t("average") });
      heat(svg, "trained", { ...common, key: `${f.get("strength")} ${left} ${size}`, x: left + T * size + gap, value: (i, j) => (j > i ? null : rows[i][j]), title: t("trained") });
      // Under each column of the right-hand map, the word it stands for, if the row looks there.
      const x0 = left + T * size + gap, y0 = y + T * size;
      const named = n.row.map((w, j) => [w, j]).filter(([w, j]) => w >= 0.1 || w === n.weight);
      join(layer(svg, "looks"), "text", named, ([, j]) => {
        const cx = x0 + (j + 0.5) * size + 4;
        return { x: cx.toFixed(1), y: y0 + 12, "text-anchor": "end", transform: `rotate(-50 ${cx.toFixed(1)} ${y0 + 12})`, class: "cw-small key", text: words[j] };
      });
      attributes(svg, { width: W, height: y0 + 58, viewBox: `0 0 ${W} ${y0 + 58}` });
    };
  },
});

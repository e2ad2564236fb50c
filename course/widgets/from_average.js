// FromAverage: the averaging matrix, and beside it the map whose scores count by `at`.

let read = null; // the weights last unpacked, and what from

export default course({
  numbers(get) {
    const packed = get("weights"), at = get("at");
    if (read?.packed !== packed) read = { packed, all: unpack(packed) };
    const T = read.all.shape[0], weights = [];
    for (let i = 0; i < T; i++) {
      const powers = Array.from({ length: T }, (_, j) => (j > i ? 0 : read.all[i * T + j] ** at));
      const sum = powers.reduce((a, b) => a + b, 0);
      weights.push(powers.map((p) => p / sum));
    }
    const effective = weights.reduce((a, row) => a + Math.exp(entropy(row)), 0) / T;
    return { at, weights, effective, average: (T + 1) / 2 };
  },

  controls: (get, t) => [
    { kind: "range", trait: "at", label: t("at"), min: 0, max: 1, step: 0.05, text: (v) => `${Math.round(100 * v)}\u00a0%` },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f;
    return (n, W) => {
      const T = n.weights.length, tokens = f.get("tokens"), wide = W >= 520;
      const labels = wide ? 14 + 7 * Math.max(...tokens.map((w) => [...w].length)) : 2, gap = wide ? 28 : 14;
      const size = Math.max(5, Math.floor((Math.min(W, 760) - 2 * labels - gap - 4) / (2 * T)));
      const y = 34, common = { y, size, rows: T, cols: T, hatch: f.hatch, rowLabels: wide ? tokens : undefined };
      const right = 2 * labels + T * size + gap;
      heat(svg, "average", { ...common, x: labels, value: (i, j) => (j > i ? null : 1 / (i + 1)), title: t("average") });
      heat(svg, "learned", { ...common, x: right, value: (i, j) => (j > i ? null : n.weights[i][j]), title: t("learned") });
      const height = y + T * size + 6;
      attributes(svg, { width: W, height, viewBox: `0 0 ${W} ${height}` });
    };
  },
});

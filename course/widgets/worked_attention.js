// WorkedAttention: three tokens, every number of one attention, step by step.

const NAMES = ["The", "cat", "sat"];

export default course({
  numbers(get) {
    const x = get("x"), own = get("projections") === "own", masked = get("masked");
    const q = own ? x.map((r) => r.slice(0, 2)) : x, k = own ? x.map((r) => r.slice(2)) : x;
    const dot = (a, b) => a.reduce((s, v, c) => s + v * b[c], 0);
    const scores = q.map((a) => k.map((b) => dot(a, b))), scaled = scores.map((r) => r.map((s) => s / Math.sqrt(q[0].length)));
    const allowed = (i, j) => !masked || j <= i;
    const weights = scaled.map((r, i) => softmax(r.map((s, j) => (allowed(i, j) ? s : -Infinity))));
    const out = weights.map((w) => x[0].map((_, c) => w.reduce((s, v, j) => s + v * x[j][c], 0)));
    const i = get("row") - 1, exps = scaled[i].filter((_, j) => allowed(i, j)).map(Math.exp);
    const asymmetry = Math.max(...scores.flatMap((r, a) => r.map((s, b) => Math.abs(s - scores[b][a]))));
    const line = (list) => list.map((v) => fixed(v, 3)).join(" ");
    return {
      token: NAMES[i], d_k: q[0].length, scores, scaled, weights, out, sum: exps.reduce((a, b) => a + b, 0),
      exps: line(exps), weights_text: line(weights[i]), out_text: line(out[i]), asymmetry,
      symmetry: fill(get("strings")[asymmetry < 5e-3 ? "symmetric" : "asymmetric"], { asymmetry }),
    };
  },

  controls: (get, t) => [
    { kind: "grid", trait: "x", label: t("x"), rows: NAMES, min: -9, max: 9, step: 0.1 },
    { kind: "choice", trait: "row", label: t("row"), options: NAMES.map((name, i) => [i + 1, name]) },
    { kind: "choice", trait: "projections", label: t("projections"), options: [["same", t("same")], ["own", t("own")]] },
    { kind: "check", trait: "masked", label: t("masked") },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f;
    const short = (digits) => (v) => fixed(v, digits).replace(/^(−?)0\./, "$1.");
    return (n, W) => {
      const wide = W >= 600, masked = f.get("masked"), mark = { row: f.get("row") - 1 }, left = 32, gap0 = 24, size = wide ? 43 : Math.min(35, Math.floor((W - left - gap0) / 7));
      const cut = (m) => (i, j) => (masked && j > i ? null : m[i][j]);
      const maps = [
        ["scores", (i, j) => n.scores[i][j], 2, () => 0, 3],
        ["scaled", cut(n.scaled), 2, () => 0, 3],
        ["weights", cut(n.weights), 3, undefined, 3],
        ["out", (i, j) => n.out[i][j], 3, () => 0, 4],
      ];
      let x = left, y = 44;
      const gap = wide ? (W - left - 13 * size) / 3 : gap0;
      maps.forEach(([name, value, digits, weight, cols], at) => {
        if (!wide && at === 2) (x = left), (y += 3 * size + 62);
        const first = x === left;
        heat(svg, name, {
          W, x: Math.round(x), y, size, rows: 3, cols, value, weight, text: short(digits), hatch: f.hatch, title: t(name), mark,
          rowLabels: first ? NAMES : null, colLabels: name === "out" ? ["", "", "", ""] : NAMES,
        });
        x += cols * size + gap;
      });
      const height = y + 3 * size + 6;
      attributes(svg, { width: W, height, viewBox: `0 0 ${W} ${height}` });
    };
  },
});

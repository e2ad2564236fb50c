// AveragingMatrix: rows 1, ½ ½, ⅓ ⅓ ⅓, … and the future hatched.

export default course({
  traits: ["row"],

  numbers(get) {
    const T = get("T"), row = Math.min(get("row"), T);
    const weights = Array.from({ length: T }, (_, j) => (j < row ? 1 / row : 0));
    return { T, row, t: row - 1, weight: 1 / row, weights, masked: T - row, sum: weights.reduce((a, b) => a + b, 0), loop_adds: (T * (T + 1)) / 2, products: T * T };
  },

  controls: (get, t) => [
    { kind: "range", trait: "T", label: t("T"), min: 2, max: 32 },
    { kind: "range", trait: "row", label: t("row"), min: 1, max: () => get("T"), text: (v) => t("row_text", { row: Math.min(v, get("T")), t: Math.min(v, get("T")) - 1, T: get("T") }), end: (v) => `t = ${v - 1}` },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f;
    return (n, W) => {
      const wide = W >= 520, side = wide ? 300 : Math.min(W - 26, 300);
      const size = Math.floor(side / n.T), x = 24, y = 46;
      const few = n.T <= 8, labels = Array.from({ length: n.T }, (_, i) => (few || i % Math.ceil(n.T / 8) === 0 ? String(i) : ""));
      const fraction = (i) => (i ? `1/${i + 1}` : "1");
      heat(svg, "matrix", {
        W, x, y, size, rows: n.T, cols: n.T, hatch: f.hatch, title: t("matrix"),
        value: (i, j) => (j > i ? null : 1 / (i + 1)), key: `${n.T} ${size}`,
        rowLabels: labels, colLabels: labels, mark: { row: n.row - 1 },
      });
      // The value of each row once, in its last open cell, where there is room.
      const spots = size >= 30 ? Array.from({ length: n.T }, (_, i) => i) : [];
      join(layer(svg, "fractions"), "text", spots, (i) => ({ x: x + i * size + size / 2, y: y + i * size + size / 2 + 4, "text-anchor": "middle", class: `cw-number ${i < 1 ? "cw-on" : ""}`, text: fraction(i) }));

      const timings = f.get("timings"), measured = timings.length > 1;
      const box = wide ? { x: 384, y: 46, w: W - 384 - 60, h: 190 } : { x: 40, y: y + side + 46, w: W - 40 - 62, h: 130 };
      const lines = measured
        ? { loop: timings.map((r) => [r[0], 1e3 * r[1]]), matmul: timings.map((r) => [r[0], 1e3 * r[2]]) }
        : { loop: [[1, 1], [32, 32]], matmul: [[1, 1], [32, 1]] };
      const all = [...lines.loop, ...lines.matmul];
      const ten = (v, up) => 10 ** (up ? Math.ceil : Math.floor)(Math.log10(v));
      const X = measured ? { range: [timings[0][0], timings.at(-1)[0]], ticks: [timings[0][0], timings.at(-1)[0]], log: true } : { range: [1, 32], ticks: [1, 8, 16, 24, 32] };
      const Y = measured ? { range: [ten(Math.min(...all.map((a) => a[1])), false), ten(Math.max(...all.map((a) => a[1])), true)], log: true } : { range: [0, 32], ticks: [0, 16, 32] };
      if (measured) Y.ticks = [Y.range[0], Y.range[1]];
      const p = plot(svg, "cost", { ...box, X: { ...X, label: "T" }, Y, title: t(measured ? "seconds" : "steps") });
      curve(p, "loop", lines.loop, "average");
      curve(p, "matmul", lines.matmul, "attention");
      const ends = [["loop", "average"], ["matmul", "attention"]].map(([name, kind]) => ({ x: box.x + box.w + 6, y: p.sy(lines[name].at(-1)[1]) + 4, class: `cw-label ${kind}`, text: t(name) }));
      join(layer(p.g, "names"), "text", ends, (a) => a);
      join(layer(p.g, "here"), "circle", measured ? [] : [n.T, 1], (v, i) => ({ cx: p.sx(n.T).toFixed(1), cy: p.sy(v).toFixed(1), r: 4.5, class: `cw-fill ${i ? "attention" : "average"}` }));
      const height = wide ? y + 300 + 8 : box.y + box.h + 40;
      attributes(svg, { width: W, height, viewBox: `0 0 ${W} ${height}` });
    };
  },
});

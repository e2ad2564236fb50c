// ShuffledAverage: the tokens are points of the plane; only their order in the window changes.

export default course({
  numbers(get) {
    const words = get("words"), T = words.length, order = permutation(get("shuffle"), T);
    const x = normals(get("seed"), 0, new Float64Array(2 * T));
    const weights = softmax(words.map((_, t) => get("slope") * t));
    const sum = (by) => [0, 1].map((c) => by.reduce((a, [w, i]) => a + w * x[2 * i + c], 0));
    const of = (list) => ({ average: sum(list.map((i) => [1 / T, i])), weighted: sum(list.map((i, t) => [weights[t], i])) });
    const now = of(order), before = of(words.map((_, i) => i));
    const moved = (k) => Math.round(1e9 * Math.hypot(now[k][0] - before[k][0], now[k][1] - before[k][1])) / 1e9;
    return {
      say: get("shuffle") ? "" : "order", shuffle: get("shuffle"), order, last: words[order[T - 1]], weights,
      ...now, moved: { average: moved("average"), weighted: moved("weighted") }, x,
    };
  },

  controls: (get, t) => [
    { kind: "range", trait: "shuffle", label: t("shuffle"), min: 0, max: 200, text: (v) => (v ? String(v) : t("shuffle_none")), end: String },
    { kind: "range", trait: "slope", label: t("slope"), min: 0, max: 1.5, step: 0.05, text: (v) => fixed(v, 2) },
    { kind: "button", act: "shuffle", label: t("shuffle_again"), run: (f) => f.set("shuffle", (f.get("shuffle") % 200) + 1) },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f;
    const seen = []; // where the weighted summary has been: the last dozen places
    return (n, W) => {
      const words = f.get("words"), T = words.length, wide = W >= 520, step = W / T;
      const row = { y: wide ? 44 : 62, h: 40 };
      const p0 = { g: layer(svg, "row") };
      const label = (x, y, text, kind = "cw-small", anchor = "start", turn = null) => ({ x, y, text, class: kind, "text-anchor": anchor, transform: turn });
      const names = n.order.map((i, place) => {
        const cx = step * (place + 0.5);
        return wide ? label(cx, row.y, words[i], "cw-word", "middle") : label(cx - 2, row.y + 2, words[i], "cw-word", "start", `rotate(-50 ${cx - 2} ${row.y + 2})`);
      });
      join(layer(p0.g, "words"), "text", [label(0, 13, t("window"), "cw-label"), ...names], (a) => a);
      const base = row.y + 12 + row.h, high = (w) => (row.h * w) / Math.max(...n.weights);
      join(layer(p0.g, "bars"), "path", [0], () => ({ d: boxes(n.weights.map((w, i) => [step * (i + 0.15), base - high(w), step * 0.7, high(w)])), class: "cw-fill attention" }));
      const even = (base - high(1 / T)).toFixed(1);
      join(layer(p0.g, "even"), "path", [0], () => ({ d: `M0 ${even}H${W}`, class: "cw-line average" }));
      join(layer(p0.g, "note"), "text", [label(0, base + 17, t("weights"))], (a) => a);

      const y = base + 40, height = wide ? 250 : 230, span = 2.5;
      const box = { x: 4, y, w: W - 8, h: height };
      const p = plot(svg, "plane", { ...box, X: { range: [-span, span], ticks: [] }, Y: { range: [-span, span], ticks: [] } });
      join(layer(p.g, "frame"), "rect", [0], () => ({ x: box.x, y, width: box.w, height, class: "cw-box" }));
      const at = (a, b) => ({ cx: p.sx(a).toFixed(1), cy: p.sy(b).toFixed(1) });
      join(layer(p.g, "points"), "circle", words, (_, i) => ({ ...at(n.x[2 * i], n.x[2 * i + 1]), r: 3.5, class: "cw-fill ink" }));
      join(layer(p.g, "names"), "text", words, (word, i) => label(p.sx(n.x[2 * i]) + 6, p.sy(n.x[2 * i + 1]) + 4, word));
      const last = seen.at(-1);
      if (!last || last[0] !== n.weighted[0] || last[1] !== n.weighted[1]) seen.push(n.weighted);
      if (seen.length > 12) seen.shift();
      join(layer(p.g, "seen"), "circle", seen.slice(0, -1), ([a, b]) => ({ ...at(a, b), r: 3, class: "cw-fill attention", "fill-opacity": 0.3 }));
      const [ax, ay] = [p.sx(n.average[0]), p.sy(n.average[1])], [bx, by] = [p.sx(n.weighted[0]), p.sy(n.weighted[1])];
      join(layer(p.g, "average"), "rect", [0], () => ({ x: ax - 6, y: ay - 6, width: 12, height: 12, class: "cw-fill average" }));
      join(layer(p.g, "weighted"), "circle", [0], () => ({ cx: bx.toFixed(1), cy: by.toFixed(1), r: 7, class: "cw-fill attention" }));
      join(layer(p.g, "titles"), "text", [0, 1], (i) => (i
        ? label(bx, by + (by < ay ? -13 : 22), t("weighted"), "cw-label attention", "middle")
        : label(ax, ay + (by < ay ? 22 : -13), t("average"), "cw-label average", "middle")));
      attributes(svg, { width: W, height: y + height + 4, viewBox: `0 0 ${W} ${y + height + 4}` });
    };
  },
});

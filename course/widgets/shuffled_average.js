// ShuffledAverage: the tokens are points of the plane; only their order in the window changes.

/** How far two boxes [x, y, w, h] are apart; below 0 where they overlap. */
const apart = ([ax, ay, aw, ah], [bx, by, bw, bh]) => {
  const dx = Math.max(bx - ax - aw, ax - bx - bw), dy = Math.max(by - ay - ah, ay - by - bh);
  return dx > 0 && dy > 0 ? Math.hypot(dx, dy) : Math.max(dx, dy);
};

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
      const words = f.get("words"), T = words.length, wide = W >= 520, step = (W - (wide ? 0 : 18)) / T; // on a phone the last word leans to the right
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
      join(layer(p0.g, "even"), "path", [0], () => ({ d: `M0 ${even}H${step * T}`, class: "cw-line average" }));
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
      // Each name stands above or below its mark, where it is farther from whatever else is drawn;
      // at its left or right only if it would touch something at both.
      const drawn = words.map((word, i) => [p.sx(n.x[2 * i]) - 4, p.sy(n.x[2 * i + 1]) - 7, 14 + 7 * word.length, 14]);
      const marks = { average: [ax - 7, ay - 7, 14, 14], weighted: [bx - 8, by - 8, 16, 16] };
      const name = (which, other, cx, cy, kind) => {
        const text = t(which), w = 8 * text.length, others = [...drawn, marks[other]];
        const places = [[cx - w / 2, cy - 24], [cx - w / 2, cy + 11], [cx - 12 - w, cy - 7], [cx + 12, cy - 7]].map(([x0, y0]) => {
          const own = [x0, y0, w, 14];
          return [Math.min(...others.map((box) => apart(own, box))), own];
        });
        const farther = (a, b) => (b[0] > a[0] ? b : a), inside = places.filter(([, [x0]]) => x0 >= 4 && x0 + w <= W - 4);
        let best = places.slice(0, 2).reduce(farther);
        if (best[0] < 1) best = inside.reduce(farther, best);
        drawn.push(best[1]);
        return label(best[1][0] + w / 2, best[1][1] + 11, text, `cw-label ${kind}`, "middle");
      };
      const titles = [name("average", "weighted", ax, ay, "average"), name("weighted", "average", bx, by, "attention")];
      join(layer(p.g, "titles"), "text", titles, (a) => a);
      attributes(svg, { width: W, height: y + height + 4, viewBox: `0 0 ${W} ${y + height + 4}` });
    };
  },
});

// PositionReach: a rotation and a slope at a distance, and how far each scheme reads.

const D_HEAD = 32, HEADS = 8, BASE = 10000, FAR = 256;
const thetaOf = (pair) => BASE ** ((-2 * (pair - 1)) / D_HEAD), slopeOf = (head) => 2 ** ((-8 * head) / HEADS);

export default course({
  numbers(get) {
    const distance = get("distance"), theta = thetaOf(get("pair")), slope = slopeOf(get("head"));
    return {
      distance, pair: get("pair"), head: get("head"), theta,
      angle: (((distance * theta) % (2 * Math.PI)) * 180) / Math.PI, cosine: Math.cos(distance * theta),
      period: (2 * Math.PI) / theta, slope, bias: slope * distance, factor: Math.exp(-slope * distance),
    };
  },

  controls: (get, t) => [
    { kind: "range", trait: "distance", label: t("distance"), min: 0, max: FAR },
    { kind: "range", trait: "pair", label: t("pair"), min: 1, max: D_HEAD / 2 },
    { kind: "range", trait: "head", label: t("head"), min: 1, max: HEADS },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f;
    return (n, W) => {
      const wide = W >= 520, left = 30, g = layer(svg, "dial"), r = 56, cx = r + 4, cy = 30 + r;
      // The dial: where the query points, and where the key has turned to.
      const a = n.distance * n.theta, arm = (angle, length) => [cx + length * Math.cos(angle), cy - length * Math.sin(angle)];
      const [kx, ky] = arm(a, r - 4), [qx, qy] = arm(0, r - 4), part = (n.angle * Math.PI) / 180, [ex, ey] = arm(part, 22), [sx0, sy0] = arm(0, 22);
      join(layer(g, "ring"), "circle", [0], () => ({ cx, cy, r, class: "cw-ring" }));
      join(layer(g, "arc"), "path", [0], () => ({ d: `M${sx0} ${sy0}A22 22 0 ${part > Math.PI ? 1 : 0} 0 ${ex.toFixed(1)} ${ey.toFixed(1)}`, class: "cw-line guide" }));
      join(layer(g, "arms"), "path", [0, 1], (i) => (i ? { d: `M${cx} ${cy}L${kx.toFixed(1)} ${ky.toFixed(1)}`, class: "cw-line key" } : { d: `M${cx} ${cy}L${qx} ${qy}`, class: "cw-line query" }));
      join(layer(g, "letters"), "text", [["q", "query", ...arm(0, r + 10)], ["k", "key", ...arm(a, r + 10)]], ([text, kind, x, y]) => ({ x: x.toFixed(1), y: (y + 4).toFixed(1), "text-anchor": "middle", class: kind, text }));

      const px = wide ? 2 * r + 62 : left, py = wide ? 30 : 2 * r + 74, ticks = [0, 64, 128, 192, 256];
      const rope = plot(svg, "rope", { x: px, y: py, w: W - px - 14, h: wide ? 2 * r : 96, title: t("rotation"), X: { range: [0, FAR], ticks }, Y: { range: [-1, 1], ticks: [-1, 0, 1], text: (v) => fixed(v, 0) } });
      const wave = () => Array.from({ length: 1025 }, (_, i) => [i / 4, Math.cos((i / 4) * n.theta)]);
      curve(rope, "wave", wave, "attention", n.pair);
      const dot = (p, y, kind) => {
        join(layer(p.g, "guide"), "path", [0], () => ({ d: `M${p.sx(n.distance).toFixed(1)} ${p.box.y}V${p.box.y + p.box.h}`, class: "cw-line guide" }));
        join(layer(p.g, "dot"), "circle", [0], () => ({ cx: p.sx(n.distance).toFixed(1), cy: p.sy(y).toFixed(1), r: 5, class: `cw-fill ${kind}` }));
      };
      dot(rope, n.cosine, "attention");

      const y2 = py + (wide ? 2 * r : 96) + 62, half = wide ? (W - left - 60) / 2 - 10 : W - left - 14;
      const alibi = plot(svg, "alibi", { x: left, y: y2, w: half, h: 120, title: t("slope"), X: { range: [0, FAR], ticks: wide ? [0, 128, 256] : ticks }, Y: { range: [0, 1], ticks: [0, 0.5, 1], text: (v) => String(v).replace("0.", ".") } });
      for (let head = 1; head <= HEADS; head++) {
        curve(alibi, `head-${head}`, () => Array.from({ length: 129 }, (_, i) => [2 * i, Math.exp(-slopeOf(head) * 2 * i)]), head === n.head ? "attention" : "faint", head);
      }
      dot(alibi, n.factor, "attention");

      const x3 = wide ? left + half + 56 : left + 8, y3 = wide ? y2 : y2 + 182, measured = Object.entries(f.get("perplexity"));
      const points = measured.flatMap(([, line]) => line), box = { x: x3, y: y3, w: W - x3 - (measured.length ? 78 : 14), h: 120 };
      if (!points.length) {
        join(layer(layer(svg, "reach"), "none"), "text", [t("reach"), t("not_measured")], (text, i) => ({ x: x3, y: i ? y3 + 24 : y3 - 9, class: i ? "cw-small" : "cw-label", text }));
      } else {
        const lengths = [...new Set(points.map((p) => p[0]))].sort((u, v) => u - v), values = points.map((p) => p[1]);
        const lo = 10 * Math.floor(Math.min(...values) / 10), hi = 10 * Math.ceil(Math.max(...values) / 10);
        const reach = plot(svg, "reach", { ...box, title: t("reach"), X: { range: [lengths[0], lengths.at(-1)], ticks: lengths, log: true }, Y: { range: [lo, hi], ticks: [lo, (lo + hi) / 2, hi], log: true, text: (v) => fixed(v, 0) } });
        // As in the figures of chapter 8: two colours, told apart by their dashes.
        const kinds = { sinusoids: "dotted", RoPE: "attention dashdot", ALiBi: "attention" };
        measured.forEach(([name, line]) => curve(reach, name, line, kinds[name] ?? ""));
        // Names at the right end, pushed apart where curves meet.
        const ends = measured.map(([name, line]) => ({ name, y: reach.sy(line.at(-1)[1]), kind: kinds[name] ?? "" })).sort((u, v) => u.y - v.y);
        ends.forEach((e, i) => i && (e.y = Math.max(e.y, ends[i - 1].y + 14)));
        join(layer(reach.g, "names"), "text", ends, (e) => ({ x: box.x + box.w + 6, y: e.y + 4, class: `cw-label ${e.kind}`, text: e.name }));
      }
      const height = y3 + 120 + 24;
      attributes(svg, { width: W, height, viewBox: `0 0 ${W} ${height}` });
    };
  },
});

// ParameterCount: the exact counts of a GPT, part by part.

const WIDTHS = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1600, 2048, 3072, 4096, 8192, 12288];
const SHAPE = ["d_model", "n_layers", "vocab_size", "context_length"];

function counts([c, layers, vocab, context]) {
  const n = { tokens: vocab * c, positions: context * c, attention: layers * (4 * c * c + 4 * c), feed_forward: layers * (8 * c * c + 5 * c), norms: layers * 4 * c + 2 * c };
  return { ...n, total: Object.values(n).reduce((a, b) => a + b, 0) };
}
const shares = (n) => ({ attention: n.attention / n.total, feed_forward: n.feed_forward / n.total, norms: n.norms / n.total, embedding: (n.tokens + n.positions) / n.total });
const presetOf = (get) => {
  const shape = SHAPE.map(get);
  return Object.entries(get("presets")).find(([, v]) => shape.every((s, i) => s === v[i]))?.[0];
};
const brief = (v) => (v >= 1e9 ? `${fixed(v / 1e9, 1)} B` : v >= 1e6 ? `${fixed(v / 1e6, 1)} M` : v >= 1e4 ? `${fixed(v / 1e3, 0)} k` : fixed(v, 0, true));

export default course({
  numbers(get) {
    const shape = SHAPE.map(get), n = counts(shape), preset = presetOf(get);
    return {
      ...n, say: preset ? "preset" : "", preset: preset ?? "—", published: preset ? get("presets")[preset][4] : "",
      share: shares(n), mlp: n.feed_forward / (n.attention + n.feed_forward + shape[1] * 4 * shape[0]),
    };
  },

  controls(get, t, f) {
    const text = (v) => fixed(v, 0, true);
    return [
      {
        kind: "select", trait: "preset", label: t("preset"), value: () => presetOf(get) ?? t("custom"),
        options: () => [...(presetOf(get) ? [] : [[t("custom"), t("custom")]]), ...Object.keys(get("presets")).map((k) => [k, k])],
        put: (name) => get("presets")[name] && f.set(Object.fromEntries(SHAPE.map((s, i) => [s, get("presets")[name][i]]))),
      },
      { kind: "range", trait: "d_model", label: t("d_model"), values: WIDTHS, text, log: true },
      { kind: "range", trait: "n_layers", label: t("n_layers"), min: 1, max: 96 },
      { kind: "range", trait: "vocab_size", label: t("vocab_size"), values: [256, 1024, 4096, 10000, 20000, 32000, 37000, 50257, 100000, 200000], text, log: true },
      { kind: "range", trait: "context_length", label: t("context_length"), values: [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072], text, log: true },
    ];
  },

  picture(f) {
    const svg = f.svg(), { t } = f;
    const parts = [["tokens", "average"], ["positions", "average"], ["attention", "attention"], ["feed_forward", "ink"], ["norms", "average"]];
    return (n, W) => {
      const g = layer(svg, "bars"), left = 124, right = 104, row = 30, room = W - left - right;
      const most = Math.max(...parts.map(([name]) => n[name]));
      join(layer(g, "rects"), "rect", parts, ([name, kind], i) => ({ x: left, y: i * row + 6, height: row - 12, width: Math.max(1, (room * n[name]) / most).toFixed(1), class: `cw-fill ${kind}` }));
      const words = parts.flatMap(([name], i) => [
        { x: 0, y: i * row + 20, "text-anchor": "start", text: t(name), class: "" },
        { x: left + (room * n[name]) / most + 7, y: i * row + 20, "text-anchor": "start", text: `${brief(n[name])}, ${fixed((100 * n[name]) / n.total, 1)} %`, class: "cw-small" },
      ]);
      join(layer(g, "words"), "text", words, (a) => a);
      const y = parts.length * row + 44, height = 140, shape = SHAPE.map(f.get);
      const p = plot(svg, "shares", {
        x: 40, y, w: W - 40 - 96, h: height, title: t("shares"),
        X: { range: [64, 12288], ticks: W < 520 ? [64, 768, 12288] : [64, 256, 768, 3072, 12288], log: true, text: (v) => fixed(v, 0, true) },
        Y: { range: [0, 1], ticks: [0, 1 / 3, 2 / 3, 1], text: (v) => ["0", "⅓", "⅔", "1"][Math.round(v * 3)] },
      });
      const others = shape.slice(1).join(), all = stale(g, "widths", others) ? (g._all = WIDTHS.map((c) => [c, shares(counts([c, ...shape.slice(1)]))])) : g._all;
      join(layer(p.g, "guide"), "path", [0], () => ({ d: `M${p.sx(shape[0]).toFixed(1)} ${y}V${y + height}`, class: "cw-line guide" }));
      const lines = [["feed_forward", ""], ["attention", "attention"], ["embedding", "average"]];
      for (const [name, kind] of lines) curve(p, name, () => all.map(([c, s]) => [c, s[name]]), kind, others);
      join(layer(p.g, "dots"), "circle", lines, ([name, kind]) => ({ cx: p.sx(shape[0]).toFixed(1), cy: p.sy(n.share[name]).toFixed(1), r: 4.5, class: `cw-fill ${kind || "ink"}` }));
      join(layer(p.g, "names"), "text", lines, ([name, kind]) => ({ x: W - 90, y: p.sy(all.at(-1)[1][name]) + 4, class: `cw-label ${kind}`, text: t(name) }));
      attributes(svg, { width: W, height: y + height + 24, viewBox: `0 0 ${W} ${y + height + 24}` });
    };
  },
});

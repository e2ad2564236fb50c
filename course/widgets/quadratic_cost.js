// QuadraticCost: memory of one attention layer against n, on logarithmic scales.

const MIB = 2 ** 20, D_MODEL = 512, HEADS = 8, CARDS = [8, 24, 80];
const LENGTHS = Array.from({ length: 14 }, (_, i) => 128 * 2 ** i);
const memory = (n, dtype) => {
  const size = dtype === "float32" ? 4 : 2, scores = (HEADS * n * n * size) / MIB;
  return { scores, both: 2 * scores, tiles: (4 * n * D_MODEL * size + n * HEADS * 4) / MIB };
};

export default course({
  numbers(get) {
    const n = get("n"), m = memory(n, get("dtype")), full = CARDS.filter((gb) => m.both > gb * 1024);
    const key = !full.length ? "fits_all" : full.length === CARDS.length ? "fits_none" : "fits_not";
    return { n, ...m, fits: get("strings")[key].replace("{gb}", full.at(-1) ?? "") };
  },

  controls: (get, t) => [
    { kind: "range", trait: "n", label: t("n"), values: LENGTHS, text: (v) => fixed(v, 0, true), log: true },
    { kind: "choice", trait: "dtype", label: t("dtype"), options: ["float32", "float16"].map((d) => [d, d]) },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f;
    return (n, W) => {
      const wide = W >= 520, y = 30, height = wide ? 290 : 260, dtype = f.get("dtype"), x = 44, end = 42;
      const p = plot(svg, "memory", {
        x, y, w: W - x - end, h: height, title: t("memory"),
        X: { range: [128, 2 ** 20], ticks: wide ? [128, 1024, 8192, 65536, 2 ** 20] : [128, 8192, 2 ** 20], log: true, text: (v) => fixed(v, 0, true), label: "n" },
        Y: { range: [0.1, 1e8], ticks: [0.1, 10, 1e3, 1e5, 1e7], log: true, text: (v) => (v >= 1e5 ? `10${v > 1e6 ? "⁷" : "⁵"}` : fixed(v, v < 1 ? 1 : 0, true)) },
      });
      const cap = (v) => Math.min(1e8, Math.max(0.1, v));
      join(layer(p.g, "cards"), "path", CARDS, (gb) => ({ d: `M${x} ${p.sy(gb * 1024).toFixed(1)}H${W - end}`, class: "cw-line card" }));
      join(layer(p.g, "card-names"), "text", CARDS, (gb) => ({ x: W - end + 4, y: p.sy(gb * 1024) + 4, class: "cw-small", text: t("card", { gb }) }));
      curve(p, "both", () => LENGTHS.map((v) => [v, memory(v, dtype).both]).filter(([, m]) => m <= 1e8 && m >= 0.1), "attention", dtype);
      curve(p, "tiles", () => LENGTHS.map((v) => [v, cap(memory(v, dtype).tiles)]), "average", dtype);
      const here = p.sx(n.n).toFixed(1);
      join(layer(p.g, "guide"), "path", [0], () => ({ d: `M${here} ${y}V${y + height}`, class: "cw-line guide" }));
      const dots = [[n.both, "attention"], [n.tiles, "average"]];
      join(layer(p.g, "dots"), "circle", dots, ([v, kind]) => ({ cx: here, cy: p.sy(cap(v)).toFixed(1), r: 5, class: `cw-fill ${kind}` }));
      const broken = n.both > CARDS[0] * 1024;
      join(layer(p.g, "cross"), "path", broken ? [0] : [], () => ({ d: cross(+here, p.sy(cap(n.both)) - 16, 5), class: "cw-line cross" }));
      const measured = [...f.get("measured_tiles"), ...f.get("measured")].filter(([, mb]) => mb > 0.1);
      join(layer(p.g, "measured"), "circle", measured, ([a, b]) => ({ cx: p.sx(a).toFixed(1), cy: p.sy(cap(b)).toFixed(1), r: 4, class: "cw-open" }));
      const words = [
        { x: p.sx(2 ** 17) - 12, y: p.sy(memory(2 ** 17, "float32").both), "text-anchor": "end", class: "cw-label attention", text: t("quadratic") },
        { x: p.sx(2 ** 17), y: p.sy(memory(2 ** 17, "float32").tiles) + 25, "text-anchor": "start", class: "cw-label average", text: t("linear") },
      ];
      // Below the dashed line, under its last mark; without one there, beside the last of the others.
      const low = f.get("measured_tiles").at(-1), [a, b] = low ?? measured.at(-1) ?? [];
      if (a) words.push({ x: p.sx(a) + (low ? -2 : 9), y: p.sy(cap(b)) + (low ? 21 : 6), "text-anchor": "start", class: "cw-small", text: t("measured") });
      join(layer(p.g, "names"), "text", words, (a) => a);
      attributes(svg, { width: W, height: y + height + 40, viewBox: `0 0 ${W} ${y + height + 40}` });
    };
  },
});

// LearningRate: the schedule of 2017 for a width and a warm-up, beside the base model's.

const LAST = 20000, WIDTHS = [64, 128, 256, 512, 1024, 2048], WARMUPS = [250, 500, 1000, 2000, 4000, 8000, 16000];
const STEPS = [1, ...Array.from({ length: 80 }, (_, i) => 250 * (i + 1))];
const rateOf = (step, width, warmup) => 1e4 * width ** -0.5 * Math.min(step ** -0.5, step * warmup ** -1.5);
const points = (width, warmup) => [...new Set([...STEPS, warmup])].sort((a, b) => a - b).map((s) => [s, rateOf(s, width, warmup)]);

export default course({
  numbers(get) {
    const step = get("step"), warmup = get("warmup"), width = get("d_model");
    const phase = step === warmup ? "peak" : step < warmup ? "rising" : "falling";
    return { step, warmup, rate: rateOf(step, width, warmup), top: rateOf(warmup, width, warmup), phase: get("strings")[phase] };
  },

  controls: (get, t) => [
    { kind: "range", trait: "d_model", label: t("d_model"), values: WIDTHS, log: true },
    { kind: "range", trait: "warmup", label: t("warmup"), values: WARMUPS, text: (v) => fixed(v, 0, true), log: true },
    { kind: "range", trait: "step", label: t("step"), values: STEPS, text: (v) => fixed(v, 0, true) },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f;
    return (n, W) => {
      const wide = W >= 520, x = 34, y = 30, height = wide ? 220 : 200, width = f.get("d_model");
      const most = Math.max(n.top, rateOf(4000, 512, 4000)), unit = 10 ** Math.floor(Math.log10(most)), high = unit * Math.ceil(most / unit);
      const p = plot(svg, "rate", {
        x, y, w: W - x - 14, h: height, title: t("rate"),
        X: { range: [0, LAST], ticks: wide ? [0, 4000, 8000, 12000, 16000, LAST] : [0, 8000, 16000], text: (v) => fixed(v, 0, true), label: t("step") },
        Y: { range: [0, high], ticks: [0, high / 2, high], text: (v) => fixed(v, v % 1 ? 1 : 0) },
      });
      curve(p, "base", () => points(512, 4000), "average", "");
      curve(p, "ours", () => points(width, n.warmup), "attention", `${width} ${n.warmup}`);
      const here = p.sx(n.step).toFixed(1);
      join(layer(p.g, "guide"), "path", [0], () => ({ d: `M${here} ${y}V${y + height}`, class: "cw-line guide" }));
      join(layer(p.g, "dot"), "circle", [0], () => ({ cx: here, cy: p.sy(n.rate).toFixed(1), r: 5, class: "cw-fill attention" }));
      // Named under its end, where the curves lie low and the upper right is free for ours.
      join(layer(p.g, "names"), "text", [0], () => ({ x: W - 14, y: Math.min(p.sy(rateOf(LAST, 512, 4000)) + 18, y + height - 6).toFixed(1), "text-anchor": "end", class: "cw-label average", text: t("base") }));
      attributes(svg, { width: W, height: y + height + 40, viewBox: `0 0 ${W} ${y + height + 40}` });
    };
  },
});

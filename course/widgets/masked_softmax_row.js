// MaskedSoftmaxRow: six scores under the reader's hand, a mask, and three ways to store a number.

const WORDS = ["the", "cat", "sat", "on", "the", "mat"], ALLOWED = 4;
const MASKS = { "−∞": -Infinity, "−1e9": -1e9, "−1e4": -1e4 };
const DTYPES = {
  float32: [23, -126, (2 - 2 ** -23) * 2 ** 127],
  bfloat16: [7, -126, (2 - 2 ** -7) * 2 ** 127],
  float16: [10, -14, 65504],
};
const SHIFTS = [0, ...Array.from({ length: 21 }, (_, i) => -(i % 2 ? 3 : 1) * 10 ** Math.floor(i / 2))];

/** The nearest number of a dtype, ties to even. */
function roundTo(x, dtype) {
  const [bits, lowest, largest] = DTYPES[dtype];
  if (!Number.isFinite(x) || x === 0) return x;
  let exponent = Math.floor(Math.log2(Math.abs(x)));
  if (2 ** exponent > Math.abs(x)) exponent--;
  if (2 ** (exponent + 1) <= Math.abs(x)) exponent++;
  const unit = 2 ** (Math.max(exponent, lowest) - bits), parts = x / unit;
  let whole = Math.floor(parts);
  const rest = parts - whole;
  if (rest > 0.5 || (rest === 0.5 && whole % 2)) whole++;
  const rounded = whole * unit;
  return Math.abs(rounded) > largest ? Math.sign(x) * Infinity : rounded;
}

const power = (v) => {
  if (!v) return "0";
  const e = Math.floor(Math.log10(-v) + 1e-9), first = Math.round(-v / 10 ** e);
  return `−${first === 1 ? "" : `${first}·`}10${[...String(e)].map((d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[+d]).join("")}`;
};

export default course({
  numbers(get) {
    const row = (dtype, mask) => {
      const allowed = get("scores").slice(0, ALLOWED).map((s) => roundTo(s + get("shift"), dtype));
      const masked = Array(WORDS.length - ALLOWED).fill(roundTo(MASKS[mask], dtype));
      return softmax([...allowed, ...masked]).map((w) => roundTo(w, dtype));
    };
    const sum = (a) => a.reduce((x, y) => x + y, 0), weights = row(get("dtype"), get("mask"));
    const leaks = {};
    for (const d in DTYPES) leaks[d] = Object.keys(MASKS).map((m) => sum(row(d, m).slice(ALLOWED)));
    return {
      say: sum(weights) ? "" : "empty", dtype: get("dtype"), mask: get("mask"), weights,
      open: weights.slice(0, ALLOWED).map((w) => fixed(w, 3)).join(", "), closed: weights.slice(ALLOWED).map((w) => fixed(w, 3)).join(", "),
      allowed: sum(weights.slice(0, ALLOWED)), leak: sum(weights.slice(ALLOWED)), leaks,
    };
  },

  controls: (get, t) => [
    { kind: "columns", trait: "scores", label: t("scores"), labels: WORDS, min: -4, max: 4, step: 0.25, text: (v) => fixed(v, 2), off: (i) => i >= ALLOWED },
    { kind: "range", trait: "shift", label: t("shift"), values: SHIFTS, text: power, log: true },
    { kind: "choice", trait: "mask", label: t("mask"), options: Object.keys(MASKS).map((m) => [m, m]) },
    { kind: "choice", trait: "dtype", label: t("dtype"), options: Object.keys(DTYPES).map((d) => [d, d]) },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f;
    return (n, W) => {
      const y = 56, height = 130, step = W / WORDS.length, g = layer(svg, "row");
      const top = (w) => y + height * (1 - w);
      join(layer(g, "base"), "path", [0], () => ({ d: `M0 ${y + height}H${W}`, class: "cw-axis" }));
      join(layer(g, "masked"), "rect", [0], () => ({ x: step * ALLOWED + 3, y, width: step * (WORDS.length - ALLOWED) - 6, height, fill: f.hatch }));
      const bar = n.weights.map((w, i) => [step * (i + 0.22), top(w), step * 0.56, height * w]);
      join(layer(g, "bars"), "path", [bar.slice(0, ALLOWED), bar.slice(ALLOWED)], (list, i) => ({ d: boxes(list), class: `cw-fill ${i ? "wrong" : "attention"}` }));
      const leaking = n.weights.map((w, i) => [w, i]).filter(([w, i]) => i >= ALLOWED && w > 0);
      join(layer(g, "crosses"), "path", leaking, ([w, i]) => ({ d: cross(step * (i + 0.5), Math.max(top(w), y) - 28, 5), class: "cw-line cross" }));
      const words = [
        { x: 0, y: 13, class: "cw-label", "text-anchor": "start", text: t("weights") },
        ...n.weights.map((w, i) => ({ x: step * (i + 0.5), y: Math.max(top(w) - 6, y - 6), class: i < ALLOWED ? "" : w ? "wrong" : "cw-small", "text-anchor": "middle", text: fixed(w, 3) })),
      ];
      join(layer(g, "words"), "text", words, (a) => a);
      attributes(svg, { width: W, height: y + height + 2, viewBox: `0 0 ${W} ${y + height + 2}` });
    };
  },
});

// ScaledSoftmax: one row of 64 scores q · k, divided by √d_k beside undivided, over the slider d_k.

const SEQUENCES = 4, TOKENS = 64, WIDTH = 1024, ROWS = SEQUENCES * TOKENS;
// Four steps an octave: a logarithmic slider.
const LADDER = [...new Set(Array.from({ length: 33 }, (_, i) => Math.round(4 * 2 ** (i / 4))))];

const banks = new Map();

/** A bank: q as drawn, k transposed to (sequence, entry, token), scores at each step of the ladder. */
function* makeBank(seed) {
  const size = SEQUENCES * TOKENS * WIDTH, q = new Float64Array(size), k = new Float64Array(size);
  const row = new Float64Array(WIDTH);
  for (let r = 0; r < ROWS; r++) {
    normals(seed, r * WIDTH, q.subarray(r * WIDTH, (r + 1) * WIDTH));
    normals(seed, size + r * WIDTH, row);
    const base = Math.floor(r / TOKENS) * WIDTH * TOKENS + (r % TOKENS);
    for (let i = 0; i < WIDTH; i++) k[base + i * TOKENS] = row[i];
    if (r % 8 === 7) yield;
  }
  const bank = { q, k, scores: LADDER.map(() => new Float64Array(ROWS * TOKENS)), curve: [] };
  const sums = new Float64Array(TOKENS);
  for (let r = 0; r < ROWS; r++) {
    sums.fill(0);
    LADDER.forEach((d, step) => {
      extend(bank, r, sums, step ? LADDER[step - 1] : 0, d);
      bank.scores[step].set(sums, r * TOKENS);
    });
    if (r % 16 === 15) yield;
  }
  for (const [step, d] of LADDER.entries()) {
    bank.curve.push({ d, divided: means(bank.scores[step], Math.sqrt(d)), undivided: means(bank.scores[step], 1) });
    yield;
  }
  banks.set(seed, bank);
}

/** Add entries from … to − 1 of the products to the 64 running sums of a row. */
function extend({ q, k }, r, sums, from, to) {
  const base = Math.floor(r / TOKENS) * WIDTH * TOKENS;
  for (let i = from; i < to; i++) {
    const a = q[r * WIDTH + i], at = base + i * TOKENS;
    for (let j = 0; j < TOKENS; j++) sums[j] += a * k[at + j];
  }
}

/** Weights and statistics of one row of scores; `into` receives the weights. */
function rowOf(scores, at, divisor, into) {
  let top = -Infinity, sum = 0, h = 0, trace = 0, most = 0;
  for (let j = 0; j < TOKENS; j++) top = Math.max(top, scores[at + j] / divisor);
  for (let j = 0; j < TOKENS; j++) sum += into[j] = Math.exp(scores[at + j] / divisor - top);
  for (let j = 0; j < TOKENS; j++) {
    const w = (into[j] /= sum);
    if (w > 0) h -= w * Math.log(w);
    trace += w * (1 - w);
    most = Math.max(most, w);
  }
  return { entropy: h, tokens: Math.exp(h), trace, top: most };
}

function means(scores, divisor) {
  const w = new Float64Array(TOKENS);
  let tokens = 0, trace = 0, frozen = 0;
  for (let r = 0; r < ROWS; r++) {
    const of = rowOf(scores, r * TOKENS, divisor, w);
    tokens += of.tokens / ROWS, trace += of.trace / ROWS, frozen += (of.trace < 0.01) / ROWS;
  }
  return { mean_tokens: tokens, mean_trace: trace, frozen };
}

/** All scores at d_k: read from the ladder, or the last step before it and the entries between. */
function scoresAt(bank, d) {
  const step = LADDER.findLastIndex((v) => v <= d), all = bank.scores[step];
  if (LADDER[step] === d) return { all, known: bank.curve[step] };
  const out = Float64Array.from(all);
  for (let r = 0; r < ROWS; r++) extend(bank, r, out.subarray(r * TOKENS, (r + 1) * TOKENS), LADDER[step], d);
  return { all: out };
}

export default course({
  prepare: (get) => (banks.has(get("seed")) ? [][Symbol.iterator]() : makeBank(get("seed"))),
  traits: ["row"],

  numbers(get) {
    const d = get("d_k"), row = get("row"), bank = banks.get(get("seed"));
    const { all, known } = scoresAt(bank, d), n = { d_k: d, row };
    for (const [name, divisor] of [["divided", Math.sqrt(d)], ["undivided", 1]]) {
      const weights = new Array(TOKENS);
      n[name] = { ...rowOf(all, row * TOKENS, divisor, weights), ...(known?.[name] ?? means(all, divisor)), weights };
    }
    return n;
  },

  controls: (get, t) => [
    { kind: "range", trait: "d_k", label: t("d_k"), values: LADDER, log: true },
    { kind: "range", trait: "row", label: t("row"), min: 0, max: ROWS - 1, text: (v) => t("row_text", { row: v + 1 }), end: (v) => String(v + 1) },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f, bank = banks.get(f.get("seed"));
    const kinds = [["divided", "attention"], ["undivided", "wrong"]];
    const short = (v) => String(v).replace(/^0\./, ".");
    return (n, W) => {
      const wide = W >= 520, left = 26, right = 14, gap = 44;
      const half = (W - left - right - gap) / 2, barWidth = wide ? half : W - left - right;
      const barHeight = wide ? 140 : 84, lineHeight = wide ? 120 : 110, below = 50;
      // Both charts of weights share one scale, the smallest of these that holds the larger weight.
      const top = [0.125, 0.25, 0.5, 1].find((v) => v >= Math.max(n.divided.top, n.undivided.top) - 1e-9) ?? 1;
      kinds.forEach(([name, kind], i) => {
        const x = left + (wide ? i * (half + gap) : 0), y = 24 + (wide ? 0 : i * (barHeight + below));
        const p = plot(svg, `bars-${name}`, {
          x, y, w: barWidth, h: barHeight, title: t(name),
          X: { range: [0.5, TOKENS + 0.5], ticks: [1, 16, 32, 48, 64] },
          Y: { range: [0, top], ticks: [0, top], text: short },
        });
        bars(p, "bars", n[name].weights, `cw-fill ${kind}`);
        const taken = n[name].top > 0.9;
        join(layer(p.g, "cross"), "path", taken ? [0] : [], () => ({ d: cross(x + barWidth - 8, y - 13), class: "cw-line cross" }));
      });
      const y = 24 + (barHeight + below) * (wide ? 1 : 2) + 4;
      const charts = [["mean_tokens", "tokens_plot", [0, 64], [0, 32, 64]], ["mean_trace", "trace_plot", [0, 1], [0, 0.5, 1]]];
      charts.forEach(([key, title, range, ticks], i) => {
        const p = plot(svg, key, {
          x: left + i * (half + gap), y, w: half, h: lineHeight, title: t(title),
          X: { range: [4, 1024], ticks: wide ? [4, 16, 64, 256, 1024] : [4, 64, 1024], log: true },
          Y: { range, ticks, text: short },
        });
        join(layer(p.g, "guide"), "path", [0], () => ({ d: `M${p.sx(n.d_k).toFixed(1)} ${y}V${y + lineHeight}`, class: "cw-line guide" }));
        for (const [name, kind] of kinds) {
          curve(p, name, () => bank.curve.map((c) => [c.d, c[name][key]]), kind, f.get("seed"));
          join(layer(p.g, `dot-${name}`), "circle", [0], () => ({ cx: p.sx(n.d_k).toFixed(1), cy: p.sy(n[name][key]).toFixed(1), r: 4.5, class: `cw-fill ${kind}` }));
        }
        // Each name stands by its own curve, clear of the other.
        const end = bank.curve.at(-1), early = bank.curve.find((c) => c.d >= 16);
        const words = [
          { x: left + i * (half + gap) + half, y: p.sy(end.divided[key]) + (key === "mean_trace" ? 17 : -8), "text-anchor": "end", class: "cw-label attention", text: t("divided_short") },
          { x: p.sx(early.d) + 6, y: p.sy(early.undivided[key]) - 7, "text-anchor": "start", class: "cw-label wrong", text: t("undivided") },
        ];
        join(layer(p.g, "words"), "text", words, (word) => word);
      });
      const height = y + lineHeight + 24;
      attributes(svg, { width: W, height, viewBox: `0 0 ${W} ${height}` });
    };
  },
});

// PronounMaps: the weights of one position, block by block, for two adjectives laid over each other.

let held = null;
function tensors(get) {
  if (held?.from !== get("weights")) held = { from: get("weights"), w: unpack(get("weights")), s: unpack(get("scores")) };
  const [, L, S] = held.w.shape, row = (a, l) => Array.from(held.w.subarray((a * L + l) * S, (a * L + l + 1) * S));
  return { L, S, row, scores: held.s && ((a) => Array.from(held.s.subarray(a * S, (a + 1) * S))) };
}

export default course({
  numbers(get) {
    const a = get("adjective"), b = get("against"), { L, row, scores } = tensors(get), words = get("sentences");
    const looks = Array.from({ length: L }, (_, l) => {
      const r = row(a, l), weight = Math.max(...r);
      return { token: words[a][r.indexOf(weight)], weight };
    });
    const apart = (l, all) => Math.max(...row(a, l).map((v, j) => (all || words[a][j] === words[b][j] ? Math.abs(v - row(b, l)[j]) : 0)));
    const out = {
      adjective: get("adjectives")[a], against: get("adjectives")[b], referent: get("referents")[a], looks, last: looks.at(-1),
      moved_first: apart(0, false), moved_last: apart(L - 1, true),
    };
    if (scores) out.scores_moved = Math.max(...scores(a).map((v, j) => (words[a][j] === words[b][j] ? Math.abs(Math.fround(v - scores(b)[j])) : 0)));
    return out;
  },

  controls(get, t) {
    const options = get("adjectives").map((a, i) => [i, a]);
    return [
      { kind: "choice", trait: "adjective", label: t("adjective"), options },
      { kind: "select", trait: "against", label: t("against"), options },
    ];
  },

  picture(f) {
    const svg = f.svg(), { t } = f;
    return (n, W) => {
      const { L, S, row } = tensors(f.get), a = f.get("adjective"), b = f.get("against"), words = f.get("sentences")[a], step = W / S, high = 96, gap = 40;
      for (let l = 0; l < L; l++) {
        const y = 26 + l * (high + gap), g = layer(svg, `block-${l}`), top = (v) => y + high * (1 - v), all = (of, s) => boxes(row(of, l).map((v, i) => [step * (i + s), top(v), step * (1 - 2 * s), high * v]));
        join(layer(g, "base"), "path", [0], () => ({ d: `M0 ${y + high}H${W}M0 ${y}H${W}`, class: "cw-grid" }));
        join(layer(g, "now"), "path", [0], () => ({ d: all(a, 0.16), class: "cw-fill attention" }));
        join(layer(g, "then"), "path", [0], () => ({ d: all(b, 0.08), class: "cw-outline" }));
        join(layer(g, "name"), "text", [0], () => ({ x: 0, y: y - 8, class: "cw-label", text: t("block", { number: l + 1 }) }));
      }
      const y = 26 + L * (high + gap) - gap + 12, differs = (i) => words[i] !== f.get("sentences")[b][i];
      join(layer(svg, "words"), "text", words, (text, i) => {
        const cx = step * (i + 0.5) + 4;
        return { x: cx.toFixed(1), y, "text-anchor": "end", transform: `rotate(-55 ${cx.toFixed(1)} ${y})`, class: differs(i) ? "cw-label query" : "cw-small", text };
      });
      const height = y + 58;
      attributes(svg, { width: W, height, viewBox: `0 0 ${W} ${height}` });
    };
  },
});

// NormsAndWarmup: four recorded runs; the chosen one in front.

const chosen = (get) => get("rows").find((r) => r.norm === get("norm") && r.warmup === get("warmup"));

export default course({
  numbers(get) {
    const r = chosen(get), text = get("strings")[get("warmup") ? "label_warmup" : "label_plain"].replace("{norm}", get("norm"));
    const label = text[0].toUpperCase() + text.slice(1);
    if (!r) return { say: "none", label };
    return { say: "", label, mean: r.mean, published: r.published, measured: measured(r, get("strings")), ratio: r.gradient.at(-1) / r.gradient[0] };
  },

  controls: (get, t) => [
    { kind: "choice", trait: "norm", label: t("norm"), options: [["pre", t("pre")], ["post", t("post")]] },
    { kind: "check", trait: "warmup", label: t("warmup") },
  ],

  picture(f) {
    const svg = f.svg(), { t } = f, rows = f.get("rows");
    return (n, W) => {
      const wide = W >= 520, now = chosen(f.get), left = 34, wideLoss = wide ? (W - left) * 0.58 - 30 : W - left - 14, y = 28, height = 200;
      const all = rows.flatMap((r) => r.loss), steps = Math.max(...all.map((p) => p[0])), hi = Math.ceil(Math.max(...all.map((p) => p[1])));
      const lo = Math.floor(Math.min(...all.map((p) => p[1])));
      const p = plot(svg, "loss", { x: left, y, w: wideLoss, h: height, title: t("loss"), X: { range: [0, steps], ticks: [0, steps / 2, steps], text: (v) => fixed(v, 0) }, Y: { range: [lo, hi], ticks: [lo, (lo + hi) / 2, hi] } });
      const bad = (r) => r.norm === "post" && !r.warmup, kind = (norm) => (norm === "pre" ? "attention" : "average");
      const ordered = [...rows.filter((r) => r !== now), ...(now ? [now] : [])];
      join(layer(p.g, "runs"), "path", ordered, (r) => ({
        d: r.loss.map(([a, b], i) => `${i ? "L" : "M"}${p.sx(a).toFixed(1)} ${p.sy(b).toFixed(1)}`).join(""),
        class: `cw-line ${r === now ? (bad(r) ? "wrong" : kind(r.norm)) : "faint"}`,
      }));
      if (now) {
        join(layer(p.g, "name"), "text", [0], () => ({ x: left + wideLoss, y: y + 16, "text-anchor": "end", class: `cw-label ${bad(now) ? "wrong" : kind(now.norm)}`, text: n.label }));
        join(layer(p.g, "cross"), "path", bad(now) ? [0] : [], () => ({ d: cross(p.sx(now.loss.at(-1)[0]), p.sy(now.loss.at(-1)[1]), 5), class: "cw-line cross" }));
      }
      const x2 = wide ? left + wideLoss + 58 : left + 14, y2 = wide ? y : y + height + 62, grads = rows.filter((r) => !r.warmup || !rows.some((o) => o.norm === r.norm && !o.warmup));
      const most = Math.max(...grads.flatMap((r) => r.gradient), 1e-9), unit = 10 ** Math.floor(Math.log10(most)), top = Math.ceil(most / unit) * unit, blocks = grads[0]?.gradient.length ?? 1;
      const q = plot(svg, "gradient", { x: x2, y: y2, w: W - x2 - (wide ? 34 : 40), h: wide ? height : 120, title: t("gradient"), X: { range: [1, blocks], ticks: [1, blocks], label: t("block") }, Y: { range: [0, top], ticks: [0, top], text: (v) => String(+v.toPrecision(2)) } });
      for (const r of grads) curve(q, r.norm, r.gradient.map((g, i) => [i + 1, g]), kind(r.norm));
      join(layer(q.g, "names"), "text", grads, (r) => ({ x: q.box.x + q.box.w + 5, y: q.sy(r.gradient.at(-1)) + 4, class: `cw-label ${kind(r.norm)}`, text: r.norm }));
      const total = (wide ? y + height : y2 + 120) + 40;
      attributes(svg, { width: W, height: total, viewBox: `0 0 ${W} ${total}` });
    };
  },
});

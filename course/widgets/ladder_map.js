// LadderMap: the rungs as rows, perplexity to the right on a logarithmic scale.

export default course({
  numbers(get) {
    const rung = get("rung"), rows = get("rows"), row = rows[rung - 1], before = rows[rung - 2]?.mean ?? null, strings = get("strings");
    const step = row.mean === null || before === null ? null : row.mean - before;
    return {
      say: row.mean === null ? "none" : step === null ? "" : "step", rung, before: rung - 1, name: strings.names[rung - 1],
      mean: row.mean, published: row.published, measured: row.mean === null ? "" : measured(row, strings),
      step: step === null ? null : Math.abs(step), direction: strings[step !== null && step < 0 ? "better" : "worse"],
    };
  },

  controls: (get, t) => [{ kind: "range", trait: "rung", label: t("rung"), min: 1, max: get("rows").length }],

  picture(f) {
    const svg = f.svg(), { t } = f, rows = f.get("rows"), names = t("names");
    return (n, W) => {
      const wide = W >= 520, left = wide ? 176 : 8, step = wide ? 34 : 44, y = 26, height = rows.length * step, drop = wide ? 0 : 12;
      const p = plot(svg, "map", {
        x: left, y, w: W - left - 44, h: height, title: t("perplexity"),
        X: { range: [30, 320], ticks: [30, 60, 120, 240], log: true }, Y: { range: [0, 1], ticks: [] },
      });
      const at = (i) => y + step * (i + 0.5) + drop, shown = rows.slice(0, n.rung);
      join(layer(p.g, "rows"), "path", rows, (_, i) => ({ d: `M${left} ${at(i)}H${W - 44}`, class: "cw-grid" }));
      const done = shown.map((row, i) => ({ ...row, i })).filter((row) => row.mean !== null);
      join(layer(p.g, "path"), "path", [0], () => ({ d: done.map((r, k) => `${k ? "L" : "M"}${p.sx(r.mean).toFixed(1)} ${at(r.i)}`).join(""), class: "cw-line guide" }));
      join(layer(p.g, "published"), "circle", shown.map((row, i) => ({ ...row, i })), (r) => ({ cx: p.sx(r.published).toFixed(1), cy: at(r.i), r: 5.5, class: "cw-open" }));
      join(layer(p.g, "spread"), "path", done, (r) => ({ d: `M${p.sx(Math.max(30, r.mean - r.sd)).toFixed(1)} ${at(r.i)}H${p.sx(r.mean + r.sd).toFixed(1)}`, class: "cw-spread" }));
      // Rungs without attention are grey, those with it blue; so is the number that goes with the dot.
      const kind = (i) => (i < 4 ? "average" : "attention");
      join(layer(p.g, "dots"), "circle", done, (r) => ({ cx: p.sx(r.mean).toFixed(1), cy: at(r.i), r: r.i + 1 === n.rung ? 6 : 4, class: `cw-fill ${kind(r.i)}` }));
      // After the path: on a phone it runs behind the names.
      join(layer(p.g, "names"), "text", rows, (_, i) => ({
        x: wide ? left - 10 : left, y: wide ? at(i) + 4 : at(i) - 11, "text-anchor": wide ? "end" : "start",
        class: i + 1 > n.rung ? "cw-small" : i + 1 === n.rung ? "cw-label" : wide ? "" : "cw-halo", text: `${i + 1}  ${names[i]}`,
      }));
      // A number stands at the right of both marks, and at their left where it would not fit there.
      const labels = shown.map((row, i) => {
        const marks = row.mean === null ? [row.published] : [row.mean, row.published];
        const text = row.mean === null ? t("not_measured") : fixed(row.mean, 1) + (row.stale ? ` (${t("stale")})` : "");
        const right = p.sx(Math.max(...marks)) + 11, fits = right + 6.5 * text.length < W;
        return { x: fits ? right : p.sx(Math.min(...marks)) - 11, y: at(i) + 4, "text-anchor": fits ? "start" : "end", class: row.mean === null ? "cw-small" : `cw-halo ${kind(i)}`, text };
      });
      join(layer(p.g, "values"), "text", labels, (a) => a);
      attributes(svg, { width: W, height: y + height + 24, viewBox: `0 0 ${W} ${y + height + 24}` });
    };
  },
});

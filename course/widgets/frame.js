// The frame every widget of the course shares; a widget's own file follows it in the same module.
//
// A widget is `export default course({...})` with
//   numbers(get)     traits → an object of numbers; the same as the Python twin's `numbers()`
//   controls(get, t) a list of controls, each bound to one trait
//   picture(f)       builds the picture once and returns `update(n, width)`
//   *prepare(get)    optional: slow work before the first picture, yielding often
// It draws only when a trait changes, at most once a frame, and nothing moves by itself.
// A draw only writes, and only what differs from last time: it reads no size and no style (that
// would lay the page out twice), changes the text of a node in place, and adds and takes away no
// nodes where it can hide them.

// ---------------------------------------------------------------- numbers and text

/** Fixed decimals, ties away from zero, no negative zero: equal to course.widgets.arithmetic.fixed. */
function fixed(x, digits, group = false) {
  if (Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  let text = Math.abs(x).toFixed(digits);
  if (group) text = text.replace(/\B(?=(\d{3})+(?!\d))/g, ",").replace(/\.(.*)$/, (m) => m.replaceAll(",", ""));
  return (x < 0 && /[1-9]/.test(text) ? "−" : "") + text;
}

/** "{a.b:.2f}" filled from n: kinds f, d and %, a comma groups thousands, no kind is plain text. */
function fill(template, n) {
  return template.replace(/\{([\w.]+)(?::(,?)(?:\.(\d+))?([fd%]))?\}/g, (_, path, group, digits, kind) => {
    const value = path.split(".").reduce((o, key) => o?.[key], n);
    if (value === undefined || value === null) return "–";
    if (!kind) return String(value);
    if (kind === "%") return fixed(100 * value, +(digits ?? 0), !!group) + "\u00a0%";
    return fixed(value, kind === "d" ? 0 : +(digits ?? 6), !!group);
  });
}

/** A recorded mean as text, with its spread over seeds. */
const measured = (row, strings) => fill(strings[row.n === 1 ? "one_seed" : "seeds"], row);

/** Softmax of one row; −∞ is masked; a row with nothing left is all zeros. */
function softmax(scores) {
  const top = Math.max(...scores);
  if (top === -Infinity) return scores.map(() => 0);
  const e = scores.map((s) => Math.exp(s - top));
  const sum = e.reduce((a, b) => a + b, 0);
  return e.map((x) => x / sum);
}

/** Entropy in nats of one row of weights (0 · ln 0 = 0). */
const entropy = (weights) => weights.reduce((a, w) => (w > 0 ? a - w * Math.log(w) : a), 0);

/** What course.widgets.base.Array sends: {dtype, shape, data (base64)} → a typed array with .shape. */
function unpack(packed) {
  if (!packed) return null;
  const raw = atob(packed.data), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const kinds = { float64: Float64Array, float32: Float32Array, int32: Int32Array, int16: Int16Array, uint8: Uint8Array };
  let out;
  if (packed.dtype === "float16") {
    out = Float64Array.from(new Uint16Array(bytes.buffer), (u) => {
      const sign = u >> 15 ? -1 : 1, exponent = (u >> 10) & 31, fraction = u & 1023;
      if (exponent === 31) return fraction ? NaN : sign * Infinity;
      return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
    });
  } else out = new kinds[packed.dtype](bytes.buffer);
  out.shape = packed.shape;
  return out;
}

// ---------------------------------------------------------------- elements

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = /^(svg|g|rect|line|path|circle|text|tspan|defs|pattern|polyline|polygon)$/;

/** The text of a node that holds only text, written in place and only where it differs. */
function say(node, text) {
  if (node._said === (text = String(text))) return;
  node._said = text;
  if (node.firstChild) node.firstChild.data = text;
  else node.append(text);
}

/** Set attributes, skipping those that did not change (`text` is the content). */
function attributes(node, wanted) {
  const had = (node._had ??= {});
  for (const key in wanted) {
    const value = wanted[key];
    if (had[key] === value) continue;
    had[key] = value;
    if (key === "text") say(node, value);
    else if (key.startsWith("on")) node[key] = value;
    else if (value === null || value === undefined || value === false) node.removeAttribute(key);
    else node.setAttribute(key, value === true ? "" : value);
  }
  return node;
}

/** h("rect", {...}, child, …): an element, SVG or HTML by its name. */
function h(tag, wanted = {}, ...children) {
  const node = SHAPES.test(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  attributes(node, wanted);
  node.append(...children);
  return node;
}

/** The named group inside a parent, made at the first call. */
const layer = (parent, name) => ((parent._layers ??= {})[name] ??= parent.appendChild(h("g")));

/**
 * Make the parent show one `tag` an item, with the attributes that `each(item, i)` gives. In a
 * picture, nodes that are left over are hidden until they are wanted again.
 */
function join(parent, tag, items, each) {
  const nodes = (parent._nodes ??= []), shown = parent._shown ?? 0, picture = SHAPES.test(tag);
  for (let i = 0; i < items.length; i++) {
    const node = (nodes[i] ??= parent.appendChild(h(tag)));
    if (picture && i >= shown) attributes(node, { display: null });
    attributes(node, each(items[i], i));
  }
  if (picture) for (let i = items.length; i < shown; i++) attributes(nodes[i], { display: "none" });
  else while (nodes.length > items.length) nodes.pop().remove();
  parent._shown = items.length;
  return parent;
}

/** Whether a part of the picture has to be drawn anew: its key is not the one of last time. */
function stale(parent, name, key) {
  const keys = (parent._keys ??= {});
  if (keys[name] === key) return false;
  keys[name] = key;
  return true;
}

/** Rectangles as one path: a browser styles, lays out and paints one element and not one a bar. */
function boxes(list) {
  let d = "";
  for (const [x, y, w, height] of list) if (w > 0 && height > 0) d += `M${x.toFixed(2)} ${y.toFixed(2)}h${w.toFixed(2)}v${height.toFixed(2)}h${(-w).toFixed(2)}z`;
  return d;
}

// ---------------------------------------------------------------- the controls

// Each widget carries a frame of its own; what is unique on a page has to be counted by the page.
const serial = () => (globalThis.courseWidgetSerial = (globalThis.courseWidgetSerial ?? 0) + 1);
const near = (values, x) => values.reduce((best, v, i) => (Math.abs(v - x) < Math.abs(values[best] - x) ? i : best), 0);

/** One control: {element, show()}; `f.set` is called with the trait's new value. */
function control(f, c) {
  const id = `cw-control-${serial()}`, t = f.t;
  const value = c.value ?? (() => f.get(c.trait)), put = c.put ?? ((v) => f.set(c.trait, v));
  const name = h("span", { class: "cw-name", text: c.label });
  if (c.kind === "range") {
    // A ladder of values (c.values) is how a logarithmic slider is made: equal steps, growing values.
    const text = (v) => (c.text ? c.text(v) : String(v));
    const input = h("input", { type: "range", id, "data-trait": c.trait, step: c.values ? 1 : c.step ?? 1 });
    const now = h("output", { class: "cw-now", for: id, "aria-hidden": "true" });
    const ends = [h("span"), h("span"), h("span")];
    let filled = "";
    const show = () => {
      const v = value(), values = typeof c.values === "function" ? c.values() : c.values;
      const [min, max] = values ? [0, values.length - 1] : [c.min, typeof c.max === "function" ? c.max() : c.max];
      attributes(input, { min, max });
      const at = String(values ? near(values, v) : v);
      if (input.value !== at) input.value = at;
      const part = `${(100 * (input.value - min)) / (max - min || 1)}%`, written = text(v);
      if (part !== filled) input.style.setProperty("--cw-at", (filled = part));
      say(now, written);
      attributes(input, { "aria-valuetext": c.say ? c.say(v) : `${c.label} ${written}` });
      const end = c.end ?? text;
      say(ends[0], end(values ? values[0] : min));
      say(ends[1], c.log ? t("logarithmic") : "");
      say(ends[2], end(values ? values[max] : max));
    };
    input.oninput = () => {
      const values = typeof c.values === "function" ? c.values() : c.values;
      put(values ? values[+input.value] : +input.value);
    };
    return { element: h("div", { class: "cw-control cw-range" }, h("label", { for: id }, name, now), input, h("span", { class: "cw-ends", "aria-hidden": "true" }, ...ends)), show };
  }
  if (c.kind === "select") {
    const input = h("select", { id, "data-trait": c.trait });
    const show = () => {
      const options = typeof c.options === "function" ? c.options() : c.options;
      join(input, "option", options, ([value, text]) => ({ value: String(value), text }));
      const chosen = String(value());
      if (input.value !== chosen) input.value = chosen;
    };
    input.onchange = () => {
      const options = typeof c.options === "function" ? c.options() : c.options;
      put(options[input.selectedIndex][0]);
    };
    return { element: h("div", { class: "cw-control" }, h("label", { for: id }, name), input), show };
  }
  if (c.kind === "check") {
    const input = h("input", { type: "checkbox", id, "data-trait": c.trait });
    input.onchange = () => put(input.checked);
    const show = () => (input.checked = !!value());
    return { element: h("label", { class: "cw-control cw-check", for: id }, input, name), show };
  }
  if (c.kind === "choice") {
    // A few alternatives side by side: real radio buttons, so that arrow keys move between them.
    const box = h("span", { class: "cw-choices" });
    let inputs = [];
    const show = () => {
      const options = typeof c.options === "function" ? c.options() : c.options;
      if (inputs.length !== options.length) {
        inputs = [];
        box.replaceChildren(...options.map(([option, text], i) => {
          const input = inputs[i] = h("input", { type: "radio", name: id, id: `${id}-${i}`, "data-trait": c.trait, value: String(option) });
          input.onchange = () => put(option);
          return h("label", { for: `${id}-${i}` }, input, h("span", { text }));
        }));
      }
      const chosen = value();
      options.forEach(([option], i) => inputs[i].checked !== (option === chosen) && (inputs[i].checked = option === chosen));
    };
    const legend = h("span", { class: "cw-name", id, text: c.label });
    return { element: h("div", { class: "cw-control", role: "radiogroup", "aria-labelledby": id }, legend, box), show };
  }
  if (c.kind === "columns") {
    // One upright slider for each entry of a list, under the columns of the picture.
    const box = h("div", { class: "cw-columns", role: "group", "aria-label": c.label });
    const replace = (i, v) => put(value().map((old, j) => (j === i ? v : old))), columns = [];
    c.labels.forEach((label, i) => {
      const input = h("input", { type: "range", id: `${id}-${i}`, min: c.min, max: c.max, step: c.step, "data-trait": c.trait, "data-index": i, disabled: !!c.off?.(i), "aria-orientation": "vertical" });
      input.oninput = () => replace(i, +input.value);
      const now = h("output", { class: "cw-now", for: `${id}-${i}`, "aria-hidden": "true" });
      columns.push([now, input]);
      box.append(h("div", {}, now, input, h("label", { for: `${id}-${i}`, text: label })));
    });
    const show = () => f.get(c.trait).forEach((v, i) => {
      const [now, input] = columns[i];
      if (input.value !== String(v)) input.value = v;
      say(now, c.text(v));
      attributes(input, { "aria-valuetext": `${c.label} ${c.labels[i]} ${c.text(v)}` });
    });
    return { element: h("div", { class: "cw-control cw-wide" }, name, box), show };
  }
  if (c.kind === "grid") {
    // A matrix of numbers to type over: rows are tokens.
    const table = h("table", { class: "cw-grid-input", "aria-label": c.label }), inputs = c.rows.map(() => []);
    c.rows.forEach((row, i) => table.append(h("tr", {}, h("th", { scope: "row", text: row }), ...f.get(c.trait)[i].map((_, j) => {
      const input = inputs[i][j] = h("input", { type: "number", step: c.step, min: c.min, max: c.max, "data-trait": c.trait, "aria-label": `${row}, ${j + 1}` });
      input.onchange = () => {
        const v = input.value === "" ? NaN : +input.value, all = f.get(c.trait).map((r) => [...r]);
        if (!Number.isNaN(v)) all[i][j] = Math.min(c.max, Math.max(c.min, v));
        f.set(c.trait, all);
      };
      return h("td", {}, input);
    }))));
    const show = () => f.get(c.trait).forEach((r, i) => r.forEach((v, j) => inputs[i][j].value !== String(v) && (inputs[i][j].value = v)));
    return { element: h("div", { class: "cw-control cw-wide" }, name, table), show };
  }
  if (c.kind === "button") {
    const button = h("button", { type: "button", "data-act": c.act, text: c.label });
    button.onclick = () => c.run(f);
    return { element: h("div", { class: "cw-control cw-push" }, button), show: () => {} };
  }
  throw new Error(`no control is called ${c.kind}`);
}

// ---------------------------------------------------------------- the frame

// The attributes of <html> and <body> by which the book, JupyterLab, Colab and VS Code name a theme.
const THEMES = ["data-theme", "theme", "data-jp-theme-light", "data-vscode-theme-kind"];

const course = (spec) => ({
  ...spec,
  render({ model, el }) {
    const get = (trait) => model.get(trait), strings = get("strings");
    const t = (key, n) => (n ? fill(strings[key] ?? key, n) : strings[key] ?? key);
    const start = {}, id = `cw-${serial()}`;
    const f = { get, t, id, hatch: `url(#${id}-hatch)`, last: null };
    // f.set("trait", value) or f.set({trait: value, …})
    f.set = (trait, value) => {
      model.set(trait, value);
      model.save_changes();
      schedule();
    };
    const title = h("p", { class: "cw-title", id: `${id}-title`, text: t("title") });
    const picture = h("div", { class: "cw-picture" });
    const controls = h("div", { class: "cw-controls" });
    const readout = h("p", { class: "cw-readout" });
    const table = h("table", { class: "cw-table" });
    const spoken = h("div", { class: "cw-spoken", role: "status" });
    const look = h("p", { class: "cw-look" }, h("b", { text: t("look_for_label") }), " " + t("look_for"));
    const root = h("div", { class: "course-widget", role: "group", "aria-labelledby": `${id}-title`, "data-widget": get("_anywidget_id")?.split(".").pop() ?? "" },
      title, picture, controls, table, readout, spoken, look);
    // JupyterLab takes arrow keys and letters for its own commands unless they stop here.
    for (const kind of ["keydown", "keypress", "keyup"]) root.addEventListener(kind, (e) => e.stopPropagation());
    root.course = f;
    el.append(root);

    if (get("missing")) {
      picture.append(h("p", { class: "cw-missing", text: get("missing") }));
      controls.remove(), table.remove(), readout.remove();
      root.dataset.ready = "missing";
      return () => root.remove();
    }

    f.svg = function (name, label) {
      const hatch = h("pattern", { id: `${id}-hatch`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, h("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "cw-hatch" }));
      const svg = h("svg", { class: `cw-svg ${name ?? ""}`, role: "img", "aria-label": label ?? t("picture") }, h("defs", {}, hatch));
      svg._f = this;
      this.picture.append(svg);
      return svg;
    };
    f.picture = picture;
    // What is drawn in pixels has to be drawn anew in another theme; the page tells when it changes.
    let colours = {}, themes = 0;
    f.theme = () => themes;
    f.colour = (named) => (colours[named] ??= getComputedStyle(root).getPropertyValue(`--course-${named}`).trim());
    const themed = () => {
      colours = {}, themes++;
      schedule();
    };
    const watch = new MutationObserver(themed), system = matchMedia("(prefers-color-scheme: dark)");
    for (const node of [document.documentElement, document.body]) watch.observe(node, { attributeFilter: THEMES });
    system.addEventListener("change", themed);

    let update = null, list = [], frame = 0, speak = 0, width = 0, alive = true;
    const draw = () => {
      frame = 0;
      if (!alive || !update || !width) return;
      const n = spec.numbers(get);
      f.last = n;
      for (const c of list) c.show();
      update(n, width);
      const text = t(n.say ? `readout_${n.say}` : "readout", n);
      say(readout, text);
      drawTable(table, (n.table ? strings[`table_${n.table}`] : strings.table) ?? [], n);
      clearTimeout(speak);
      speak = setTimeout(() => root.dataset.ready === "touched" && say(spoken, text), 500);
      if (!root.dataset.ready) root.dataset.ready = "yes";
    };
    const schedule = () => (frame ||= requestAnimationFrame(draw));
    const changed = () => {
      if (root.dataset.ready) root.dataset.ready = "touched";
      schedule();
    };
    const begin = () => {
      if (!alive) return;
      update = spec.picture(f);
      const wanted = spec.controls?.(get, t, f) ?? [];
      for (const c of wanted) if (c.trait && !c.value) start[c.trait] = get(c.trait);
      for (const trait of spec.traits ?? []) start[trait] = get(trait);
      list = wanted.map((c) => control(f, c));
      controls.append(...list.map((c) => c.element));
      if (Object.keys(start).length) {
        const reset = h("button", { type: "button", class: "cw-reset", "data-act": "reset", text: t("reset") });
        reset.onclick = () => {
          model.set(start);
          model.save_changes();
          schedule();
        };
        controls.append(reset);
      }
      width = picture.clientWidth;
      draw();
      if (globalThis.requestIdleCallback && list.length) requestIdleCallback(rehearse);
    };
    f.draw = draw; // for benchmarks: draw now
    // A reader's first move finds the code compiled: while the browser is idle, and until the reader
    // touches the widget, a copy that is in no page is moved through the states of the controls.
    const rehearse = () => {
      const moved = {}, copy = { ...f, picture: h("div"), get: (trait) => moved[trait] ?? get(trait), set: () => {} };
      const wanted = spec.controls?.(copy.get, t, copy) ?? [], shows = wanted.map((c) => control(copy, c).show), show = spec.picture(copy);
      const states = rehearsal(wanted);
      const step = (idle) => {
        while (alive && root.dataset.ready === "yes" && width && idle.timeRemaining() > 3) {
          const { done, value } = states.next();
          if (done) return (f.rehearsed = true);
          Object.assign(moved, value);
          const n = spec.numbers(copy.get);
          for (const each of shows) each();
          show(n, width);
          t(n.say ? `readout_${n.say}` : "readout", n);
        }
        if (alive && root.dataset.ready === "yes") requestIdleCallback(step);
      };
      requestIdleCallback(step);
    };
    model.on("change", changed);
    // The width is read where the page is laid out already, never while drawing.
    const watcher = new ResizeObserver(() => {
      if (picture.clientWidth === width) return;
      width = picture.clientWidth;
      schedule();
    });
    watcher.observe(picture);

    // Slow preparation runs in slices of a few milliseconds, so that the page stays responsive.
    const steps = spec.prepare?.(get);
    const slice = () => {
      const stop = performance.now() + 10;
      while (performance.now() < stop) if (steps.next().done) return begin();
      if (alive) setTimeout(slice);
    };
    if (steps) slice();
    else begin();
    return () => {
      alive = false;
      model.off("change", changed);
      watcher.disconnect();
      watch.disconnect();
      system.removeEventListener("change", themed);
      root.remove();
    };
  },
});

/** The states in which a widget is rehearsed: each control by itself through some of its values. */
function* rehearsal(controls, rounds = 2, steps = 8) {
  for (let round = 0; round < rounds; round++) {
    for (const c of controls) {
      if (!c.trait || c.put) continue;
      const of = (x) => (typeof x === "function" ? x() : x), values = of(c.values);
      if (c.kind === "check") yield* [true, false].map((v) => ({ [c.trait]: v }));
      if (c.kind === "choice" || c.kind === "select") yield* of(c.options).map(([v]) => ({ [c.trait]: v }));
      if (c.kind !== "range") continue;
      const min = values ? 0 : c.min, max = values ? values.length - 1 : of(c.max), grain = values ? 1 : c.step ?? 1;
      for (let i = 0; i <= steps; i++) {
        const at = min + grain * Math.round(((max - min) * i) / steps / grain);
        yield { [c.trait]: values ? values[at] : at };
      }
    }
  }
}

function drawTable(table, rows, n) {
  if (table._count !== rows.length) {
    table._count = rows.length;
    table.hidden = !rows.length;
    table._cells = rows.map((cells, r) => cells.map((_, c) => ((r && c) || !rows[r][c] ? h("td") : h("th", { scope: r ? "row" : "col" }))));
    table.replaceChildren(...table._cells.map((cells) => h("tr", {}, ...cells)));
  }
  rows.forEach((cells, r) => cells.forEach((cell, c) => say(table._cells[r][c], fill(cell, n))));
}

// For test_drawing.py, in the page: `view(traits, width)` draws the page's widget again, beside it,
// with a model of its own; `seen(root)` is all of it that can be seen; `watched` spies on a draw.
(() => {
  const script = document.querySelector('script[type$="widget-state+json"]');
  const saved = Object.values(JSON.parse(script.textContent).state).map((s) => s.state);
  const state = saved.find((s) => s._esm);
  const url = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
  const frame = () => new Promise((r) => requestAnimationFrame(r));
  const pause = (ms) => new Promise((r) => setTimeout(r, ms));
  const frames = async () => {
    for (let i = 0; i < 4; i++) await frame();
  };

  const view = async (traits, width) => {
    const held = { ...state, ...traits }, listeners = [];
    const model = {
      get: (name) => held[name],
      set(a, b) {
        Object.assign(held, typeof a === "object" ? a : { [a]: b });
        listeners.forEach((l) => l());
      },
      save_changes() {},
      on: (_, l) => listeners.push(l),
      off() {},
    };
    const el = document.createElement("div");
    el.style.width = `${width}px`;
    document.querySelector("main, body").append(el);
    (await import(url)).default.render({ model, el });
    while (!el.querySelector("[data-ready]")) await frame();
    await frames();
    return { el, root: el.querySelector(".course-widget"), model };
  };

  const plain = (text) => text.replace(/cw-(control-)?\d+/g, "cw-id");
  const pixels = (c) => Array.from(c.getContext("2d").getImageData(0, 0, c.width, c.height).data);
  const seen = (root) => {
    const lines = [];
    const walk = (node) => {
      if (node.nodeType === 3) return node.data && lines.push(plain(node.data));
      if (node.nodeType !== 1 || node.getAttribute("display") === "none") return;
      // What was spoken, and the dots where a summary has been, are history and meant to be.
      if (node.matches("[hidden], [role=status], [fill-opacity]")) return;
      const names = node.getAttributeNames().filter((n) => node.getAttribute(n)).sort();
      const told = names.filter((n) => n !== "data-ready").map((n) => `${n}=${plain(node.getAttribute(n))}`);
      if (told.length || node.localName !== "g") lines.push([node.localName, ...told].join(" "));
      if (node.matches("input, select")) lines.push(`value ${node.value} ${node.checked}`);
      if (node.localName === "canvas") lines.push(pixels(node).join());
      node.childNodes.forEach(walk);
    };
    walk(root);
    return lines;
  };

  // Which sizes and styles a draw asks for, and where it adds or takes away nodes.
  const watched = async (states) => {
    const { root, model } = await view({}, 700), asked = [], added = [];
    // A few times over: a trail of dots has its whole length, the readout has been spoken.
    for (let i = 0; i < 4; i++) {
      for (const next of states) {
        model.set(next);
        await frames();
      }
    }
    await pause(600);
    const spy = (where, ...names) => {
      for (const name of names) {
        const had = Object.getOwnPropertyDescriptor(where, name), kind = had.get ? "get" : "value";
        const told = function (...given) {
          asked.push(name);
          return had[kind].apply(this, given);
        };
        Object.defineProperty(where, name, { ...had, [kind]: told });
      }
    };
    spy(Element.prototype, "clientWidth", "clientHeight", "scrollWidth", "scrollHeight");
    spy(Element.prototype, "getBoundingClientRect", "getClientRects");
    spy(HTMLElement.prototype, "offsetWidth", "offsetHeight", "innerText");
    spy(SVGGraphicsElement.prototype, "getBBox");
    spy(window, "getComputedStyle");
    const list = new MutationObserver((all) => {
      // The options of a list are what its reader may choose: none is hidden.
      const own = all.filter((m) => !/^(select|option)$/.test(m.target.localName));
      added.push(...own.map((m) => m.target.outerHTML.slice(0, 80)));
    });
    list.observe(root, { subtree: true, childList: true });
    for (const next of states) {
      model.set(next);
      root.course.draw();
    }
    await pause(0);
    return [asked, added];
  };
  return { view, seen, frames, watched };
})()

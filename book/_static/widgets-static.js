// Brings the widgets of a built page to life: no kernel, no network, no dependencies.
// A notebook's page carries the saved state of its widgets and, where each was shown, a view;
// every state holds its own ES module (anywidget's `_esm`), which is imported from a blob, or the
// names of its parts, which the book keeps in scripts beside its pages.
(() => {
  "use strict";
  const STATE = "application/vnd.jupyter.widget-state+json";
  const VIEW = "application/vnd.jupyter.widget-view+json";
  const LOST = document.documentElement.lang.startsWith("ur")
    ? "یہ تصویر نہیں چل سکی"
    : "This live picture could not be started";
  const OTHER = "This control works in a running notebook: download the page and run it.";

  // The part of an anywidget model that a page without a kernel needs.
  class Model {
    constructor(state) {
      this.state = state;
      this.listeners = [];
    }
    get(name) {
      return this.state[name];
    }
    set(name, value) {
      const changes = typeof name === "object" ? name : { [name]: value };
      const changed = Object.keys(changes).filter((key) => this.state[key] !== changes[key]);
      for (const key of changed) this.state[key] = changes[key];
      for (const key of changed) this.emit(`change:${key}`, changes[key]);
      if (changed.length) this.emit("change");
    }
    emit(event, ...values) {
      for (const [name, listener] of [...this.listeners]) if (name === event) listener(this, ...values);
    }
    on(names, listener) {
      for (const name of names.split(/\s+/)) this.listeners.push([name, listener]);
    }
    off(names, listener) {
      const list = names?.split(/\s+/);
      this.listeners = this.listeners.filter(([n, l]) => (list && !list.includes(n)) || (listener && l !== listener));
    }
    save_changes() {}
    send() {}
  }

  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

  /** Put the binary parts of a saved state back to where they came from. */
  function restore({ state, buffers = [] }) {
    for (const { path, data } of buffers) {
      let place = state;
      for (const key of path.slice(0, -1)) place = place[key];
      place[path.at(-1)] = bytes(data);
    }
    return state;
  }

  /** The text of `_esm` or `_css`. */
  const code = (state, trait) => state[trait]?.parts?.map((name) => widgetParts[name][trait]).join("") ?? state[trait];

  const states = {}, started = {};
  for (const script of document.querySelectorAll(`script[type="${STATE}"]`)) {
    Object.assign(states, JSON.parse(script.textContent).state);
  }

  /** The model and the module of one saved widget; two views of it share both. */
  function start(id) {
    return (started[id] ??= (async () => {
      const saved = states[id];
      if (!saved) throw new Error("its saved state is not in the page");
      const state = restore(saved);
      if (!state._esm) return null;
      state._esm = code(state, "_esm");
      state._css = code(state, "_css");
      const model = new Model(state);
      const kind = state._anywidget_id;
      if (state._css && !document.querySelector(`style[data-widget-css="${kind}"]`)) {
        const style = document.createElement("style");
        style.dataset.widgetCss = kind;
        style.textContent = state._css;
        document.head.append(style);
      }
      const url = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
      let definition;
      try {
        definition = (await import(url)).default;
      } finally {
        URL.revokeObjectURL(url);
      }
      if (typeof definition === "function") definition = await definition();
      await definition.initialize?.({ model });
      return { model, definition };
    })());
  }

  async function show(place, id) {
    try {
      const widget = await start(id);
      if (widget) await widget.definition.render({ model: widget.model, el: place });
      else say(place, OTHER);
    } catch (error) {
      console.error(error);
      say(place, `${LOST} (${error.message}).`);
    }
    place.removeAttribute("style");
  }

  function say(place, text) {
    const note = document.createElement("p");
    note.className = "widget-note";
    note.setAttribute("role", "note");
    note.textContent = text;
    place.replaceChildren(note);
  }

  // Each view stands in a box of the height the widget will need, so that nothing moves later. The
  // book's pages come with it; a page made by others gets it here.
  const waiting = [];
  for (const script of document.querySelectorAll(`script[type="${VIEW}"]`)) {
    const { model_id: id } = JSON.parse(script.textContent);
    let place = script.closest(".widget-place");
    if (place) place.replaceChildren();
    else {
      place = document.createElement("div");
      place.className = "widget-place";
      script.replaceWith(place);
    }
    waiting.push([place, id]);
  }
  // The book's pages say the heights themselves; elsewhere all widths are read before any is set.
  const bare = waiting.filter(([place]) => !place.style.length);
  const widths = bare.map(([place]) => place.clientWidth);
  for (const [i, [place, id]] of bare.entries()) {
    const [narrow, wide] = states[id]?.state.reserve ?? [0, 0];
    place.style.minHeight = `${widths[i] < 520 ? narrow : wide}px`;
  }

  // What the reader sees first, first; the rest when the browser has nothing else to do. The observer
  // knows what is seen once the page is laid out; asking earlier would lay it out one more time.
  const idle = window.requestIdleCallback ?? setTimeout;
  const first = new IntersectionObserver((places) => {
    first.disconnect();
    const seen = new Set(places.filter((one) => one.isIntersecting).map((one) => one.target));
    const [now, later] = [true, false].map((yes) => waiting.filter(([place]) => seen.has(place) === yes));
    const next = () => later.length && idle(() => show(...later.shift()).then(next));
    Promise.all(now.map((item) => show(...item))).then(next);
  });
  for (const [place] of waiting) first.observe(place);
})();

// What a page does by itself: light or dark, the contents on a phone, copying code. No library.
"use strict";
(() => {
  const root = document.documentElement;
  const store = {
    get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
    set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* refused: this page only */ } },
  };

  // Light or dark: the system's, until the reader says otherwise.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = (theme) => { root.dataset.theme = theme; };
  system.addEventListener("change", (event) => {
    if (!store.get("course-theme")) show(event.matches ? "dark" : "light");
  });
  document.getElementById("theme")?.addEventListener("click", () => {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    show(theme);
    store.set("course-theme", theme);
  });

  // The contents on a narrow screen.
  const menu = document.getElementById("menu");
  const contents = document.getElementById("contents");
  const open = (yes) => {
    contents.classList.toggle("open", yes);
    menu.setAttribute("aria-expanded", String(yes));
  };
  if (menu && contents) {
    menu.addEventListener("click", () => open(!contents.classList.contains("open")));
    contents.addEventListener("click", (event) => { if (event.target.closest("a")) open(false); });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && contents.classList.contains("open")) { open(false); menu.focus(); }
    });
    // once the page is laid out anyway
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const here = contents.querySelector("[aria-current]");
      if (here && here.offsetTop > contents.clientHeight * 0.7) contents.scrollTop = here.offsetTop - 120;
    }));
  }

  // Copy buttons.
  if (navigator.clipboard || document.queryCommandSupported?.("copy")) {
    for (const block of document.querySelectorAll("div.highlight")) {
      if (block.closest(".cell_output, .api .highlight-none")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        const text = block.querySelector("pre").textContent.replace(/\n$/, "");
        try {
          await navigator.clipboard.writeText(text);
        } catch { // a page opened from a file may not have the clipboard
          const area = Object.assign(document.createElement("textarea"), { value: text });
          document.body.append(area);
          area.select();
          document.execCommand("copy");
          area.remove();
        }
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      block.append(button);
    }
  }

  // Admonitions of class "dropdown" fold.
  for (const box of document.querySelectorAll(".admonition.dropdown, .solution.dropdown")) {
    const title = box.querySelector(".admonition-title");
    if (!title) continue;
    const details = document.createElement("details");
    details.className = "reveal";
    const summary = document.createElement("summary");
    summary.append(...title.childNodes);
    title.remove();
    box.replaceWith(details);
    const body = document.createElement("div");
    body.className = "reveal-body";
    body.append(...box.childNodes);
    details.append(summary, body);
    if (box.id) details.id = box.id;
  }

  // Flash cards: arrow keys from card to card, one button for all.
  const fronts = [...document.querySelectorAll("details.card > summary")];
  for (const [i, front] of fronts.entries()) {
    front.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || !fronts[i + step]) return;
      event.preventDefault();
      fronts[i + step].focus();
    });
  }
  document.getElementById("turn-all")?.addEventListener("click", () => {
    const open = !fronts.every((front) => front.parentElement.open);
    for (const front of fronts) front.parentElement.open = open;
  });

  // A link into a folded answer opens it.
  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let d = target && target.closest("details"); d; d = d.parentElement?.closest("details")) d.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();

  // What scrolls sideways can be scrolled with the keyboard, and only that; where more of it lies to
  // the right, it says so.
  const more = (box) => box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
  const reach = () => {
    const boxes = [...document.querySelectorAll("article pre, article .scroll, article .katex-display")];
    // read all, then write: the page is laid out once
    const seen = boxes.map((box) => [box, box.scrollWidth > box.clientWidth + 1, more(box)]);
    for (const [box, wide, cut] of seen) {
      box.classList.toggle("more", cut);
      if (wide) {
        box.tabIndex = 0;
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", box.matches("pre") ? "Code, scrolls sideways" : "Scrolls sideways");
      } else {
        for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      }
    }
  };
  let asked;
  const soon = () => { cancelAnimationFrame(asked); asked = requestAnimationFrame(reach); };
  addEventListener("load", reach);
  addEventListener("resize", soon);
  addEventListener("toggle", soon, true);   // what was folded had no width
  addEventListener("scroll", ({ target }) => {
    if (target.matches?.("[role=group]")) target.classList.toggle("more", more(target));
  }, { capture: true, passive: true });
})();

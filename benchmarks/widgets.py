"""From a reader's input to the painted frame, for every widget, in Chromium.

Every control of the widget is worked: sliders through their whole length, every choice, every
button. One sample is the time of the event's handler and of the frame that follows: the drawing,
style, layout and paint of the picture and of the control itself, what the page's own scripts do
about them, until the main thread has handed the frame over. All of it is timed inside the page, so
nothing of the driver's is in it.

An input is sent as a reader's is: between two frames, in a task of its own, so that one frame shows
both the moved control and the new picture (sent from inside a frame, the control would be painted
by that frame, whose time nobody takes); and not before a screen of 60 Hz has shown the last answer,
so that no sample pays for painting the one before it. The first comes a second after the widget
stands: nobody moves what they have not seen. The wait for the screen's next refresh is not the
widget's and is left out.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.browser import chromium, chromium_path, fresh_page
from benchmarks.comparison import Comparison, Context
from benchmarks.measure import percentile, summary
from benchmarks.results import Goal, Row

LIMIT = 8.0  # ms; a screen of 60 Hz shows a frame every 16.7
SAMPLES = r"""
async ([root, positions]) => {
  const pause = (ms) => new Promise((r) => setTimeout(r, ms));
  const samples = [];
  await pause(1000);
  const one = async (act) => {
    await pause(1000 / 60);
    let began = 0;
    const painted = new Promise((resolve) => {
      requestAnimationFrame(() => (began = performance.now()));  // before the widget's own drawing
      const start = performance.now();
      act();
      const handled = performance.now() - start;
      requestAnimationFrame(() => {
        const channel = new MessageChannel();  // its task runs once the frame is painted
        channel.port1.onmessage = () => resolve(handled + performance.now() - began);
        channel.port2.postMessage(0);
      });
    });
    samples.push(await painted);
  };
  const fire = (control, kind) => control.dispatchEvent(new Event(kind, { bubbles: true }));
  for (const control of root.querySelectorAll("input, select, button")) {
    if (control.disabled) continue;
    if (control.type === "range") {
      const lo = Number(control.min), hi = Number(control.max);
      for (let i = 0; i < positions; i++) {
        await one(() => {
          control.value = lo + ((hi - lo) * ((i * 7) % positions)) / (positions - 1);
          fire(control, "input");
        });
      }
    } else if (control.localName === "select") {
      for (const option of control.options) {
        await one(() => {
          control.value = option.value;
          fire(control, "input");
          fire(control, "change");
        });
      }
    } else if (["radio", "checkbox", "submit", "button"].includes(control.type)) {
      await one(() => control.click());
    }
  }
  return samples;
}
"""


def pages(folder: Path, cases: list[Any]) -> Path:
    """One built page a widget, made the way the book makes its own."""
    from tests.widgets import harness

    folder.mkdir(parents=True, exist_ok=True)
    cells = [harness.IMPORTS, *[case.code for case in cases]]
    notebook = harness.as_the_book(harness.execute(cells, folder))
    source = folder / "source"
    harness.split(notebook, [case.slug for case in cases], source)
    return harness.build_html(source)


def samples(browser: Any, site: str, case: Any, positions: int) -> list[float]:
    """Milliseconds of each input to the widget on its page."""
    with fresh_page(browser, site, []) as page:
        page.goto(f"{site}/{case.slug}.html", wait_until="load")
        root = page.locator(f'.course-widget[data-widget="{case.name}"][data-ready]').first
        root.wait_for(timeout=60_000)
        return list(page.evaluate(SAMPLES, [root.element_handle(), positions]))


def run(context: Context) -> list[Row]:
    chromium_path()
    from tests.widgets import harness
    from tests.widgets.cases import CASES

    cases = list(CASES[: context.pick(None, 2)])
    context.say("building the pages")
    built = pages(context.folder / "pages", cases)
    positions = context.pick(40, 4)
    found: dict[str, list[list[float]]] = {case.slug: [] for case in cases}
    with harness.serve(built) as site, chromium("--disable-frame-rate-limit") as browser:
        sides = {
            case.slug: functools.partial(_round, found[case.slug], browser, site, case, positions)
            for case in cases
        }
        values = context.interleave(sides)
    return [
        _row(title, values[case.slug], found[case.slug][-1])
        for title, case in zip(titles(cases), cases, strict=True)
    ]


def _round(found: list[list[float]], browser: Any, site: str, case: Any, positions: int) -> float:
    found.append(samples(browser, site, case, positions))
    return percentile(found[-1], 95)


def titles(cases: Sequence[Any]) -> list[str]:
    """The widgets' names; one that is shown in several states is numbered."""
    names = [case.name for case in cases]
    many = {name for name in names if names.count(name) > 1}
    return [
        f"{name}, state {names[: i + 1].count(name)}" if name in many else name
        for i, name in enumerate(names)
    ]


def _row(title: str, values: list[float], last: list[float]) -> Row:
    middle = summary(last).median
    goal = Goal(
        "95th percentile", summary(values).median, below=LIMIT, unit="ms",
        why=f"half of its inputs take up to {middle:.1f} ms, the slowest {max(last):.1f} ms",
    )  # fmt: skip
    details = {"ms, median of the last round": middle, "inputs a round": float(len(last))}
    return Row(title, "ms, 95th percentile", {"course": values}, [goal], details)


COMPARISON = Comparison(
    name="widgets",
    title="A widget's answer",
    against="a frame of a 60 Hz screen, 16.7 ms",
    run=run,
    seconds=120,
    rounds=2,
)

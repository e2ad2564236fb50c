"""Make ``exercises/`` from ``solutions/`` with nbgrader, or check that it is up to date.

    python solutions/regenerate.py            writes exercises/
    python solutions/regenerate.py --check    changes nothing; exit 1 where it would differ
    python solutions/regenerate.py head       only this assignment

Run in a temporary course with a temporary database, so that neither the working folders nor a
gradebook are touched. The result depends on ``solutions/`` alone.
"""

from __future__ import annotations

import argparse
import difflib
import json
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path


def course_folder() -> Path:
    """The course we stand in (solutions/ may be elsewhere), else the one this folder lies in."""
    here = Path.cwd()
    found = (p for p in (here, *here.parents) if (p / "nbgrader_config.py").is_file())
    return next(found, Path(__file__).resolve().parent.parent)


SOURCE, RELEASE = Path(__file__).resolve().parent, course_folder() / "exercises"
HIDDEN = ("hidden.py",)  # what only the judge reads is never released
REGIONS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN TESTS", "END HIDDEN TESTS")


def slugs() -> list[str]:
    """The assignments: folders of solutions/ that hold a notebook of the same name."""
    return sorted(p.parent.name for p in SOURCE.glob("*/*.ipynb") if p.stem == p.parent.name)


def generate(names: list[str]) -> dict[str, str]:
    """Release versions: path under exercises/ → text.

    Raises:
        RuntimeError: nbgrader refuses an assignment, or a region marker is left in a release.
    """
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    logging.getLogger("alembic").setLevel(logging.ERROR)
    released: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="course-release-") as folder:
        root = Path(folder)
        config = Config()
        config.CourseDirectory.root = str(root)
        config.CourseDirectory.course_id = "attention-from-average"
        config.CourseDirectory.source_directory = "solutions"
        config.CourseDirectory.release_directory = "exercises"
        config.CourseDirectory.db_url = f"sqlite:///{root / 'gradebook.db'}"
        for name in names:
            shutil.copytree(
                SOURCE / name,
                root / "solutions" / name,
                ignore=shutil.ignore_patterns(*HIDDEN, ".ipynb_checkpoints", "__pycache__"),
            )
        api = NbGraderAPI(CourseDirectory(config=config), config=config)
        for name in names:
            result = api.generate_assignment(name, force=True, create=True)
            if not result["success"]:
                raise RuntimeError(
                    f"nbgrader could not release {name}: {result.get('error') or result.get('log')}"
                )
        for path in sorted((root / "exercises").rglob("*")):
            if path.is_file():
                relative = path.relative_to(root / "exercises").as_posix()
                text = path.read_text(encoding="utf-8")
                if path.suffix == ".ipynb":
                    text = json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
                left = [r for r in REGIONS if r in text]
                if left:
                    raise RuntimeError(f"{relative} still has {left[0]!r}")
                released[relative] = text
    return released


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def main(argv: list[str]) -> int:
    """Returns 0, or 1 where --check finds a difference (or a release fails)."""
    parser = argparse.ArgumentParser(description="Make exercises/ from solutions/.")
    parser.add_argument("slugs", nargs="*", help="assignments; all unless given")
    parser.add_argument("--check", action="store_true", help="change nothing, only compare")
    args = parser.parse_args(argv)
    known = slugs()
    unknown = [s for s in args.slugs if s not in known]
    if unknown:
        print(
            f"error: no assignment {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr
        )
        return 2
    names = args.slugs or known
    try:
        fresh = generate(names)
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    old = {
        p.relative_to(RELEASE).as_posix(): p.read_text(encoding="utf-8")
        for n in names
        for p in (RELEASE / n).rglob("*")
        if p.is_file() and ".ipynb_checkpoints" not in p.parts
    }
    if not args.slugs and RELEASE.is_dir():  # folders of assignments that are no more
        old |= {
            p.relative_to(RELEASE).as_posix(): ""
            for d in RELEASE.iterdir()
            if d.is_dir() and d.name not in known
            for p in d.rglob("*")
            if p.is_file()
        }
    stale = sorted(k for k in fresh.keys() | old.keys() if fresh.get(k) != old.get(k))
    if args.check:
        for name in stale:
            print(f"exercises/{name} differs from what solutions/ gives:")
            diff = difflib.unified_diff(
                old.get(name, "").splitlines(),
                fresh.get(name, "").splitlines(),
                "committed",
                "regenerated",
                lineterm="",
                n=1,
            )
            print("\n".join(list(diff)[:12]))
        if stale:
            print("run: python solutions/regenerate.py")
        return 1 if stale else 0
    for name in stale:
        if name in fresh:
            write(RELEASE / name, fresh[name])
            print(f"wrote exercises/{name}")
        else:
            (RELEASE / name).unlink()
            print(f"removed exercises/{name}")
    if not stale:
        print("exercises/ is up to date")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

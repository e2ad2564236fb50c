"""What a reader takes along runs by itself: a notebook and the wheel, found as the cell says."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.book import minibook
from tests.widgets.harness import serve

from course_book import downloads, wheel  # isort: skip
from setup_cell import SETUP_CELL, fill  # isort: skip

GITHUB = "https://github.com/owner/attention"


@pytest.fixture(scope="session")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = minibook.make(tmp_path_factory.mktemp("wheel") / "book", "format: jb-book\n")
    return wheel.build_wheel(root)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A Python with everything the course needs, and without the course: as a hosted one is."""
    pytest.importorskip("torch", reason="torch is not installed here")
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    site = tmp_path / "packages"
    site.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "attention_from_average" not in entry.name and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)
    (own,) = home.glob("lib/python*/site-packages")
    (own / "packages.pth").write_text(f"{site}\n", encoding="utf-8")
    return home / "bin" / "python"


def run(python: Path, cell: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The cell, then a look at what it brought, with every package index switched off."""
    after = "\nimport course\nprint('course is in', course.__path__[0])\n"
    return subprocess.run(
        [str(python), "-c", cell + after],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1", "PIP_ROOT_USER_ACTION": "ignore"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def test_the_wheel_beside_the_notebook_is_installed(
    elsewhere: Path, built_wheel: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / built_wheel.name).write_bytes(built_wheel.read_bytes())
    done = run(elsewhere, SETUP_CELL, folder)
    assert done.returncode == 0, done.stderr
    said, found = done.stdout.splitlines()
    assert said == f"Installed the course from {folder / built_wheel.name}"
    assert str(elsewhere.parent.parent) in found
    again = run(elsewhere, SETUP_CELL, folder)
    assert again.stdout.splitlines() == [found], "nothing is done, nor said, where it is there"


def test_the_wheel_at_the_configured_address_is_installed(
    elsewhere: Path, built_wheel: Path, tmp_path: Path
) -> None:
    with serve(built_wheel.parent) as address:
        url = f"{address}/{built_wheel.name}"
        done = run(elsewhere, fill(SETUP_CELL, url), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"Installed the course from {url}"


def test_with_neither_it_says_exactly_what_to_do(elsewhere: Path, tmp_path: Path) -> None:
    done = run(elsewhere, SETUP_CELL, tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: The package `course` is missing: put ")
    assert "attention_from_average-*.whl" in last
    assert str(tmp_path) in last


def test_the_cell_is_thin() -> None:
    assert len(SETUP_CELL.splitlines()) <= 12
    assert max(map(len, SETUP_CELL.splitlines())) <= 100


@pytest.mark.parametrize("url", ['https://x/"y', "a\nb"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        fill(SETUP_CELL, url)


def test_another_cell_is_not_filled_in() -> None:
    with pytest.raises(ValueError, match="not the common set-up cell"):
        fill("import course", "https://example.org/x.whl")


@pytest.mark.parametrize(
    ("address", "wheel_at", "colab"),
    [
        (downloads.Address(), "", ""),
        (
            downloads.Address(repository=GITHUB),
            f"git+{GITHUB}.git",
            "https://colab.research.google.com/github/owner/attention/blob/gh-pages/book/x.ipynb",
        ),
        (
            downloads.Address(GITHUB + ".git", "https://owner.github.io/attention/", "site"),
            "https://owner.github.io/attention/book/a.whl",
            "https://colab.research.google.com/github/owner/attention/blob/site/book/x.ipynb",
        ),
        (downloads.Address("https://gitlab.com/o/r"), "git+https://gitlab.com/o/r.git", ""),
    ],
)
def test_one_setting_says_where_the_wheel_and_the_notebook_are(
    address: downloads.Address, wheel_at: str, colab: str
) -> None:
    assert address.wheel("a.whl") == wheel_at
    assert address.colab("book/x.ipynb") == colab


def test_the_environment_wins_over_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(downloads.REPOSITORY_VARIABLE, GITHUB)
    assert downloads.configured("https://github.com/other/x", "", "").repository == GITHUB
    monkeypatch.setenv(downloads.REPOSITORY_VARIABLE, "ftp://x")
    with pytest.raises(ValueError, match="must begin with https://, not 'ftp://x'"):
        downloads.configured("", "", "")


# ------------------------------------------------------------------ in the built pages


@pytest.mark.book
@pytest.mark.timeout(900)
def test_a_page_offers_its_notebook_with_the_wheel(html: Path) -> None:
    text = (html / "book" / "01-average.html").read_text(encoding="utf-8")
    assert '<a href="01-average.zip" download>' in text
    assert "colab" not in text.lower(), "no button where no repository is configured"
    with zipfile.ZipFile(html / "book" / "01-average.zip") as archive:
        notebook, package = archive.namelist()
        assert notebook == "01-average.ipynb"
        assert package.startswith("attention_from_average-")
        data = json.loads(archive.read(notebook))
        assert archive.read(package) == (html / "book" / package).read_bytes()
    assert data == json.loads((html / "book" / "01-average.ipynb").read_text(encoding="utf-8"))
    assert all(cell.get("outputs", []) == [] for cell in data["cells"])


@pytest.mark.book
@pytest.mark.timeout(900)
def test_a_configured_repository_gives_buttons_and_fills_the_cell(book: Path) -> None:
    done = minibook.build(book, **{downloads.REPOSITORY_VARIABLE: GITHUB})
    assert done.returncode == 0, done.stdout
    folder = book / "_build" / "html" / "book"
    button = (
        "https://colab.research.google.com/github/owner/attention/blob/gh-pages/book/intro.ipynb"
    )
    assert f'<a href="{button}">Open in Colab</a>' in (folder / "intro.html").read_text("utf-8")
    cell = json.loads((folder / "intro.ipynb").read_text(encoding="utf-8"))["cells"][1]
    assert f'WHEEL_URL = "git+{GITHUB}.git"' in "".join(cell["source"])
    committed = json.loads((book / "book" / "intro.ipynb").read_text(encoding="utf-8"))["cells"][1]
    assert "".join(committed["source"]).strip() == SETUP_CELL.strip()

"""Files are whole or not there; the cache finds a place or says what to set."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from course import files


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "new folder" / "a.txt"
    files.atomic_write_text(path, "één")
    files.atomic_write_bytes(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("x")
    ours = files.atomic_write_text(tmp_path / "ours", "x")
    assert stat.S_IMODE(ours.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.atomic_write_text(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_the_cache_is_where_it_is_told_to_be(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "here"))
    assert files.cache_dir() == tmp_path / "here"
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(OSError, match=r"COURSE_CACHE=.*below cannot be written"):
        files.cache_dir()


def test_a_read_only_home_sends_the_cache_elsewhere_and_says_so(tmp_path, monkeypatch):
    # A file in the way refuses root too, whom mode bits do not stop.
    (tmp_path / "home").write_text("not a folder")
    monkeypatch.delenv("COURSE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(files.tempfile, "gettempdir", lambda: str(tmp_path))
    files._default_cache.cache_clear()
    with pytest.warns(UserWarning, match="COURSE_CACHE"):
        folder = files.cache_dir()
    assert folder.parent == tmp_path
    assert files.is_writable(folder)
    files._default_cache.cache_clear()


def test_the_cache_follows_xdg(tmp_path, monkeypatch):
    monkeypatch.delenv("COURSE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert files.cache_dir() == tmp_path / "attention-from-average"

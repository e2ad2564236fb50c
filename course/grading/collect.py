"""``nbgrader collect`` that follows no link and that nobody's files can stop.

The exchange's inbound folder is one that every learner may write into, past ``nbgrader submit``.
nbgrader's own collect copies what a link there points to, with the instructor's rights, so that a
link to the model answer is collected as an answer; and it ends for everybody at the first name or
file it cannot use. Here links arrive as links, which staging refuses and reports.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import parse_utc


class CollectFiles(ExchangeCollect):
    """nbgrader's collect for submissions that may hold anything."""

    src_records: list[dict[str, Any]]

    def init_src(self) -> None:
        """Find the submissions; names that mean nothing are said and left out."""
        super().init_src()
        self.src_records = [r for r in self.src_records if r["username"] is not None]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        try:
            record: dict[str, Any] = super()._path_to_record(path)
            if not record["username"] or record["username"].startswith("."):
                raise ValueError(f"{record['username']!r} is no learner's name")
        except (ExchangeError, ValueError) as error:
            self.log.error("%s is no submission and is left where it is: %s", path, error)
            return {"username": None, "filename": "", "timestamp": datetime.min}
        return record

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy a submission's own ordinary files; its links stay links."""
        source, target = Path(src), Path(dest)
        with tempfile.TemporaryDirectory(prefix="collect-") as folder:
            files = Path(folder) / "files"
            files.mkdir()
            try:
                links = self._copy(source, files)
                super().do_copy(str(files), dest, log)
            except (OSError, RuntimeError) as error:  # too large, or the disk is full
                self.log.error("%s could not be collected: %s", src, error)
                target.mkdir(parents=True, exist_ok=True)
                return
        for name, where in links.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).symlink_to(where)
            self.log.error("%s: %s is a link and will be refused.", src, name)
        self._mend_time(target / "timestamp.txt", source)

    def _copy(self, source: Path, files: Path) -> dict[str, str]:
        """Copy into ``files``; the links found, path in the submission → target."""
        if source.is_symlink():
            return {source.name: os.readlink(source)}
        if self.get_size(source) > 1000 * self.coursedir.max_dir_size:
            raise RuntimeError(f"it has more than {self.coursedir.max_dir_size} kB")
        owner = source.lstat().st_uid
        links: dict[str, str] = {}
        for folder, folders, names in os.walk(source):
            inside = Path(folder).relative_to(source)
            for name in (*folders, *names):
                path = Path(folder) / name
                try:
                    if path.is_symlink():
                        links[str(inside / name)] = os.readlink(path)
                    elif name in folders:
                        (files / inside / name).mkdir()
                    else:
                        _copy_own(path, files / inside / name, owner)
                except OSError as error:
                    self.log.error("%s was not collected: %s", path, error)
        return links

    def _mend_time(self, file: Path, source: Path) -> None:
        """A time that cannot be read would stop the next ``collect --update``."""
        if file.is_symlink():
            file.unlink()
        elif file.is_file():
            try:
                parse_utc(file.read_text().strip())
                return
            except (OSError, ValueError):
                file.unlink()
        file.write_text(source.name.rsplit("+", 3)[2])


def _copy_own(path: Path, target: Path, owner: int) -> None:
    """Copy an ordinary file of this owner.

    Whatever has been put in its place meanwhile is not followed, and not waited for.

    Raises:
        OSError: it is something else, somebody else's, or cannot be read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is no ordinary file")
        if found.st_uid != owner:
            raise OSError("it belongs to another user than its folder")
        with target.open("wb") as copy:
            shutil.copyfileobj(file, copy)

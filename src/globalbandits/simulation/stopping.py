"""Telling workers in other processes to stop: they look for a file."""

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any


class StoppedError(Exception):
    """Raised by a worker that was told to stop; its runs are dropped."""


class StopFile:
    """A file in its own temporary folder that tells workers to stop when it exists.

    Workers on other machines do not see it and play their shards to the end. The same holds if
    the folder cannot be created.
    """

    def __init__(self) -> None:
        self._folder: str | None = None
        with contextlib.suppress(OSError):
            self._folder = tempfile.mkdtemp(prefix="globalbandits-")

    @property
    def path(self) -> str | None:
        """Where the file will be; for `is_stopped`."""
        return None if self._folder is None else str(Path(self._folder, "stop"))

    def create(self, futures: Iterable[Future[Any]]) -> None:
        """Tell all workers to stop. The file is removed when the last future is done."""
        if self._folder is None:
            return
        pending = list(futures)
        if not pending:
            self.remove()
            return
        with contextlib.suppress(OSError):
            Path(self._folder, "stop").touch()
        lock, n_pending = threading.Lock(), len(pending)

        def count(future: Future[Any]) -> None:
            nonlocal n_pending
            with lock:
                n_pending -= 1
                is_last = n_pending == 0
            if is_last:
                self.remove()

        for future in pending:
            future.add_done_callback(count)

    def remove(self) -> None:
        """Remove the file and its folder."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def is_stopped(path: str | None) -> bool:
    """Whether the stop file exists."""
    return path is not None and os.path.exists(path)

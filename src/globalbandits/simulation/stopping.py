"""A sign that workers in other processes see: a file that is there when it is time to stop."""

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
    """Raised by a worker that was asked to stop; nobody waits for what it did."""


class StopSign:
    """The place of a file in a folder of its own; workers look whether it is there.

    Workers on other machines see no file, and play their shards to the end. Without a folder for
    temporary files there is no sign, and workers end when they end.
    """

    def __init__(self) -> None:
        self._folder: str | None = None
        with contextlib.suppress(OSError):
            self._folder = tempfile.mkdtemp(prefix="globalbandits-")

    @property
    def path(self) -> str | None:
        """Where the file will be; for `check`."""
        return None if self._folder is None else str(Path(self._folder, "stop"))

    def raise_for(self, futures: Iterable[Future[Any]]) -> None:
        """Ask all workers to stop; the file is removed when the last future is done."""
        if self._folder is None:
            return
        left = list(futures)
        if not left:
            self.remove()
            return
        with contextlib.suppress(OSError):
            Path(self._folder, "stop").touch()
        lock, n_left = threading.Lock(), len(left)

        def count(future: Future[Any]) -> None:
            nonlocal n_left
            with lock:
                n_left -= 1
                last = n_left == 0
            if last:
                self.remove()

        for future in left:
            future.add_done_callback(count)

    def remove(self) -> None:
        """Remove file and folder."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def go_on(path: str | None) -> bool:
    """Whether there is no sign to stop."""
    return path is None or not os.path.exists(path)

"""Work in other processes: a function that can be imported, called with a value that is pickled.

A child takes nothing from the main module of this process, which need not be guarded against
being run again. Children still at work when this process ends are ended too.
"""

import atexit
import contextlib
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

_BOOT = """
import os, pickle, sys
path, patience, call = pickle.load(sys.stdin.buffer)
sys.path[:] = path
if patience and hasattr(os, "nice"):
    os.nice(patience)
function, argument = pickle.loads(call)
function(argument)
"""
_PATIENCE = 10  # how far a child in the background steps back for others
_GRACE = 2.0  # seconds that a child has to end when it is killed

_running: "weakref.WeakSet[Child]" = weakref.WeakSet()


class ChildError(Exception):
    """A child cannot be started, or has not done its work."""


class Child:
    """A process that calls a function.

    Args:
        function: one that another process can import.
        argument: what it is called with; its classes must be importable too.
        background: whether it should step back for other processes.
    """

    def __init__(
        self, function: Callable[[Any], None], argument: Any, *, background: bool = False
    ) -> None:
        self._owner = os.getpid()
        try:
            call = pickle.dumps((function, argument))
            content = pickle.dumps((sys.path, _PATIENCE if background else 0, call))
        except Exception as error:  # whatever a user's class raises
            raise ChildError(f"cannot be sent to another process: {error}") from error
        if b"__main__" in call:
            raise ChildError("the main module cannot be imported by another process")
        if not sys.executable or getattr(sys, "frozen", False):
            raise ChildError("there is no Python program to start")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise ChildError(f"cannot start a process: {error}") from error
        self._content = content
        _running.add(self)

    def wait(self) -> None:
        """Wait until the work is done; raises if it was not."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has died
            self._process.stdin.write(self._content)
            self._process.stdin.close()
        code = self._process.wait()
        _running.discard(self)
        if code != 0:
            raise ChildError(f"ended with the code {code}")

    def end(self) -> None:
        """End the process, unless it belongs to a process that this one was forked from."""
        if self._owner == os.getpid() and self._process.poll() is None:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE)


def _end_all() -> None:
    for child in list(_running):
        child.end()


atexit.register(_end_all)

"""Compiled rules for live learners, made in the background once plain Python has cost enough.

A learner starts in plain Python, so that a short script pays for nothing. All learners of one
policy add up what their rules have cost. When that reaches the price of something better, it is
bought: first code from the cache on disk (Numba is loaded for it), later code compiled in another
process. So no more is ever spent on speed than slowness has cost before. A learner takes the new
code at its next call; decisions and estimates stay the same bits.
"""

import atexit
import os
import sys
import threading
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

from globalbandits.compiling.children import Child
from globalbandits.policies.base import Policy, Rules
from globalbandits.policies.learner.live import CHOOSE, Live, live_loop

# Prices, in seconds of plain rules: loading Numba and code from disk, code alone, and compiling.
PRICE_OF_LOADING, PRICE_OF_CODE, PRICE_OF_COMPILING = 0.5, 0.02, 2.0

Kernel = Callable[[Any, int, float], int]
Call = Callable[[int, float], int]

# Held while Numba is imported or code is loaded. A fork, or the end of the process, waits for it:
# neither can stand a thread that is in the middle of that.
_busy = threading.Lock()
_waiting: list[bool] = []  # forks that hold it, or would like to
_ending = threading.Event()
_LONGEST = 10.0  # seconds to wait for it


class Workshop:
    """Where the compiled code of one policy's rules is made."""

    def __init__(self, rules: Rules) -> None:
        self._loop = live_loop(rules)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._kernels: dict[Any, Kernel] = {}  # by the type of what they read
        self._spent = 0.0  # seconds of plain rules
        self._price = PRICE_OF_LOADING

    def spend(self, seconds: float) -> bool:
        """Add what a call of plain rules has cost; whether it is time for `offer`."""
        self._spent += seconds
        return self._spent >= self._price or (
            self._price == PRICE_OF_LOADING
            and self._spent >= PRICE_OF_CODE
            and "numba" in sys.modules
        )

    def offer(self, policy: Policy, live: Live) -> Call | None:
        """Code for this learner, if it is known what that will be; else work on it is begun.

        Where nothing can be compiled, it is the plain function. Call this when `spend` says so,
        with nobody else using the learner.
        """
        if self._thread is not None:
            return None
        if self._kernels:
            from globalbandits.compiling.views import View

            view = View(live)
            if view.kind in self._kernels:
                kernel = self._kernels[view.kind]
                return partial(kernel, live if kernel is self._loop else view)
        with self._lock:
            if self._thread is None and not _ending.is_set():
                _take_precautions()
                self._thread = threading.Thread(
                    target=self._work, args=(policy, live), name="compile", daemon=True
                )
                self._thread.start()
        return None

    def start_anew(self) -> None:
        """In a forked process the thread is gone, and the lock may be held by nobody."""
        self._lock = threading.Lock()
        self._thread = None

    def _work(self, policy: Policy, live: Live) -> None:
        """Look for code; compile it when that has become worth it."""
        try:
            if self._load(live):
                return
            if self._spent < PRICE_OF_COMPILING:
                self._price = PRICE_OF_COMPILING
                return
            # In another process, which takes neither the interpreter's lock nor part in its end.
            Child(compile_live, (policy, live.setup), background=True).wait()
            self._load(live)
        except Exception:  # a learner in plain Python is none the worse for it
            pass
        finally:
            if self._spent >= PRICE_OF_COMPILING and not _ending.is_set():
                self._give_up(live)
            self._thread = None

    def _load(self, live: Live) -> bool:
        """Take code from memory or disk; whether there was any."""
        with _busy:
            if _ending.is_set():
                return True
            from globalbandits.compiling.compilation import find_kernel
            from globalbandits.compiling.views import View

            view = View(live)
            kernel = find_kernel(self._loop, view, CHOOSE, 0.0, keeps_lock=True)
            if kernel is not None:
                self._kernels[view.kind] = kernel
            return kernel is not None

    def _give_up(self, live: Live) -> None:
        """What has not been found by now will be plain Python for good."""
        with _busy:
            from globalbandits.compiling.views import View

            self._kernels.setdefault(View(live).kind, self._loop)


def compile_live(work: tuple[Policy, Any]) -> None:
    """Compile the rules of a policy with such a setup, and keep them on disk."""
    import numpy as np

    from globalbandits.compiling.compilation import compile_kernel
    from globalbandits.compiling.views import View
    from globalbandits.evidence.histogram import empty
    from globalbandits.statistics import no_statistics

    policy, setup = work
    live = Live(
        setup=setup,
        stats=no_statistics(1),
        state=policy.rules.init(setup),
        rng=np.random.default_rng(0),
        histogram=empty(1),
    )
    compile_kernel(live_loop(policy.rules), View(live), CHOOSE, 0.0, keeps_lock=True)


_WORKSHOPS: dict[Rules, Workshop] = {}


def workshop_of(rules: Rules) -> Workshop:
    """The workshop of all learners with these rules."""
    if rules not in _WORKSHOPS:
        _WORKSHOPS.setdefault(rules, Workshop(rules))
    return _WORKSHOPS[rules]


@cache
def _take_precautions() -> None:
    """Let forks and the end of the process wait while a thread is at work.

    Numba's import uses these two modules, which hold locks of their own during a fork. What is
    registered last comes first before a fork, so they must have been registered before us.
    """
    import_module("logging")
    import_module("concurrent.futures.thread")
    atexit.register(_end)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork, after_in_child=_start_anew
        )


def _before_fork() -> None:
    _waiting.append(_busy.acquire(timeout=_LONGEST))


def _after_fork() -> None:
    if _waiting.pop():
        _busy.release()


def _start_anew() -> None:
    """In a forked process there is no other thread."""
    global _busy
    _busy = threading.Lock()
    _waiting.clear()
    for workshop in _WORKSHOPS.values():
        workshop.start_anew()


def _end() -> None:
    _ending.set()
    if _busy.acquire(timeout=_LONGEST):
        _busy.release()

"""Bind loops to their data: compiled where Numba can, in plain Python where it cannot.

A *loop* is a plain function whose first arguments are NamedTuples of arrays. An `Engine` fixes
these arguments and returns a function of the others. The caller need not know whether that
function is compiled.

This module does not import Numba until something is compiled.
"""

import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from globalbandits._extras import needs_extra
from globalbandits.compiling import cache
from globalbandits.compiling.fingerprint import FingerprintError, source_fingerprint
from globalbandits.compiling.routine import Routine

_WARNED: set[str] = set()  # names of loops that a warning has named, once per process

Announce = Callable[[list[str]], None]


class Later:
    """A loop that `Engine.finish` will bind to its data."""

    def __init__(
        self,
        name: str,
        bind: Callable[[], Callable[..., Any]],
        known: bool,
        bound: Callable[..., Any] | None,
    ) -> None:
        self.name = name
        self.is_known = known  # whether it takes no compiling
        self._bind = bind
        self._bound = bound

    def finish(self) -> None:
        """Bind the loop, unless it is bound."""
        if self._bound is None:
            self._bound = self._bind()

    def __call__(self, *arguments: Any) -> Any:
        """Call the loop."""
        assert self._bound is not None, "call Engine.finish first"
        return self._bound(*arguments)


class Engine:
    """Binds the loops of one simulation. Each function's source is read once.

    Args:
        interpreted: run everything in plain Python, to compare with compiled code.
        quiet: do not warn about loops that run in plain Python.
        announce: called with the names of the loops that `finish` is about to compile.
    """

    def __init__(
        self,
        *,
        interpreted: bool = False,
        quiet: bool = False,
        announce: Announce | None = None,
    ) -> None:
        self.interpreted = interpreted
        self.quiet = quiet
        self.slow = interpreted  # whether some loop runs in plain Python
        self._announce = announce
        self._compiled: dict[Any, Any] = {}
        self._later: list[Later] = []

    def share(self) -> "Engine":
        """An engine for another thread, with what this one has compiled."""
        shared = Engine(interpreted=self.interpreted, quiet=True)
        shared._compiled = self._compiled
        return shared

    def bind_later(
        self,
        loop: Callable[..., Any],
        name: str,
        data: tuple[Any, ...],
        *example: Any,
        plain: tuple[Any, ...] | None = None,
        compiled: bool = True,
    ) -> Callable[..., Any]:
        """Like `bind`, but nothing is compiled before `finish`, which announces it."""
        wanted = compiled and not self.interpreted
        bind = partial(self.bind, loop, name, data, *example, plain=plain, compiled=compiled)
        known, bound = self._look_up(loop, data, example) if wanted else (True, None)
        later = Later(name, bind, known, bound)
        self._later.append(later)
        return later

    def finish(self) -> None:
        """Compile what is missing, and bind all loops of `bind_later`."""
        missing = list(dict.fromkeys(later.name for later in self._later if not later.is_known))
        if missing and self._announce is not None:
            self._announce(missing)
        for later in self._later:
            later.finish()
        self._later.clear()

    def _look_up(
        self, loop: Callable[..., Any], data: tuple[Any, ...], example: tuple[Any, ...]
    ) -> tuple[bool, Callable[..., Any] | None]:
        """Whether a loop needs no compiling, and the bound loop if it is compiled."""
        from globalbandits.compiling.compiler import CompileError, find_kernel
        from globalbandits.compiling.views import ViewError

        try:
            kernel, views = self._compile(find_kernel, loop, data, example)
        except (CompileError, ViewError):
            return True, None
        return kernel is not None, None if kernel is None else partial(kernel, *views)

    def bind(
        self,
        loop: Callable[..., Any],
        name: str,
        data: tuple[Any, ...],
        *example: Any,
        plain: tuple[Any, ...] | None = None,
        compiled: bool = True,
        keeps_lock: bool = False,
    ) -> Callable[..., Any]:
        """Return the loop with its first arguments fixed.

        Args:
            loop: a plain function over (*data, *example).
            name: the loop's name in the warning that it cannot be compiled.
            data: NamedTuples and arrays, changed in place.
            example: examples of the other arguments, for their types.
            plain: the data for plain Python, if different.
            compiled: whether to compile at all.
            keeps_lock: whether the loop holds the interpreter's lock.
        """
        if compiled and not self.interpreted:
            with needs_extra("lab"):
                from globalbandits.compiling.compiler import CompileError, compile_kernel
                from globalbandits.compiling.views import ViewError

            try:
                compiler = partial(compile_kernel, keeps_lock=keeps_lock)
                kernel, views = self._compile(compiler, loop, data, example)
                return partial(kernel, *views)
            except (CompileError, ViewError) as error:
                self._warn(name, str(error))
        return partial(loop, *(data if plain is None else plain))

    def bind_known(
        self, loop: Callable[..., Any], data: tuple[Any, ...], *example: Any
    ) -> Callable[..., Any] | None:
        """Return the bound loop if it is compiled, in memory or on disk; else None.

        The loop holds the interpreter's lock. Numba is not imported for a loop that has never
        been compiled, and need not be installed.
        """
        if self.interpreted or not _may_be_known(loop):
            return None
        from globalbandits.compiling.compiler import CompileError, find_kernel
        from globalbandits.compiling.views import ViewError

        try:
            finder = partial(find_kernel, keeps_lock=True)
            kernel, views = self._compile(finder, loop, data, example)
        except (CompileError, ViewError):
            return None
        return None if kernel is None else partial(kernel, *views)

    def routine(self, function: Callable[..., None], name: str, data: Any) -> Routine:
        """Return a function over (data, row, arm, at, n) for compiled loops to call."""
        if not self.interpreted:
            from globalbandits.compiling.compiler import CompileError, compile_routine
            from globalbandits.compiling.views import ViewError

            try:
                (address, owner), (view,) = self._compile(
                    compile_routine, function, (data,), (0, 0, 0, 0)
                )
                return Routine(function, data, address, view.address, (owner, view))
            except (CompileError, ViewError) as error:
                self._warn(name, str(error))
        return Routine(function, data, 0, 0, None)

    def _compile(
        self,
        compiler: Callable[..., Any],
        function: Callable[..., Any],
        data: tuple[Any, ...],
        example: tuple[Any, ...],
    ) -> tuple[Any, list[Any]]:
        """What the compiler returns for a function, and the data as compiled code takes them."""
        from globalbandits.compiling.views import View

        views = [View(item) if hasattr(item, "_fields") else item for item in data]
        key = function, *(getattr(view, "kind", None) for view in views)
        found = self._compiled.get(key)
        if found is None:
            found = compiler(function, *views, *example)
            self._compiled[key] = found
        return found, views

    def _warn(self, name: str, why: str) -> None:
        self.slow = True
        if self.quiet or name in _WARNED:
            return
        _WARNED.add(name)
        warnings.warn(
            f"{name} cannot be compiled and runs in plain Python, which is much slower: {why}",
            RuntimeWarning,
            stacklevel=2,
        )


def _may_be_known(loop: Callable[..., Any]) -> bool:
    """Whether a loop may have been compiled before, in this process or another one."""
    if "globalbandits.compiling.compiler" in sys.modules:
        return True
    try:
        return cache.has_source(source_fingerprint(loop)) and find_spec("numba") is not None
    except FingerprintError:
        return False

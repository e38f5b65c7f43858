"""Loops bound to their data: compiled where Numba can, as plain Python where it cannot."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from globalbandits.compiling.routines import Routine

# What has been said to run in plain Python, so that it is said once a process.
_SAID: set[str] = set()


class Engine:
    """Binds loops to their data, for one simulation: sources are looked at once.

    Args:
        interpreted: run everything in plain Python, to compare with compiled code.
        quiet: do not warn of what runs in plain Python.
    """

    def __init__(self, *, interpreted: bool = False, quiet: bool = False) -> None:
        self.interpreted = interpreted
        self.quiet = quiet
        self.slow = interpreted  # whether some loop runs in plain Python
        self._compiled: dict[Any, Any] = {}

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
        """The loop with its first arguments fixed; the others are like those of the example.

        Args:
            loop: a plain function over (*data, *example).
            name: what runs slowly if the loop cannot be compiled.
            data: NamedTuples and arrays, changed in place.
            example: further arguments, for their types.
            plain: the data for plain Python, if they are others.
            compiled: whether to compile at all.
            keeps_lock: whether other threads of Python wait while it runs.
        """
        if compiled and not self.interpreted:
            from globalbandits.compiling.compilation import CompileError, compile_kernel
            from globalbandits.compiling.views import ViewError

            try:
                compiler = partial(compile_kernel, keeps_lock=keeps_lock)
                kernel, views = self._compile(compiler, loop, data, example)
                return partial(kernel, *views)
            except (CompileError, ViewError) as error:
                self._warn(name, str(error))
        return partial(loop, *(data if plain is None else plain))

    def routine(self, function: Callable[..., None], name: str, data: Any) -> Routine:
        """A function over (data, row, arm, at, n) for kernels to call, with its data."""
        if not self.interpreted:
            from globalbandits.compiling.compilation import CompileError, compile_routine
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
        """What the compiler makes of the function, and the data as it takes them."""
        from globalbandits.compiling.views import View

        views = [View(item) if hasattr(item, "_fields") else item for item in data]
        key = function, *(getattr(view, "kind", None) for view in views)
        if key not in self._compiled:
            self._compiled[key] = compiler(function, *views, *example)
        return self._compiled[key], views

    def _warn(self, name: str, why: str) -> None:
        self.slow = True
        if self.quiet or name in _SAID:
            return
        _SAID.add(name)
        warnings.warn(
            f"{name} cannot be compiled and runs in plain Python, which is much slower: {why}",
            RuntimeWarning,
            stacklevel=2,
        )

"""Loops bound to their data: compiled where Numba can, as plain Python where it cannot."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

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
        self._kernels: dict[Any, Callable[..., None]] = {}

    def bind(
        self, loop: Callable[..., None], name: str, data: tuple[Any, ...], *example: Any
    ) -> Callable[..., None]:
        """The loop with its first arguments fixed; the others are like those of the example.

        Args:
            loop: a plain function over (*data, *example).
            name: what runs slowly if the loop cannot be compiled.
            data: NamedTuples and arrays, changed in place.
            example: further arguments, for their types.
        """
        if self.interpreted:
            return partial(loop, *data)
        from globalbandits.compiling.compilation import CompileError, compile_kernel
        from globalbandits.compiling.views import View, ViewError

        try:
            views = [View(item) if hasattr(item, "_fields") else item for item in data]
            key = loop, *(getattr(view, "kind", None) for view in views)
            if key not in self._kernels:
                self._kernels[key] = compile_kernel(loop, *views, *example)
            return partial(self._kernels[key], *views)
        except (CompileError, ViewError) as error:
            self.slow = True
            self._warn(name, str(error))
            return partial(loop, *data)

    def _warn(self, name: str, why: str) -> None:
        if self.quiet or name in _SAID:
            return
        _SAID.add(name)
        warnings.warn(
            f"{name} cannot be compiled and runs in plain Python, which is much slower: {why}",
            RuntimeWarning,
            stacklevel=2,
        )

"""Loops bound to their data: compiled where Numba can, as plain Python where it cannot."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from globalbandits.compiling.routines import Routine

# What has been said to run in plain Python, so that it is said once a process.
_SAID: set[str] = set()


Announce = Callable[[list[str]], None]
# From names to those that other processes compile now, and a function that waits for them.
Elsewhere = Callable[[list[str]], tuple[set[str], Callable[[], None]]]


class Later:
    """A loop that will be bound to its data by `Engine.finish`."""

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
        """Bind the loop, unless it has been."""
        if self._bound is None:
            self._bound = self._bind()

    def __call__(self, *arguments: Any) -> Any:
        """Call the loop."""
        assert self._bound is not None, "call Engine.finish first"
        return self._bound(*arguments)


class Engine:
    """Binds loops to their data, for one simulation: sources are looked at once.

    Args:
        interpreted: run everything in plain Python, to compare with compiled code.
        quiet: do not warn of what runs in plain Python.
        announce: told the names of the loops that `finish` is about to compile.
        elsewhere: lets other processes compile some of them.
    """

    def __init__(
        self,
        *,
        interpreted: bool = False,
        quiet: bool = False,
        announce: Announce | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.interpreted = interpreted
        self.quiet = quiet
        self.slow = interpreted  # whether some loop runs in plain Python
        self._announce = announce
        self._elsewhere = elsewhere
        self._compiled: dict[Any, Any] = {}
        self._later: list[Later] = []

    def share(self) -> "Engine":
        """An engine for another thread, which knows what this one has compiled."""
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
        """Like `bind`, but nothing is compiled before `finish`, which knows what is missing."""
        wanted = compiled and not self.interpreted
        bind = partial(self.bind, loop, name, data, *example, plain=plain, compiled=compiled)
        known, bound = self._look_up(loop, data, example) if wanted else (True, None)
        later = Later(name, bind, known, bound)
        self._later.append(later)
        return later

    def finish(self) -> None:
        """Compile what is missing, and bind all loops that were to be bound later."""
        missing = list(dict.fromkeys(later.name for later in self._later if not later.is_known))
        if missing and self._announce is not None:
            self._announce(missing)
        elsewhere: set[str] = set()
        if missing and self._elsewhere is not None:
            elsewhere, wait = self._elsewhere(missing)
        for later in self._later:
            if later.name not in elsewhere:
                later.finish()
        if elsewhere:
            wait()
            for later in self._later:
                if later.name in elsewhere:
                    later.finish()
        self._later.clear()

    def _look_up(
        self, loop: Callable[..., Any], data: tuple[Any, ...], example: tuple[Any, ...]
    ) -> tuple[bool, Callable[..., Any] | None]:
        """Whether a loop has been compiled before, or never will be; if before, bound."""
        from globalbandits.compiling.compilation import CompileError, find_kernel
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
        found = self._compiled.get(key)
        if found is None:
            found = compiler(function, *views, *example)
            self._compiled[key] = found
        return found, views

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

"""Hand a plain Python function to Numba, together with all the helpers it calls.

A function to compile is called a *kernel*. Numba compiles calls of compiled functions only, so the
kernel is copied: in the copy, each plain function among its globals and closures is replaced by a
compiled copy. The originals stay as they are. `fastmath` is off, so compiled and interpreted
code give the same bits.

Two choices keep compiled loops fast:

- A helper that is called at a single place of a kernel is inlined there: by Numba if it is short,
  which saves compiling it by itself, and by LLVM if it is long, because Numba's inference of types
  is slow in long functions. Without this, LLVM decides by size, and a loop that calls a long
  `select` pays for passing its arrays.
- Machine code is taken from disk where it has been compiled before, see `cache`.
"""

import dis
import gc
import hashlib
import pickle
import re
import secrets
import types
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from llvmlite import ir
from numba import config, errors
from numba import types as numba_types
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.serialize import dumps
from numba.extending import intrinsic

from globalbandits.compiling import cache
from globalbandits.compiling.fingerprint import (
    FingerprintError,
    fingerprint,
    is_known_callable,
    referenced_names,
    source_fingerprint,
)
from globalbandits.compiling.routine import call_routine

Signature = tuple[Any, ...]  # Numba's types of the arguments

_OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
# Helpers are never called from Python.
_HELPER_OPTIONS = {**_OPTIONS, "no_cpython_wrapper": True}
_MAX_SHORT_BYTES = 300  # of byte code
_ROUTINE_NUMBERS = 4  # row, arm, at, n
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

_KERNELS: dict[str, "Kernel"] = {}  # by fingerprint and use of the interpreter's lock
# Numba's dispatchers, by fingerprint and options. Kernels share them.
_HELPERS: dict[str, Any] = {}


class CompileError(Exception):
    """Numba cannot compile a function; the text says why."""


def compile_kernel(
    function: Callable[..., Any], *arguments: Any, keeps_lock: bool = False
) -> Callable[..., Any]:
    """Return the function compiled for arguments of these types.

    Call the result with arguments of exactly these types: it does not check them.

    Args:
        function: a plain function.
        arguments: examples, for their types.
        keeps_lock: whether to hold the interpreter's lock while the compiled code runs. This is
            best for calls that take microseconds.
    """
    return _kernel(function, keeps_lock).compile(_signature(arguments)).entry_point  # type: ignore[no-any-return]


def find_kernel(
    function: Callable[..., Any], *arguments: Any, keeps_lock: bool = False
) -> Callable[..., Any] | None:
    """Return what `compile_kernel` would, if it is in memory or on disk; else None."""
    found = _kernel(function, keeps_lock).find(_signature(arguments))
    return None if found is None else found.entry_point


def compile_routine(function: Callable[..., None], *arguments: Any) -> tuple[int, Any]:
    """Return the address of the compiled function, and the object that keeps it alive."""
    result = _kernel(function, keeps_lock=False).compile(_signature(arguments))
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name), result


def _signature(arguments: tuple[Any, ...]) -> Signature:
    return tuple(numba.typeof(argument) for argument in arguments)


def _kernel(function: Any, keeps_lock: bool) -> "Kernel":
    if config.DISABLE_JIT:
        raise CompileError("NUMBA_DISABLE_JIT is set")
    try:
        source, key = source_fingerprint(function), f"{fingerprint(function)} {not keeps_lock}"
    except FingerprintError:  # it can be compiled, but not recognised the next time
        return Kernel(function, keeps_lock, None, "")
    if key not in _KERNELS:
        _KERNELS[key] = Kernel(function, keeps_lock, key, source)
    return _KERNELS[key]


class Kernel:
    """A function, and its compiled code for each signature.

    Args:
        function: a plain function.
        keeps_lock: whether compiled code holds the interpreter's lock.
        key: changes whenever the compiled code would; None if the code cannot be kept.
        source: the fingerprint of the Python code alone.
    """

    def __init__(self, function: Any, keeps_lock: bool, key: str | None, source: str) -> None:
        self._function = function
        self._key = key
        self._source = source
        self._options = {**_OPTIONS, "nogil": not keeps_lock}
        self._results: dict[Signature, Any] = {}
        self.n_loaded = 0  # signatures read from disk
        self.n_saved = 0  # signatures written to disk

    def find(self, signature: Signature) -> Any:
        """Numba's result for a signature, from memory or disk; None if it must be compiled."""
        with global_compiler_lock:
            if signature not in self._results and self._key is not None:
                loaded = _load(self._file(signature))
                if loaded is not None:
                    self.n_loaded += 1
                    self._results[signature] = loaded
            return self._results.get(signature)

    def compile(self, signature: Signature) -> Any:
        """Numba's result for a signature, compiled if need be."""
        with global_compiler_lock:
            found = self.find(signature)
            if found is None:
                with _no_garbage_collection():
                    found = self._compile(signature)
            return found

    def _compile(self, signature: Signature) -> Any:
        try:
            dispatcher = self._dispatcher(signature, _inlined_helpers(self._function))
        except Exception:
            # Numba cannot inline every function that it can compile, and what its inliner raises
            # differs between versions (0.61 raises KeyError).
            try:
                dispatcher = self._dispatcher(signature, set())
            except (errors.NumbaError, RuntimeError) as error:  # the latter is LLVM's
                raise CompileError(_first_line(error)) from error
        result = self._results[signature] = dispatcher.overloads[signature]
        if self._key is not None and not _is_bound_to_process(self._function, result):
            self.n_saved += _save(self._file(signature), result)
        return result

    def _dispatcher(self, signature: Signature, inlined: set[Any]) -> Any:
        """Numba's dispatcher of the function, with compiled code for a signature."""
        dispatcher = _Copies(inlined).copy(self._function, self._options, {}, self._key)
        dispatcher.compile(signature)
        return dispatcher

    def _file(self, signature: Signature) -> str:
        return cache.file_name(self._source, f"{self._key} {signature}")


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Suspend the garbage collector of this process.

    Numba allocates very many objects and keeps most of them. The collector would go through them
    again and again, which takes a sixth of the time of compiling.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _is_bound_to_process(function: Any, result: Any) -> bool:
    """Whether code holds addresses of this process, so that no other process can run it."""
    if result.lifted or result.library.has_dynamic_globals:
        return True
    # Numba links functions that call each other by pointers, which it sets in this process.
    used = _helpers_of_all(function)
    return any(_recurs(helper, used) for helper in used)


class _Codec(CompileResultCacheImpl):  # type: ignore[misc]
    """Numba's own way to turn a result into an object that can be pickled, and back."""

    def __init__(self) -> None:
        """Without the source file that Numba's own cache looks for."""


_CODEC = _Codec()


def _load(name: str) -> Any:
    """A result from disk; None where there is none, or a damaged one."""
    body = cache.read(name)
    if body is None:
        return None
    context = cpu_target.target_context
    context.refresh()
    try:
        return _CODEC.rebuild(context, pickle.loads(body))
    except Exception:  # it is compiled again, and the file replaced
        return None


def _save(name: str, result: Any) -> bool:
    """Write a result to disk, if it can be pickled; whether this succeeded."""
    try:
        body = dumps(_CODEC.reduce(result))
    except Exception:  # it is compiled again in the next process
        return False
    return cache.write(name, body)


class _Copies:
    """Copies of a kernel and its helpers, in which all helpers are Numba's.

    Args:
        inlined: the helpers to inline where they are called.
    """

    def __init__(self, inlined: set[Any]) -> None:
        self._inlined = inlined

    def copy(
        self, function: Any, options: dict[str, Any], begun: dict[int, Any], key: str | None
    ) -> Any:
        """A copy of a function for Numba; ``begun`` holds the copies this one is made for.

        The copy's name contains the ``key``, or a random text. Numba only numbers functions, in
        each process from 1. So two functions of one name that two processes have compiled would
        be confused in a third process that loads both from disk.
        """
        scope = dict(function.__globals__)
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        copy = types.FunctionType(
            function.__code__, scope, function.__name__, function.__defaults__, cells
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        unique = secrets.token_hex(8) if key is None else hashlib.sha256(key.encode()).hexdigest()
        copy.__qualname__ = f"{function.__qualname__}_{unique[:16]}"
        copy.__module__ = function.__module__
        dispatcher = numba.njit(**options)(copy)
        begun = {**begun, id(function): dispatcher}
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = self._replace(original.cell_contents, begun)
        for name in referenced_names(function.__code__):
            if name in scope:
                scope[name] = self._replace(scope[name], begun)
        return dispatcher

    def _replace(self, value: Any, begun: dict[int, Any]) -> Any:
        """What compiled code uses for a global: a helper's copy, or the value itself."""
        if value is call_routine:
            return _call_address
        if not _is_helper(value):
            return value
        if id(value) in begun:  # it calls itself
            return begun[id(value)]
        how = self._inlining(value)
        options = {**_HELPER_OPTIONS, **how}
        try:
            key = f"{fingerprint(value)} {how}"
        except FingerprintError:
            return self.copy(value, options, begun, None)
        if key not in _HELPERS:
            _HELPERS[key] = self.copy(value, options, begun, key)
        return _HELPERS[key]

    def _inlining(self, helper: Any) -> dict[str, Any]:
        """Numba's options that say whether and how a helper is inlined."""
        # A helper inherits `forceinline` from the function that calls it, unless it is set.
        if helper not in self._inlined:
            return {"forceinline": False}
        if len(helper.__code__.co_code) <= _MAX_SHORT_BYTES:
            return {"inline": "always", "forceinline": False}
        return {"forceinline": True}


def _is_helper(value: Any) -> bool:
    """Whether a value is a plain function that has to be compiled."""
    return (
        isinstance(value, types.FunctionType)
        and value is not call_routine
        and not is_known_callable(value)
    )


def _inlined_helpers(kernel: Any) -> set[Any]:
    """The helpers that a kernel and its helpers use at a single place, and that never recur."""
    used = _helpers_of_all(kernel)
    n_places = Counter(helper for helpers in used.values() for helper in helpers)
    return {helper for helper, n in n_places.items() if n == 1 and not _recurs(helper, used)}


def _helpers_of_all(kernel: Any) -> dict[Any, list[Any]]:
    """The helpers that a kernel and each of its helpers use, as often as they do."""
    used: dict[Any, list[Any]] = {}
    waiting = [kernel]
    while waiting:
        function = waiting.pop()
        if function not in used:
            used[function] = list(_helpers_used(function))
            waiting += used[function]
    return used


def _recurs(function: Any, used: dict[Any, list[Any]]) -> bool:
    """Whether a function calls itself, directly or through its helpers."""
    reached: set[Any] = set()
    waiting = list(used[function])
    while waiting:
        helper = waiting.pop()
        if helper not in reached:
            reached.add(helper)
            waiting += used[helper]
    return function in reached


def _helpers_used(function: Any) -> Iterator[Any]:
    """The helpers that a function's code refers to, each as often as it does."""
    closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for instruction in dis.get_instructions(function.__code__):
        value = None
        if instruction.opname == "LOAD_GLOBAL":
            value = function.__globals__.get(instruction.argval)
        elif instruction.opname == "LOAD_DEREF" and instruction.argval in closure:
            value = closure[instruction.argval].cell_contents
        if _is_helper(value):
            yield value


@intrinsic  # type: ignore[untyped-decorator]
def _call_address(
    context: Any, code: Any, data: Any, row: Any, arm: Any, at: Any, n: Any
) -> tuple[Any, Any]:
    """Call the routine at an address with the data at another one.

    Takes the place of `call_routine` in compiled code. The call uses Numba's own convention, so
    an exception of the routine also ends the kernel.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code, data, *numbers = arguments
        kinds = [numba_types.voidptr, *[numba_types.int64] * _ROUTINE_NUMBERS]
        kind = context.call_conv.get_function_type(numba_types.none, kinds)
        function = builder.inttoptr(code, kind.as_pointer())
        pointer = builder.inttoptr(data, ir.IntType(8).as_pointer())
        status, _ = context.call_conv.call_function(
            builder, function, numba_types.none, kinds, [pointer, *numbers]
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return numba_types.none(*[numba_types.int64] * (2 + _ROUTINE_NUMBERS)), generate


def _first_line(error: BaseException) -> str:
    """The first line of a message that says what is wrong, without a terminal's colours."""
    text = _COLOUR.sub("", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith("Failed in")), text)

"""Plain Python functions compiled as they stand, with all the helpers they call.

A function is copied with the plain functions among its globals and closures replaced by
their compiled copies, and the copy is given to Numba; the original is not changed. No
`fastmath`: compiled and interpreted code give the same bits.
"""

import hashlib
import secrets
import types
from collections.abc import Callable
from typing import Any

import numba
from numba.core import config
from numba.core.errors import NumbaError

from globalbandits.compiling.cache import DiskCache
from globalbandits.compiling.fingerprint import (
    FingerprintError,
    fingerprint,
    is_known_callable,
    referenced_names,
)
from globalbandits.compiling.pipeline import HelperPipeline, KernelPipeline
from globalbandits.compiling.pointers import REPLACEMENTS

_OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
_KERNEL_OPTIONS = {**_OPTIONS, "pipeline_class": KernelPipeline}
# Helpers are never called from Python.
_HELPER_OPTIONS = {**_OPTIONS, "pipeline_class": HelperPipeline, "no_cpython_wrapper": True}

_KERNELS: dict[str, Any] = {}  # by fingerprint, and whether they keep the interpreter's lock
_HELPERS: dict[str, Any] = {}  # by fingerprint; kernels share them


class CompileError(Exception):
    """Numba cannot compile a function; the text says why."""


def compile_kernel(
    function: Callable[..., Any], *arguments: Any, keeps_lock: bool = False
) -> Callable[..., Any]:
    """The function compiled for arguments of these types, from disk where it has been before.

    The same function with the same helpers is compiled once a process. Call the result with
    arguments of exactly these types: they are not looked at again.

    Args:
        function: a plain function.
        arguments: examples, for their types.
        keeps_lock: whether other threads of Python wait while it runs, as is best for calls that
            take microseconds.
    """
    kernel = _find(function, keeps_lock)
    return _compile(kernel, arguments).entry_point  # type: ignore[no-any-return]


def find_kernel(
    function: Callable[..., Any], *arguments: Any, keeps_lock: bool = False
) -> Callable[..., Any] | None:
    """What `compile_kernel` would return, if that takes no compiling; else None."""
    kernel = _find(function, keeps_lock)
    signature = _signature(kernel, arguments)
    if signature not in kernel.overloads and not (
        isinstance(kernel._cache, DiskCache) and kernel._cache.has(signature)
    ):
        return None
    return _compile(kernel, arguments).entry_point  # type: ignore[no-any-return]


def compile_routine(function: Callable[..., None], *arguments: Any) -> tuple[int, Any]:
    """The address of the function compiled for these types, and what keeps it alive."""
    result = _compile(_find(function, keeps_lock=False), arguments)
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name), result


def _compile(kernel: Any, arguments: tuple[Any, ...]) -> Any:
    signature = _signature(kernel, arguments)
    try:
        kernel.compile(signature)
    except (NumbaError, RuntimeError) as error:  # the latter is LLVM's
        raise CompileError(_first_words(error)) from error
    return kernel.overloads[signature]


def _signature(kernel: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(kernel.typeof_pyval(argument) for argument in arguments)


def _find(function: Any, keeps_lock: bool) -> Any:
    """The function as Numba takes it, with what has been compiled of it."""
    if config.DISABLE_JIT:
        raise CompileError("NUMBA_DISABLE_JIT is set")
    options = {**_KERNEL_OPTIONS, "nogil": not keeps_lock}
    try:
        key = f"{fingerprint(function)} {options['nogil']}"
    except FingerprintError:
        return _copy(function, options, {}, None)  # kept neither on disk nor in memory
    if key not in _KERNELS:
        kernel = _copy(function, options, {}, key)
        kernel._cache = DiskCache(key)
        _KERNELS[key] = kernel
    return _KERNELS[key]


def _copy(function: Any, options: dict[str, Any], begun: dict[int, Any], key: str | None) -> Any:
    """A copy of a function for Numba; ``begun`` holds the copies this one is made for.

    Its name tells its content by the ``key``, or is new where there is none. Numba only numbers
    functions, in every process from the start: two functions of one name that two processes have
    compiled would be taken for each other in a third one, which loads both from disk.
    """
    scope = dict(function.__globals__)
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    copy = types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    mark = secrets.token_hex(8) if key is None else hashlib.sha256(key.encode()).hexdigest()[:16]
    copy.__qualname__, copy.__module__ = f"{function.__qualname__}_{mark}", function.__module__
    dispatcher = numba.njit(**options)(copy)
    begun = {**begun, id(function): dispatcher}
    for cell, original in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = _replaced(original.cell_contents, begun)
    for name in referenced_names(function.__code__):
        if name in scope:
            scope[name] = _replaced(scope[name], begun)
    return dispatcher


def _replaced(value: Any, begun: dict[int, Any]) -> Any:
    """A plain function's copy; anything else as it is."""
    if not isinstance(value, types.FunctionType) or is_known_callable(value):
        return value
    if value in REPLACEMENTS:
        return REPLACEMENTS[value]
    if id(value) in begun:  # it calls itself
        return begun[id(value)]
    try:
        key = fingerprint(value)
    except FingerprintError:
        return _copy(value, _HELPER_OPTIONS, begun, None)
    if key not in _HELPERS:
        _HELPERS[key] = _copy(value, _HELPER_OPTIONS, begun, key)
    return _HELPERS[key]


def _first_words(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith("Failed in")), str(error))

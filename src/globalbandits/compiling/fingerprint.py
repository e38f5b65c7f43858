"""A hash that changes whenever the compiled code of a function would change.

Compiled code inlines everything a function refers to: helpers in other modules, constants,
closures, defaults. `source_fingerprint` reads all of it, recursively. `fingerprint` adds the
versions of the compilers, the processor, and the sources of this package.
"""

import dataclasses
import enum
import hashlib
import platform
import sys
import types
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

_MAX_CODE_OBJECTS = 4096  # code objects
_MAX_FINGERPRINTS = 256  # fingerprints
# Modules that Numba replaces by code of its own. Only their version is hashed.
_KNOWN_PACKAGES = {"builtins", "cmath", "math", "numba", "numpy", "operator"}

_CODE, _DEFAULTS = attrgetter("__code__"), attrgetter("__defaults__")
_KEYWORDS, _CONTENTS = attrgetter("__kwdefaults__"), attrgetter("cell_contents")
# One thing that was looked up, and found: (look up, what, found).
_Witness = tuple[Callable[[Any], Any], Any, Any]
# Fingerprints by function, with all that was looked up for them.
KEPT_KEYS: dict[Any, tuple[str, list[_Witness]]] = {}


class FingerprintError(TypeError):
    """An object whose content has no fingerprint."""


def fingerprint(function: Any) -> str:
    """Hash of a function with everything it refers to and everything that compiles it."""
    content = f"{source_fingerprint(function)} {surroundings()!r}"
    return hashlib.sha256(content.encode()).hexdigest()


def source_fingerprint(function: Any) -> str:
    """Hash of a function with everything it refers to. It does not import Numba.

    The hash is kept, and holds while every name still refers to the same object. Functions that
    refer to arrays or lists, which may change in place, are read each time.

    >>> def twice(x):
    ...     return 2 * x
    >>> def thrice(x):
    ...     return 3 * x
    >>> source_fingerprint(twice) == source_fingerprint(thrice)
    False
    """
    text, witnesses = KEPT_KEYS.get(function, ("", []))
    if witnesses and all(look_up(what) is found for look_up, what, found in witnesses):
        return text
    reader = _Reader(hashlib.sha256())
    reader.read(function)
    text = str(reader.digest.hexdigest())
    if reader.is_settled:
        if len(KEPT_KEYS) >= _MAX_FINGERPRINTS:
            KEPT_KEYS.clear()
        KEPT_KEYS[function] = text, reader.witnesses
    return text


@cache
def surroundings() -> tuple[str, ...]:
    """What compiles the code, and for which machine."""
    import llvmlite.binding
    from numba import config

    # All of this room: how it lays out memory and calls decides what code means.
    ours = [source.read_bytes() for source in sorted(Path(__file__).parent.glob("*.py"))]
    settings = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "USING_SVML", "CPU_NAME")
    return (
        sys.version,
        platform.machine(),
        llvmlite.binding.get_process_triple(),
        llvmlite.binding.get_host_cpu_name(),
        llvmlite.binding.get_host_cpu_features().flatten(),
        *(f"{name} {version(name)}" for name in ("numba", "llvmlite", "numpy")),
        *(f"{name}={getattr(config, name, None)!r}" for name in settings),
        *(hashlib.sha256(source).hexdigest() for source in ours),
    )


@dataclasses.dataclass
class _Reader:
    """Feeds objects to a hash; an object met before is named by its number."""

    digest: Any
    seen: dict[int, tuple[int, Any]] = dataclasses.field(default_factory=dict)
    witnesses: list[_Witness] = dataclasses.field(default_factory=list)
    is_settled: bool = True  # whether nothing was read that may change in place

    def write(self, *texts: object) -> None:
        for text in texts:
            encoded = text if isinstance(text, bytes) else str(text).encode()
            self.digest.update(b"%d:%b" % (len(encoded), encoded))

    def read(self, value: Any) -> None:
        if id(value) in self.seen:
            self.write("seen", self.seen[id(value)][0])
            return
        if isinstance(value, (types.FunctionType, types.CodeType)) or hasattr(value, "py_func"):
            self.seen[id(value)] = len(self.seen), value
        self.write(type(value).__qualname__)
        if is_known_callable(value):
            self.write(value.__module__, getattr(value, "__qualname__", repr(value)))
            return
        for kind, read in _KINDS:
            if isinstance(value, kind):
                read(self, value)
                return
        if hasattr(value, "py_func"):  # compiled by the user
            self.is_settled = False
            self.write(sorted(value.targetoptions.items()))
            self.read(value.py_func)
            return
        raise FingerprintError(f"cannot tell the content of {value!r}")

    def read_number(self, value: object) -> None:
        self.write(repr(value))

    def read_array(self, value: Any) -> None:
        if value.dtype.hasobject:
            raise FingerprintError(f"cannot tell the content of {value!r}")
        self.is_settled = False
        self.write(value.dtype.str, value.shape, value.tobytes())

    def read_items(self, value: Any) -> None:
        self.is_settled &= not isinstance(value, list)
        self.write(len(value), *getattr(value, "_fields", ()))
        for item in value:
            self.read(item)

    def read_set(self, value: Any) -> None:
        self.write(*sorted(map(repr, value)))

    def read_member(self, value: enum.Enum) -> None:
        self.write(value.name)
        self.read(value.value)

    def read_class(self, value: type) -> None:
        self.write(value.__module__, value.__qualname__)
        if hasattr(value, "_fields"):
            self.write(*value._fields)
        elif issubclass(value, enum.Enum):
            self.read_items(tuple(value))
        elif not issubclass(value, BaseException):
            raise FingerprintError(f"cannot tell the content of {value!r}")

    def read_code(self, code: types.CodeType) -> None:
        self.write(code_digest(code))

    def read_function(self, function: types.FunctionType) -> None:
        self.read(self.look_up(_CODE, function))
        self.read(self.look_up(_DEFAULTS, function))
        named = self.look_up(_KEYWORDS, function) or {}
        self.is_settled &= not named
        self.read(tuple(sorted(named.items())))
        names = referenced_names(function.__code__)
        for cell in function.__closure__ or ():
            self.read_reference(self.look_up(_CONTENTS, cell), names)
        scope = function.__globals__
        for name in names:
            if self.look_up(scope.__contains__, name):
                self.write("global", name)
                self.read_reference(self.look_up(scope.get, name), names)

    def read_reference(self, value: Any, names: tuple[str, ...]) -> None:
        """What a function refers to; of a module only the attributes that it names somewhere."""
        if not isinstance(value, types.ModuleType):
            self.read(value)
            return
        self.write("module", value.__name__)
        if value.__name__.partition(".")[0] not in _KNOWN_PACKAGES:
            scope = vars(value)
            for name in names:
                if self.look_up(scope.__contains__, name):
                    self.write("attribute", name)
                    self.read_reference(self.look_up(scope.get, name), names)
                elif hasattr(value, name):  # made when it is asked for
                    self.is_settled = False
                    self.write("attribute", name)
                    self.read_reference(getattr(value, name), names)

    def look_up(self, how: Callable[[Any], Any], what: Any) -> Any:
        """Something that may be another thing the next time."""
        found = how(what)
        self.witnesses.append((how, what, found))
        return found


def is_known_callable(value: Any) -> bool:
    """Whether Numba has code of its own for this function or class."""
    module = getattr(value, "__module__", None)
    return callable(value) and str(module).partition(".")[0] in _KNOWN_PACKAGES


@lru_cache(maxsize=_MAX_CODE_OBJECTS)
def code_digest(code: types.CodeType) -> bytes:
    """Hash of a code object, which never changes."""
    reader = _Reader(hashlib.sha256())
    reader.write(code.co_code, code.co_names, code.co_varnames, code.co_freevars)
    reader.write(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    reader.write(code.co_flags, code.co_exceptiontable)
    reader.read_items(code.co_consts)
    return bytes(reader.digest.digest())


@lru_cache(maxsize=_MAX_CODE_OBJECTS)
def referenced_names(code: types.CodeType) -> tuple[str, ...]:
    """Every global or attribute name in a function, in those inside it too, sorted."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(referenced_names(constant))
    return tuple(sorted(names))


_KINDS: tuple[tuple[Any, Callable[[_Reader, Any], None]], ...] = (
    (enum.Enum, _Reader.read_member),
    ((type(None), type(...), bool, int, float, complex, str, bytes), _Reader.read_number),
    ((np.generic, np.ufunc), _Reader.read_number),
    (np.ndarray, _Reader.read_array),
    ((tuple, list), _Reader.read_items),
    (frozenset, _Reader.read_set),
    (type, _Reader.read_class),
    (types.CodeType, _Reader.read_code),
    (types.FunctionType, _Reader.read_function),
)

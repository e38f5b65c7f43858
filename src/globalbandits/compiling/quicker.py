"""Some of Numba's own functions, quicker while we compile.

A third of the time to compile a kernel went into finding out, for every ``+`` and every ``[]``
again, what it means for these types; and a tenth into listing the variables of an instruction.
The first is remembered, and so is the size of a type in memory; the second is written with fewer
calls. All give what they gave before.

Another tenth went into the search for garbage, which finds little in code that is being
compiled: it waits until that is done. And Numba marks up the text of its errors for a terminal,
of thousands of errors that it raises only for itself: here the text stays plain.

All this holds only while one of our functions is compiled, which Numba lets one thread do at a
time.
"""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite.ir.types import Type
from numba.core import errors as numba_errors
from numba.core.ir import Expr, Inst, Loc, Var
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

errors: Any = numba_errors
_Function: Any = BaseFunction
_find_type = _Function.get_call_type
_list_variables = Inst._rec_list_vars
_find_size = Type.get_abi_size
_WITHOUT_VARIABLES = frozenset({Loc, str, int, float, bool, type(None)})

_known: dict[Any, tuple[Any, Any]] = {}  # function, types and options: the function, its signature
_options: dict[int, tuple[Any, str]] = {}  # by identity: options of what is compiled now, as text
_sizes: dict[str, int] = {}  # bytes of a type, by its text
_before: list[Any] = []  # whether garbage was looked for, and what marked up errors
_depth = [0]  # how many of our functions are being compiled, one for the other


class _Plain:
    """Marks up nothing."""

    def _same(self, text: str) -> str:
        return text

    code = errmsg = filename = indicate = highlight = reset = _same


_PLAIN = _Plain()


@contextmanager
def quicker() -> Iterator[None]:
    """Let the quick functions stand in."""
    if _depth[0] == 0:
        _before[:] = gc.isenabled(), errors._termcolor_inst
    _depth[0] += 1
    try:
        _Function.get_call_type = recall_type
        Inst._rec_list_vars = list_variables
        Type.get_abi_size = recall_size
        errors._termcolor_inst = _PLAIN
        gc.disable()
        yield
    finally:
        _depth[0] -= 1
        if _depth[0] == 0:
            _Function.get_call_type = _find_type
            Inst._rec_list_vars = _list_variables
            Type.get_abi_size = _find_size
            _options.clear()
            collects, errors._termcolor_inst = _before
            if collects:
                gc.enable()


def recall_type(function: Any, context: Any, types: Any, keywords: Any) -> Any:
    """The signature of a built-in function for these types of arguments.

    Function types never change: a new implementation makes a new type.
    """
    key = id(function), context, tuple(types), tuple(keywords.items()), _options_now()
    if key not in _known:
        _known[key] = function, _find_type(function, context, types, keywords)
    return _known[key][1]


def _options_now() -> str:
    """Options of the function that is compiled now, which its built-in functions inherit."""
    options = ConfigStack.top_or_none()
    if id(options) not in _options:
        _options[id(options)] = options, "" if options is None else options.summary()
    return _options[id(options)][1]


def list_variables(instruction: Any, value: Any) -> list[Any]:
    """All variables in a part of an instruction."""
    items: Iterable[Any]
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, (list, tuple)):
        items = value
    else:
        return _list_variables(instruction, value)  # type: ignore[no-any-return]
    found: list[Any] = []
    for item in items:
        kind = type(item)
        if kind is Var:
            found.append(item)
        elif kind is Expr:
            found += list_variables(item, item._kws)
        elif kind not in _WITHOUT_VARIABLES:
            found += list_variables(instruction, item)
    return found


def recall_size(kind: Any, target_data: Any, context: Any = None) -> int:
    """How many bytes a type takes; LLVM is asked once, by a module made for it."""
    text = str(kind)
    if "%" in text:  # a name, which may mean something else elsewhere
        return _find_size(kind, target_data, context)  # type: ignore[no-any-return]
    if text not in _sizes:
        _sizes[text] = _find_size(kind, target_data, context)
    return _sizes[text]

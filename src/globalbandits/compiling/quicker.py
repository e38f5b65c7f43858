"""Two of Numba's own functions, quicker while we compile.

A third of the time to compile a kernel went into finding out, for every ``+`` and every ``[]``
again, what it means for these types; and a tenth into listing the variables of an instruction.
The first is remembered, the second is written with fewer calls. Both give what they gave before.

They stand in for Numba's only while one of our functions is compiled, which Numba lets one thread
do at a time.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.ir import Inst, Loc, Var
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

_Function: Any = BaseFunction
_find_type = _Function.get_call_type
_list_variables = Inst._rec_list_vars
_WITHOUT_VARIABLES = frozenset({Loc, str, int, float, bool, type(None)})

_known: dict[Any, tuple[Any, Any]] = {}  # function, types and options: the function, its signature
_options: dict[int, tuple[Any, str]] = {}  # by identity: options of what is compiled now, as text
_depth = [0]  # how many of our functions are being compiled, one for the other


@contextmanager
def quicker() -> Iterator[None]:
    """Let the quick functions stand in."""
    _depth[0] += 1
    try:
        _Function.get_call_type = recall_type
        Inst._rec_list_vars = list_variables
        yield
    finally:
        _depth[0] -= 1
        if _depth[0] == 0:
            _Function.get_call_type = _find_type
            Inst._rec_list_vars = _list_variables
            _options.clear()


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
        elif kind not in _WITHOUT_VARIABLES:
            found += list_variables(instruction, item)
    return found

"""Plain functions compiled by Numba together with the plain functions they call."""

import types
from functools import cache

import numba


@cache
def compiled(function):
    """A compiled copy of a function; the original and its globals stay as they are."""
    scope = dict(function.__globals__)
    cells = tuple(types.CellType(_replaced(c.cell_contents)) for c in function.__closure__ or ())
    copy = types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells
    )
    for name in function.__code__.co_names:
        if name in scope:
            scope[name] = _replaced(scope[name])
    return numba.njit(error_model="numpy")(copy)


def _replaced(value):
    return compiled(value) if isinstance(value, types.FunctionType) else value

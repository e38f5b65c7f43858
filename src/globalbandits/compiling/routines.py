"""Functions that a kernel calls without knowing them when it is compiled.

In plain Python a routine is a function and its data; compiled, it is the address of a function
and the address of its data. So a kernel that draws rewards through a routine is compiled once,
whatever draws them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Routine(NamedTuple):
    """A function over (data, row, arm, at, n), and its data."""

    function: Callable[..., None]
    data: Any
    address: int  # of the compiled function; 0 if there is none
    data_address: int
    owner: Any  # keeps what is behind the addresses alive


def call_routine(code: Any, data: Any, row: int, arm: int, at: int, n: int) -> None:
    """Call a routine; in compiled code, `pointers` puts a call by address here."""
    function: Callable[..., None] = code
    function(data, row, arm, at, n)

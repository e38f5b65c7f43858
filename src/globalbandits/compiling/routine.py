"""Routines: functions that a compiled loop calls by their address.

A loop that draws rewards through a routine is compiled once, for all kinds of rewards.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Routine(NamedTuple):
    """A function over (data, row, arm, at, n), and its data."""

    function: Callable[..., None]
    data: Any
    address: int  # of the compiled function; 0 if there is none
    data_address: int
    owner: Any  # keeps the memory at both addresses alive


def call_routine(code: Any, data: Any, row: int, arm: int, at: int, n: int) -> None:
    """Call a routine. In compiled code, ``code`` and ``data`` are addresses."""
    function: Callable[..., None] = code
    function(data, row, arm, at, n)

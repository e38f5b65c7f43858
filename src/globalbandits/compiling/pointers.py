"""Calls by address: what `call_routine` is in compiled code.

The routine is called by Numba's own convention, so that an exception it raises goes on through
the kernel like any other.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from globalbandits.compiling.routines import call_routine

_N_NUMBERS = 4  # row, arm, at, n


@intrinsic  # type: ignore[untyped-decorator]
def call_address(
    context: Any, code: Any, data: Any, row: Any, arm: Any, at: Any, n: Any
) -> tuple[Any, Any]:
    """Call the routine at an address with the data at another one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code, data, *numbers = arguments
        kinds = [types.voidptr, *[types.int64] * _N_NUMBERS]
        kind = context.call_conv.get_function_type(types.none, kinds)
        function = builder.inttoptr(code, kind.as_pointer())
        pointer = builder.inttoptr(data, ir.IntType(8).as_pointer())
        status, _ = context.call_conv.call_function(
            builder, function, types.none, kinds, [pointer, *numbers]
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.none(*[types.int64] * (2 + _N_NUMBERS)), generate


# Plain functions, and what takes their place in compiled code.
REPLACEMENTS: dict[Any, Any] = {call_routine: call_address}

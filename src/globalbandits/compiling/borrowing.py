"""Functions that only borrow arrays are compiled without counting references.

Numba counts a reference whenever a variable takes an array and whenever one is given up, even for
arrays that a `View` lends and nobody counts. A function needs none of that if every array in it
belongs to somebody who outlives the call: the caller, whose arguments it gets, or a `View`. Such
functions are found here, after types are known; all others stay as they were.
"""

from typing import Any

from numba.core import ir
from numba.core import types as numba_types
from numba.core.compiler_machinery import AnalysisPass, register_pass

types: Any = numba_types
_STATEMENTS = ir.Assign, ir.Branch, ir.Del, ir.Jump, ir.Return, ir.StaticRaise
_WRITES = ir.SetItem, ir.StaticSetItem
# Expressions whose arrays are those of their parts.
_LENDING = frozenset(
    {
        "build_tuple",
        "cast",
        "exhaust_iter",
        "getattr",
        "getiter",
        "iternext",
        "pair_first",
        "pair_second",
        "phi",
    }
)
_INDEXING = frozenset({"getitem", "static_getitem", "typed_getitem"})
_LENDERS = types.Array, types.BaseTuple, types.UniTupleIter, types.Pair
_PLAIN_INDICES = types.Integer, types.SliceType


@register_pass(mutates_CFG=False, analysis_only=True)
class BorrowingPass(AnalysisPass):  # type: ignore[misc]
    """Switches counting off for a function that only borrows."""

    _name = "globalbandits_borrowing"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Called by Numba."""
        if only_borrows(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return True


def only_borrows(state: Any) -> bool:
    """Whether no array, or anything else that is counted, is made or handed out by a function."""
    models, typemap = state.targetctx.data_model_manager, state.typemap

    def is_counted(kind: Any) -> bool:
        return bool(models[kind].contains_nrt_meminfo())

    if state.func_ir.is_generator or is_counted(state.return_type):
        return False
    for block in state.func_ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign):
                kind = typemap[statement.target.name]
                if is_counted(kind) and not _is_lent(kind, statement.value, typemap):
                    return False
            elif isinstance(statement, _WRITES):
                if is_counted(typemap[statement.value.name]):
                    return False
            elif not isinstance(statement, _STATEMENTS):
                return False
    return True


def _is_lent(kind: Any, value: Any, typemap: Any) -> bool:
    """Whether what is assigned belongs to somebody else."""
    if not isinstance(kind, _LENDERS):
        return False
    if not isinstance(value, ir.Expr):
        return isinstance(value, (ir.Arg, ir.Var))
    if value.op in _LENDING:
        return True
    return value.op in _INDEXING and _is_plain(value, typemap)


def _is_plain(value: Any, typemap: Any) -> bool:
    """Whether an index takes a part as it lies in memory; one by arrays would make a copy."""
    index = value.index_var if value.op == "static_getitem" else value.index
    if index is None:  # a number that is known beforehand
        return True
    kind = typemap[index.name]
    parts = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
    return all(isinstance(types.unliteral(part), _PLAIN_INDICES) for part in parts)

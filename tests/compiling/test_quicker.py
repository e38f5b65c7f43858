"""What stands in for Numba's functions while we compile gives what they give."""

import dis
import gc
import operator

import numpy as np
import pytest
from llvmlite import ir as llvm
from llvmlite.ir.types import Type
from numba import types
from numba.core import bytecode, errors, interpreter
from numba.core.compiler import Flags
from numba.core.ir import Inst
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

from globalbandits.compiling import quicker
from globalbandits.compiling.compilation import CompileError, compile_kernel

OPERATORS = [operator.add, operator.truediv, operator.lt, operator.getitem]
OPERANDS = [types.int64, types.float64, types.boolean, types.float64[::1], types.literal(2)]


@pytest.fixture
def context():
    cpu_target.target_context.refresh()
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context


def everything(values, limit, *others, start=0):
    """Calls, keywords, tuples, branches, slices, attributes and writes."""
    total = np.zeros(2)
    for at in range(start, limit):
        pair = (values[at], at)
        total[0] += pair[0] if values.shape[0] > at else max(pair[1], *others)
        values[1:at] = {"a": at, "b": [at, (at, pair)]}
    del pair
    return total, others


def test_the_same_variables_of_every_instruction():
    code = bytecode.FunctionIdentity.from_function(everything)
    blocks = interpreter.Interpreter(code).interpret(bytecode.ByteCode(code)).blocks
    listed = 0
    for block in blocks.values():
        for instruction in block.body:
            parts = instruction.__dict__
            expected = quicker._list_variables(instruction, parts)
            assert quicker.list_variables(instruction, parts) == expected
            listed += len(expected)
    assert listed > len(list(dis.get_instructions(everything))) / 2


def test_the_same_signatures(context):
    known = 0
    for operation in OPERATORS:
        function = context.resolve_value_type(operation)
        for left in OPERANDS:
            for right in OPERANDS:
                found = []
                for ask in (quicker._find_type, quicker.recall_type, quicker.recall_type):
                    try:
                        found.append(ask(function, context, (left, right), {}))
                    except Exception as error:
                        found.append(str(error)[:60])
                assert found[0] == found[1] == found[2]
                known += not isinstance(found[0], str)
    assert known > 40


def test_what_is_known_depends_on_the_options(context):
    function = context.resolve_value_type(operator.truediv)
    before = len(quicker._known)
    for error_model in ("python", "numpy", "numpy"):
        flags = Flags()
        flags.error_model = error_model
        with ConfigStack().enter(flags):
            quicker.recall_type(function, context, (types.int32, types.float32), {})
    assert len(quicker._known) == before + 2


def test_the_same_sizes(context):
    data = cpu_target.target_context.target_data
    pair = llvm.LiteralStructType([llvm.IntType(1), llvm.DoubleType()])
    named = llvm.context.Context().get_identified_type("named")
    named.set_body(llvm.IntType(32), llvm.IntType(64))
    for kind in (llvm.IntType(8), pair, llvm.ArrayType(pair, 3), pair.as_pointer(), named):
        expected = quicker._find_size(kind, data, getattr(kind, "context", None))
        for _ in range(2):
            assert quicker.recall_size(kind, data, getattr(kind, "context", None)) == expected
    assert not any("named" in text for text in quicker._sizes)


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_looked_for_as_before(collects):
    before = gc.isenabled()
    try:
        gc.enable() if collects else gc.disable()
        with quicker.quicker():
            with quicker.quicker():
                pass
            assert not gc.isenabled()
        assert gc.isenabled() == collects
    finally:
        gc.enable() if before else gc.disable()


def test_numbas_own_functions_are_back_afterwards():
    seen = []

    def kernel(x):
        return x + 1.0

    def wrong(x):
        return x.nothing

    termcolor = errors.termcolor()
    with quicker.quicker():
        with quicker.quicker():
            pass
        seen.append(BaseFunction.get_call_type)
        for mark in ("code", "errmsg", "filename", "indicate", "highlight", "reset"):
            assert getattr(errors.termcolor(), mark)("text") == "text"
    assert seen == [quicker.recall_type]
    assert compile_kernel(kernel, 1.0)(2.0) == 3.0
    with pytest.raises(CompileError) as error:
        compile_kernel(wrong, 1.0)
    assert "\x1b" not in str(error.value)  # no colours
    assert BaseFunction.get_call_type is quicker._find_type
    assert Inst._rec_list_vars is quicker._list_variables
    assert Type.get_abi_size is quicker._find_size
    assert errors.termcolor() is termcolor

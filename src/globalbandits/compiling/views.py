"""NamedTuples of arrays handed to compiled code as one pointer.

Numba passes a NamedTuple by value: every array becomes seven arguments, and all of them are
counted, copied and compiled again for each function that takes the tuple. A `View` lays the
fields out in memory once, as 64-bit words, and compiled code reads ``view.field`` from
there. To the functions that are compiled it looks just like the NamedTuple.

Memory is borrowed: the `View` keeps the arrays alive, and compiled code counts no references.
"""

import ctypes
import hashlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, typeof, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

_WORD = ir.IntType(64)
_GENERATOR_FIELDS = (  # ours, and what NumPy's interface calls them
    ("state_address", "state_address"),
    ("state", "state"),
    ("fnptr_next_uint64", "next_uint64"),
    ("fnptr_next_uint32", "next_uint32"),
    ("fnptr_next_double", "next_double"),
    ("bit_generator", "bit_generator"),
)


class ViewError(TypeError):
    """A field that compiled code cannot read."""


class ViewType(types.Type):  # type: ignore[misc]
    """The type of a `View`: the names of its fields, their types and their first words."""

    def __init__(self, label: str, fields: tuple[tuple[str, Any, int], ...]) -> None:
        self.fields = {name: (kind, word) for name, kind, word in fields}
        described = ", ".join(f"{name}: {kind}" for name, kind, _ in fields)
        short = hashlib.sha256(described.encode()).hexdigest()[:32]
        # Numba puts this name into the name of every function that takes a view: keep it short.
        super().__init__(name=f"View:{label}:{short}")


register_model(ViewType)(models.OpaqueModel)


class View:
    """A NamedTuple (of arrays, numbers, generators and NamedTuples) laid out in memory.

    Arrays are shared: what compiled code writes is seen in the NamedTuple. Numbers are
    copied when the view is made.
    """

    __slots__ = ("address", "kind", "value", "words")

    def __init__(self, value: Any) -> None:
        words: list[int] = []
        self.value = value
        self.kind = _lay_out_tuple(value, words)
        self.words = np.array(words, dtype=np.uint64)
        self.address = self.words.ctypes.data


@cache
def _view_type(label: str, fields: tuple[tuple[str, Any, int], ...]) -> ViewType:
    return ViewType(label, fields)


@cache
def _array_type(dtype: Any, n_dimensions: int, layout: str, writeable: bool) -> Any:
    return types.Array(from_dtype(dtype), n_dimensions, layout, readonly=not writeable)


def _lay_out_tuple(value: Any, words: list[int]) -> ViewType:
    """Append the words of a NamedTuple, those of NamedTuples inside it among them."""
    start = len(words)
    fields = []
    for name, item in zip(value._fields, value, strict=True):
        first = len(words) - start
        fields.append((name, _lay_out(name, item, words), first))
    return _view_type(type(value).__qualname__, tuple(fields))


def _lay_out(name: str, item: Any, words: list[int]) -> Any:
    """Append the words of one field; returns its Numba type."""
    if isinstance(item, np.ndarray):
        words += [item.__array_interface__["data"][0], *item.shape, *item.strides]
        flags = item.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return _array_type(item.dtype, item.ndim, layout, flags.writeable)
    if hasattr(item, "_fields"):
        return _lay_out_tuple(item, words)
    if isinstance(item, np.random.Generator):
        interface = item.bit_generator.ctypes
        words += [_as_word(getattr(interface, theirs)) for _, theirs in _GENERATOR_FIELDS]
        return typeof(item)
    if isinstance(item, (bool, np.bool_)):
        words.append(int(item))
        return types.boolean
    if isinstance(item, (int, np.integer)):
        words.append(int(item) & (2**64 - 1))
        return types.int64
    if isinstance(item, (float, np.floating)):
        words.append(int(np.float64(item).view(np.uint64)))
        return types.float64
    raise ViewError(f"field {name!r} is a {type(item).__name__}")


def _as_word(value: Any) -> int:
    return value if isinstance(value, int) else int(ctypes.cast(value, ctypes.c_void_p).value or 0)


@typeof_impl.register(View)  # type: ignore[untyped-decorator]
def _type_of_view(value: View, context: Any) -> ViewType:
    return value.kind


@unbox(ViewType)  # type: ignore[untyped-decorator]
def _unbox_view(kind: ViewType, obj: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(obj, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)


@infer_getattr
class _ViewFields(AttributeTemplate):  # type: ignore[misc]
    """The type of ``view.field``."""

    key = ViewType

    def generic_resolve(self, view: ViewType, name: str) -> Any:
        return view.fields[name][0] if name in view.fields else None


@lower_getattr_generic(ViewType)  # type: ignore[untyped-decorator]
def _read_field(context: Any, builder: Any, view: ViewType, pointer: Any, name: str) -> Any:
    """Code that reads one field."""
    kind, first = view.fields[name]
    words = builder.bitcast(pointer, _WORD.as_pointer())

    def load(offset: int) -> Any:
        word = builder.load(builder.gep(words, [_WORD(first + offset)]))
        # Nothing writes to the words while compiled code runs, so one load will do.
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
        return word

    if isinstance(kind, ViewType):
        return builder.bitcast(builder.gep(words, [_WORD(first)]), pointer.type)
    for family, read in _READERS.items():
        if isinstance(kind, family):
            return read(context, builder, kind, load)
    return load(0)


def _read_array(context: Any, builder: Any, kind: Any, load: Callable[[int], Any]) -> Any:
    """Numba's structure of an array without an owner, filled in as a value."""
    model, struct = context.data_model_manager[kind], context.get_value_type(kind)
    shape = [load(1 + axis) for axis in range(kind.ndim)]
    n_items = _WORD(1)
    for length in shape:
        n_items = builder.mul(n_items, length, flags=["nsw"])
    fields = {
        "nitems": n_items,
        "itemsize": _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype))),
        "data": builder.inttoptr(load(0), struct.elements[model.get_field_position("data")]),
        "shape": cgutils.pack_array(builder, shape, _WORD),
        "strides": cgutils.pack_array(
            builder, [load(1 + kind.ndim + axis) for axis in range(kind.ndim)], _WORD
        ),
    }
    array = ir.Constant(struct, None)  # no owner, nothing to count
    for name, value in fields.items():
        array = builder.insert_value(array, value, model.get_field_position(name))
    return array


def _read_generator(context: Any, builder: Any, kind: Any, load: Callable[[int], Any]) -> Any:
    inner_kind = types.NumPyRandomBitGeneratorType("bit_generator")
    inner = cgutils.create_struct_proxy(inner_kind)(context, builder)
    for offset, (ours, _) in enumerate(_GENERATOR_FIELDS):
        setattr(inner, ours, load(offset))
    outer = cgutils.create_struct_proxy(kind)(context, builder)
    outer.bit_generator = inner._getvalue()
    return outer._getvalue()


def _read_float(context: Any, builder: Any, kind: Any, load: Callable[[int], Any]) -> Any:
    return builder.bitcast(load(0), ir.DoubleType())


def _read_boolean(context: Any, builder: Any, kind: Any, load: Callable[[int], Any]) -> Any:
    return builder.trunc(load(0), ir.IntType(1))


_READERS = {
    types.Array: _read_array,
    types.NumPyRandomGeneratorType: _read_generator,
    types.Float: _read_float,
    types.Boolean: _read_boolean,
}

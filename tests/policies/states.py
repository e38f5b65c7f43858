"""Comparing policies' states: NamedTuples of arrays, or of such NamedTuples."""

import numpy as np


def arrays_of(state, name="state"):
    """Every array of a state with its place, such as ``state.fit.theta``."""
    if isinstance(state, np.ndarray):
        yield name, state
    else:
        for field in state._fields:
            yield from arrays_of(getattr(state, field), f"{name}.{field}")


def assert_same_state(one, two):
    """Every bit is the same."""
    for (name, mine), (_, theirs) in zip(arrays_of(one), arrays_of(two), strict=True):
        np.testing.assert_array_equal(mine, theirs, err_msg=name)


def assert_close_state(one, two, *, rtol=1e-9, atol=1e-12):
    """The same up to rounding."""
    for (name, mine), (_, theirs) in zip(arrays_of(one), arrays_of(two), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=atol, err_msg=name)

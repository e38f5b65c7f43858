"""Plain functions compiled as the package compiles its own."""

from functools import cache

import numpy as np

from globalbandits.compiling.engine import Engine


@cache
def compiled(function):
    """A compiled copy of a function whose first arguments are NamedTuples and arrays."""
    engine = Engine()

    def call(*arguments):
        n_data = sum(hasattr(item, "_fields") or isinstance(item, np.ndarray) for item in arguments)
        data, numbers = arguments[:n_data], arguments[n_data:]
        return engine.bind(function, function.__name__, data, *numbers)(*numbers)

    return call

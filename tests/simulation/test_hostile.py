"""Input of compiled code may be nan or infinite: it never becomes an index.

Everything runs in a process of its own, so that an access outside of memory fails this test
and not the whole run.
"""

import subprocess
import sys

import pytest

LOOK_UPS = """
import math
import numpy as np
import globalbandits as gb
from globalbandits.compiling.compiler import compile_kernel
from globalbandits.compiling.views import View
from globalbandits.evidence.histogram import Histogram, add
from globalbandits.model.tables import (
    evaluate, find_cell, find_segment, largest_value, value_of
)

HOSTILE = np.array([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.3, 2.0])
model = gb.demand.linear_power([0.4, 0.6, 0.8], cost=0.1)

def loop(tables, histogram, hostile, out):
    for i in range(hostile.shape[0]):
        x = hostile[i]
        for arm in range(tables.n_arms):
            out[i, 0] = evaluate(tables.mean, arm, x)
            out[i, 1] = evaluate(tables.inverse, arm, x)
            out[i, 2] = evaluate(tables.worth, arm, x)
            out[i, 3] = value_of(tables, arm, x)
            out[i, 4] = largest_value(tables, arm, x, 0.5)
            out[i, 5] = largest_value(tables, arm, 0.5, x)
            out[i, 6] = find_segment(tables.inverse, arm, x)
        out[i, 7] = find_cell(tables.envelope, x)
        add(histogram, 0, x, 1.0)

def run(call):
    out, histogram = np.zeros((len(HOSTILE), 8)), Histogram(np.zeros((3, 9)))
    call(histogram, out)
    return out

def compiled(histogram, out):
    views = View(model.tables), View(histogram)
    compile_kernel(loop, *views, HOSTILE, out)(*views, HOSTILE, out)

with np.errstate(all="ignore"):
    plain = run(lambda histogram, out: loop(model.tables, histogram, HOSTILE, out))
fast = run(compiled)
assert np.array_equal(plain, fast, equal_nan=True), (plain, fast)
cells = model.tables.envelope.starts.shape[0] - 1
assert ((fast[:, 7] >= 0) & (fast[:, 7] < cells)).all()
assert ((fast[:, 6] >= 0) & (fast[:, 6] < model.tables.inverse.left.shape[0])).all()
print("done")
"""


def in_a_process_of_its_own(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_every_look_up_accepts_any_number_and_gives_the_same_bits():
    assert in_a_process_of_its_own(LOOK_UPS).strip() == "done"


def test_a_drift_beyond_all_floats_is_refused_before_it_moves():
    from globalbandits.environments import LinearDrift
    from globalbandits.errors import ScenarioError

    with pytest.raises(ScenarioError, match="rate must"):
        LinearDrift(rate=1e308)

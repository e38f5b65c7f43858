"""Memory does not grow with the horizon, and little with the runs."""

import json
import subprocess
import sys

import numpy as np
import pytest

from globalbandits.policies import UCB1, WAGP, ThompsonSampling
from globalbandits.simulation.checkpoints import checkpoint_times
from globalbandits.simulation.play.arena import MAX_BLOCK_CELLS
from globalbandits.simulation.play.job import empty_records, make_job
from tests.simulation.worlds import pricing

MEGABYTE = 2**20


def test_records_of_a_thousand_long_runs_are_small():
    policies = {policy.label: policy for policy in (WAGP(), UCB1(), ThompsonSampling())}
    horizon = 1_000_000
    job = make_job(pricing(), policies, horizon, checkpoint_times(horizon), 0)
    records = empty_records(job, 1_000)
    assert sum(array.nbytes for array in records) < 16 * MEGABYTE
    assert MAX_BLOCK_CELLS * 8 < MEGABYTE


SCRIPT = """
import json, resource, sys
from globalbandits.environments import Environment
from globalbandits.policies import UCB1, WAGP
from globalbandits.model import RewardModel
from globalbandits.simulation import simulate

unit = 1 if sys.platform == "darwin" else 1024
model = RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
peaks = []
for horizon, runs in ((20_000, 4), (2_000_000, 4)):
    simulate(Environment(model, 0.4), [WAGP(), UCB1()], horizon, runs=runs)
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
print(json.dumps(peaks))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module on Windows")
def test_a_hundred_times_the_horizon_takes_no_more_memory():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    short, long = json.loads(done.stdout)
    # Two million steps of one policy alone would be 16 MB, if they were kept.
    assert long - short < 8 * MEGABYTE
    assert np.isfinite(short)

"""Decisions without a value are those of the package before it had values.

`recorded_arms.json` holds, for each policy, a digest of the arms it played then, or when it was
new: 120 decisions on two families of arms with three seeds. A change that is meant to change
decisions records them again: ``python -m tests.policies.test_recorded_arms``.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from globalbandits.policies import UCBC, Learner, Limited
from tests.policies.families import TRUTH, beta_reward, model_of
from tests.policies.valued import EVERY

RECORD = Path(__file__).with_name("recorded_arms.json")
# Decisions of the other policies have been improved since, or are newer than the record.
KINDS = json.loads(RECORD.read_text())
ALL = {policy.kind: policy for policy in EVERY} | {"ucb_c": UCBC(alpha=3.0, variance=0.25)}
SETTLED = [ALL[kind] for kind in KINDS]


def digest(policy):
    """A digest of all arms played."""
    played = []
    for family in ("pricing", "exponential"):
        model = model_of(family)
        means = model.means(TRUTH[family])
        for seed in range(3):
            learner = Learner(policy, model, seed=seed)
            for u in np.random.default_rng(100 + seed).random(120):
                arm = learner.select()
                learner.update(arm, float(beta_reward(means[arm], u)))
                played.append(arm)
    return hashlib.sha256(bytes(played)).hexdigest()[:16]


@pytest.mark.parametrize("policy", SETTLED, ids=lambda policy: policy.kind)
def test_decisions_are_the_recorded_ones(policy):
    assert digest(policy) == KINDS[policy.kind]


def test_limits_in_both_directions_decide_as_before_decisions_counted():
    """One decision at a time: steps from the last decision are steps from the last reward."""
    assert digest(Limited(largest_step=1)) == "36a5426e3ec3eef7"


if __name__ == "__main__":
    found = {policy.kind: digest(policy) for policy in SETTLED}
    RECORD.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n")

"""The contract of policies: ours keep it, and each rule catches a policy that breaks it."""

import dataclasses
import math
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import globalbandits as gb
from globalbandits import testing
from globalbandits.policies.base import Rules, stateless
from globalbandits.policies.independent.ucb1 import UCB1
from globalbandits.policies.shared import index
from globalbandits.testing import policy_check, subject
from globalbandits.testing.policy_check import (
    CONTRACT,
    value_decides,
)
from globalbandits.testing.subject import Broken, Subject, default_model
from tests.policies.ours import our_policies
from tests.soak import length

OURS = our_policies(
    {
        "sliding_window_ucb": {"window": 40},
        # Fewer cells make the tests quick.
        **{kind: {"cells": 40} for kind in ("grid_greedy", "grid_plug_in", "grid_thompson", "ids")},
    }
)


# These take 3 to 19 seconds with the ten thousand arms of the contract, the others one or less.
SLOW_WITH_MANY_ARMS = (
    "elastic",
    "glm_ucb",
    "grid_plug_in",
    "guarded",
    "ids",
    "random_effects_thompson",
)


@cache
def fewer_arms():
    arms = np.linspace(0.2, 0.95, length(1_000, 10_000)).tolist()
    return gb.RewardModel(lambda theta, p: p * (1.0 - p * theta) ** 2, arms)


@pytest.mark.parametrize("rule", CONTRACT)
@pytest.mark.parametrize("kind", OURS)
def test_our_policies_keep_the_contract(kind, rule, monkeypatch):
    if kind in SLOW_WITH_MANY_ARMS:
        monkeypatch.setattr(subject, "many_arms", fewer_arms)
    try:
        CONTRACT[rule](Subject(OURS[kind], default_model()))
    except Broken as error:
        pytest.fail(f"{OURS[kind].label}: {rule}: {error}")


def broken(name, select=None, update=None, estimate=None, rebuild=index.rebuild_widths, **extra):
    """UCB1 with some of its rules replaced."""
    plain = UCB1.rules
    rules = Rules(
        plain.init,
        select or plain.select,
        update or plain.update,
        estimate or plain.estimate,
        rebuild,
    )
    made = dataclasses.make_dataclass(
        name, [], bases=(UCB1,), frozen=True, namespace={"rules": rules, **extra}
    )
    return gb.register(f"test_{name.lower()}")(made)()


def outside(setup, stats, state, rng):
    return setup.tables.n_arms


def change_state(setup, stats, state, rng):
    state.means[0] = 0.5
    return 0


def forgetful(setup, stats, state, arm, reward):
    state.means[arm] = 0.9 * state.means[arm] + 0.1 * reward  # depends on the order of rewards
    state.widths[arm] = 1.0
    state.played[0] = setup.tables.n_arms


def counting(setup, stats, state, arm, reward):
    stats.counts[arm] += 1


def beyond(setup, stats, state):
    return setup.tables.high + 1.0 if stats.total[0] > 0 else math.nan


MEMORY = []


def remembering(setup, stats, state, rng):
    MEMORY.append(1)
    return len(MEMORY) // 13 % setup.tables.n_arms


def reaching(setup, stats, state, arm, reward):
    place = int(min(max(reward * 5.0, -9.0), 9.0)) if reward == reward else 0
    state.means[place] = reward


def by_pointers(setup, stats, state, rng):
    return eval("0")


@pytest.mark.parametrize(
    ("policy", "rule", "message"),
    [
        (
            broken("Reaching", update=reaching),
            "hostile rewards stay inside",
            "a reward of inf leads to index 9 of axis 0 with 5 entries",
        ),
        (
            broken("Careless", update=lambda setup, stats, state, arm, reward: int(reward)),
            "hostile rewards stay inside",
            "a reward of nan becomes an index: cannot convert float NaN to integer",
        ),
        (
            broken("Uncompilable", select=by_pointers),
            "compiled is interpreted",
            "the rules cannot be compiled, so the simulator would be slow",
        ),
        (broken("Outside", select=outside), "select only looks", "select gave the arm 5"),
        (broken("Meddling", select=change_state), "select only looks", "select changed the state"),
        (
            broken("Remembering", select=remembering),
            "decisions are determined",
            "chose different arms",
        ),
        (
            broken("Forgetful", update=forgetful),
            "forgetting leaves no trace",
            "the next choices differ after 12 rewards were observed and taken back",
        ),
        (
            broken("Counting", update=counting),
            "statistics are the engine's",
            "update changed the statistics, which the engine counts",
        ),
        (
            broken("Beyond", estimate=beyond),
            "ties and extremes are harmless",
            "the estimate is 2.0 after 40 rewards",
        ),
        (
            broken("Silent", reason=lambda self, setup, stats, state: ""),
            "explanations are given",
            "the reason is ''",
        ),
        (
            broken("Nothing", rebuild=lambda setup, stats, state: None),
            "rebuilding forgets the path",
            "raised IndexError",
        ),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_each_rule_detects_a_policy_that_breaks_it(policy, rule, message, monkeypatch):
    # The other rules would compile the policy.
    monkeypatch.setattr(policy_check, "CONTRACT", {rule: CONTRACT[rule]})
    with pytest.raises(gb.ContractError) as error:
        testing.check_policy(policy)
    lines = str(error.value).splitlines()
    assert lines[0] == f"{policy.label} breaks 1 rules of policies:"
    (line,) = [line for line in lines if line.startswith(f"- {rule}: ")]
    assert message in line


class Floats(NamedTuple):
    values: np.ndarray


def test_a_state_of_the_wrong_kind_is_named(interpreted):
    policy = broken("Narrow")
    object.__setattr__(
        policy, "rules", policy.rules._replace(init=lambda setup: Floats(np.zeros(3, np.float32)))
    )
    with pytest.raises(gb.ContractError, match="must be int64 or float64, got float32"):
        testing.check_policy(policy)


def test_what_is_no_policy_is_refused():
    with pytest.raises(gb.PolicyError, match="policy must be a Policy, got 'WAGP'"):
        testing.check_policy("WAGP")


def test_a_policy_may_refuse_a_model_with_a_reason():
    def setup(self, model):
        if model.n_arms != 5:
            raise gb.PolicyError(f"arms must be 5, got {model.n_arms}")
        return UCB1.setup(self, model)

    testing.check_policy(broken("Picky", setup=setup))


def test_stateless_rules_need_only_two_functions():
    def select(setup, stats, state, rng):
        return int(rng.random() * setup.tables.n_arms)

    rules = stateless(select, index.no_estimate)
    policy = broken("Plain")
    object.__setattr__(policy, "rules", rules)
    object.__setattr__(policy, "reason", lambda setup, stats, state: "no reason at all")
    object.__setattr__(policy, "ignores_value", True)
    testing.check_policy(policy)


def ten_each_then_mean(setup, stats, state, rng):
    """What docs/howto/own-policy.md once showed: the largest mean, whatever it is worth."""
    if stats.counts.min() < 10:
        return int(np.argmin(stats.counts))
    return int(np.argmax(stats.sums / stats.counts))


@gb.register("test_ten_each_by_mean")
@dataclasses.dataclass(frozen=True, kw_only=True)
class TenEachByMean(gb.Policy):
    rules = stateless(ten_each_then_mean, index.no_estimate)

    def setup(self, model):
        return UCB1.setup(self, model)


def test_a_policy_that_ranks_by_mean_reward_breaks_one_rule():
    with pytest.raises(gb.ContractError) as error:
        testing.check_policy(TenEachByMean())
    assert str(error.value) == (
        "TenEachByMean breaks 1 rules of policies:\n"
        "- value decides: 0 of the last 200 plays are of arm 4, which is worth most, and 200 of "
        "arm 0: rank arms by their worth, see worth_of, or set ignores_value = True"
    )


def test_the_policy_of_the_guide_keeps_the_contract():
    text = (Path(__file__).parents[2] / "docs" / "howto" / "own-policy.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    # The name under which tests/test_documents.py runs it: a policy is registered once.
    namespace = {"__name__": "__example__"}
    exec(compile(code, "own-policy.md", "exec"), namespace)
    testing.check_policy(namespace["TenEach"]())


def test_a_policy_may_declare_that_it_ignores_value():
    declared = dataclasses.make_dataclass(
        "Declared", [], bases=(TenEachByMean,), frozen=True, namespace={"ignores_value": True}
    )
    value_decides(Subject(declared(), default_model()))
    assert {policy.kind for policy in OURS.values() if policy.ignores_value} == {
        "fixed_arm",
        "uniform",
    }


def test_a_policy_around_another_one_declares_what_that_one_does():
    for outer in (gb.Limited, gb.Safe, gb.Guarded):
        assert outer(gb.Uniform()).ignores_value
        assert not outer(gb.WAGP()).ignores_value
    # The arm worth most may lie above the highest arm that is allowed.
    assert gb.Limited(gb.WAGP(), high=2).ignores_value

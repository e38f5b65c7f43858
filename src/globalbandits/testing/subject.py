"""The policy under test, and ways to feed it."""

import dataclasses
import json
from functools import cache
from typing import Any

import numpy as np

from globalbandits import statistics
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.policies.base import Policy
from globalbandits.policies.learner import Learner

__all__ = ["Broken", "RewardModel", "Subject", "default_model", "expect", "feed"]

Data = list[tuple[int, float]]  # arms and rewards, in the model's units


class Broken(Exception):  # noqa: N818 - the name of what has happened
    """A rule is broken; the text says how."""


def expect(condition: bool, text: str) -> None:
    """Raise `Broken` with the text unless the condition holds."""
    if not condition:
        raise Broken(text)


@cache
def default_model() -> RewardModel:
    """Five prices with a linear-power demand."""
    return RewardModel(lambda theta, p: p * (1.0 - p * theta) ** 2, [0.45, 0.55, 0.65, 0.75, 0.9])


@cache
def one_arm() -> RewardModel:
    """A model without a choice."""
    return RewardModel(lambda theta, p: 0.2 + 0.5 * theta * p, [1.0])


@cache
def many_arms() -> RewardModel:
    """Ten thousand arms, each best somewhere."""
    arms = np.linspace(0.2, 0.95, 10_000).tolist()
    return RewardModel(lambda theta, p: p * (1.0 - p * theta) ** 2, arms)


@cache
def flat_ends() -> RewardModel:
    """Slopes that vanish or explode at an end of the domain."""
    return RewardModel.from_functions([lambda t: 1 - t**0.5, lambda t: 0.8 * t, lambda t: t**2])


@cache
def reordered_shop() -> RewardModel:
    """Five prices: the lowest sells most, and the highest earns most for every parameter."""
    return RewardModel(
        lambda theta, price: 1.0 - 0.15 * theta * price,
        [1.0, 2.0, 3.0, 4.0, 5.0],
        value=lambda sold, price: (price - 0.9) * sold,
    )


@dataclasses.dataclass(frozen=True)
class Subject:
    """A policy and the model it is checked on."""

    policy: Policy
    model: RewardModel

    def learner(self, seed: int = 0, model: RewardModel | None = None) -> Learner:
        """A learner that has seen nothing."""
        return Learner(self.policy, model or self.model, seed=seed)

    def data(self, n: int, seed: int) -> Data:
        """Rewards of arms that were not chosen by the policy."""
        rng = np.random.default_rng(seed)
        low, high = self.model.reward_range
        arms = rng.integers(self.model.n_arms, size=n).tolist()
        rewards = (low + (high - low) * rng.random(n)).tolist()
        return list(zip(arms, rewards, strict=True))

    def play(self, learner: Learner, n: int, seed: int = 1) -> list[int]:
        """Let a learner choose, with random rewards; returns its choices."""
        rng = np.random.default_rng(seed)
        low, high = learner.model.reward_range
        chosen = []
        for u, v in rng.random((n, 2)).tolist():
            chosen.append(learner.select())
            learner.update(chosen[-1], low + (high - low) * (u if v < 0.5 else float(u < 0.4)))
        return chosen


def feed(learner: Learner, data: Data) -> Learner:
    """Update a learner with some rewards."""
    for arm, reward in data:
        learner.update(arm, reward)
    return learner


def can_play(policy: Policy, model: RewardModel) -> bool:
    """Whether the policy accepts the model; it may refuse with a PolicyError that has a text."""
    try:
        policy.setup(model)
    except PolicyError as error:
        return not str(error)
    return True


def plain_state(learner: Learner) -> dict[str, Any]:
    """A learner's state as JSON gives it back, without the random names of its lineage."""
    state: dict[str, Any] = json.loads(json.dumps(learner.state()))
    state.pop("lineage")
    return state


def arrays_of(value: Any) -> list[np.ndarray[Any, Any]]:
    """All arrays of a NamedTuple, those of NamedTuples inside it among them."""
    if isinstance(value, np.ndarray):
        return [value]
    return [array for field in value for array in arrays_of(field)]


def choices(learner: Learner, n: int = 10) -> list[int]:
    """What a learner would choose with ``n`` different generators; nothing changes."""
    rules, setup, stats, state = learner.parts
    return [
        int(rules.select(setup, stats, state, np.random.default_rng(seed))) for seed in range(n)
    ]


def fresh_parts(subject: Subject) -> tuple[Any, Any, Any, Any]:
    """Rules, setup, empty statistics and first state of a policy."""
    setup = subject.policy.setup(subject.model)
    rules = subject.policy.rules
    return rules, setup, statistics.no_statistics(subject.model.n_arms), rules.init(setup)

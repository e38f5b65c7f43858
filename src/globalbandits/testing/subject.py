"""The policy under test, models to test it on, and ways to give it rewards."""

import dataclasses
import json
from functools import cache
from typing import Any

import numpy as np

from globalbandits import statistics
from globalbandits.errors import PolicyError
from globalbandits.model import AnyModel, RewardModel, VectorModel
from globalbandits.policies.base import Policy
from globalbandits.policies.learner import Learner

__all__ = ["Broken", "RewardModel", "Subject", "default_model", "expect", "feed"]

Data = list[tuple[int, float]]  # arms and rewards, in the model's units


class Broken(Exception):  # noqa: N818
    """A rule is broken. The text says how."""


def expect(condition: bool, text: str) -> None:
    """Raise `Broken` with the text unless the condition holds."""
    if not condition:
        raise Broken(text)


@cache
def default_model() -> RewardModel:
    """Return a model of five prices with a linear-power demand."""
    return RewardModel(lambda theta, p: p * (1.0 - p * theta) ** 2, [0.45, 0.55, 0.65, 0.75, 0.9])


@cache
def one_arm() -> RewardModel:
    """Return a model with one arm."""
    return RewardModel(lambda theta, p: 0.2 + 0.5 * theta * p, [1.0])


@cache
def many_arms() -> RewardModel:
    """Return a model of ten thousand arms, each of them best somewhere."""
    arms = np.linspace(0.2, 0.95, 10_000).tolist()
    return RewardModel(lambda theta, p: p * (1.0 - p * theta) ** 2, arms)


@cache
def flat_ends() -> RewardModel:
    """Return a model whose slopes vanish or are infinite at an end of the domain."""
    return RewardModel.from_functions([lambda t: 1 - t**0.5, lambda t: 0.8 * t, lambda t: t**2])


@cache
def reordered_shop() -> RewardModel:
    """Return five prices. The lowest sells most; the highest earns most at every parameter."""
    return RewardModel(
        lambda theta, price: 1.0 - 0.15 * theta * price,
        [1.0, 2.0, 3.0, 4.0, 5.0],
        value=lambda sold, price: (price - 0.9) * sold,
    )


def inner_theta(model: AnyModel) -> Any:
    """Return a parameter inside the domain."""
    if isinstance(model, VectorModel):
        return model.from_unit(np.full(model.n_parameters, 0.4)).tolist()
    low, high = model.domain
    return 0.6 * low + 0.4 * high


def is_in_domain(model: AnyModel, theta: Any) -> bool:
    """Whether an estimate is inside the domain."""
    if isinstance(model, VectorModel):
        return all(low <= theta[name] <= high for name, (low, high) in model.domain.items())
    return bool(model.domain[0] <= theta <= model.domain[1])


@dataclasses.dataclass(frozen=True)
class Subject:
    """A policy and the model for its checks."""

    policy: Policy
    model: AnyModel

    def learner(self, seed: int = 0, model: AnyModel | None = None) -> Learner:
        """Return a new learner."""
        return Learner(self.policy, model or self.model, seed=seed)

    def data(self, n: int, seed: int) -> Data:
        """Return random rewards of random arms."""
        rng = np.random.default_rng(seed)
        low, high = self.model.reward_range
        arms = rng.integers(self.model.n_arms, size=n).tolist()
        rewards = (low + (high - low) * rng.random(n)).tolist()
        return list(zip(arms, rewards, strict=True))

    def play(self, learner: Learner, n: int, seed: int = 1) -> list[int]:
        """Let a learner choose with random rewards, and return its choices."""
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


def can_play(policy: Policy, model: AnyModel) -> bool:
    """Whether the policy accepts the model. It may reject it with a PolicyError with a text."""
    try:
        policy.setup(model)
    except PolicyError as error:
        return not str(error)
    return True


def plain_state(learner: Learner) -> dict[str, Any]:
    """Return a learner's state after JSON, without the random names of its lineage."""
    state: dict[str, Any] = json.loads(json.dumps(learner.state()))
    state.pop("lineage")
    return state


def arrays_of(value: Any) -> list[np.ndarray[Any, Any]]:
    """Return all arrays of a NamedTuple, also those in nested NamedTuples."""
    if isinstance(value, np.ndarray):
        return [value]
    return [array for field in value for array in arrays_of(field)]


def choices(learner: Learner, n: int = 10) -> list[int]:
    """Return a learner's choices with ``n`` different generators. The learner does not change."""
    rules, setup, stats, state = learner.parts
    return [
        int(rules.select(setup, stats, state, np.random.default_rng(seed))) for seed in range(n)
    ]


def fresh_parts(subject: Subject) -> tuple[Any, Any, Any, Any]:
    """Return rules, setup, empty statistics and the initial state of a policy."""
    setup = subject.policy.setup(subject.model)
    rules = subject.policy.rules_of(setup)
    return rules, setup, statistics.no_statistics(subject.model.n_arms), rules.init(setup)

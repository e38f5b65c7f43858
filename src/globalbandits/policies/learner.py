"""A policy at work: ask it for an arm, tell it the reward, whenever rewards come."""

from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_seed
from globalbandits.errors import PolicyError, StateError
from globalbandits.evidence import Contenders, Drift, Evidence, Interval, ModelEvidence
from globalbandits.policies import snapshot
from globalbandits.policies.base import Policy
from globalbandits.policies.explain import Explanation, explain
from globalbandits.policies.observations import (
    as_arm,
    as_pairs,
    as_unit,
    check_observed,
    combine,
    no_observations,
    record,
    take_back,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from globalbandits.model import RewardModel


class Learner:
    """One policy learning online on one model.

    `select` changes nothing but the random generator, so several decisions may be open at
    once; rewards may be told late, in any order, one by one or in batches.

    Args:
        policy: a spec such as ``WAGP()``.
        model: the reward model; rewards are told in its units.
        seed: an integer, or a generator to use; None takes fresh entropy.

    >>> from globalbandits.model import RewardModel
    >>> from globalbandits.policies import WAGP
    >>> model = RewardModel(lambda theta, p: p * (1 - p * theta), [0.5, 0.6, 0.7, 0.8])
    >>> learner = Learner(WAGP(), model, seed=7)
    >>> arm = learner.select()
    >>> learner.update(arm, 0.4)
    >>> learner.update([0, 1, 1], [0.4, 0.45, 0.35])
    >>> learner.n_observations, learner.select()
    (4, 3)
    """

    def __init__(
        self,
        policy: Policy,
        model: "RewardModel",
        *,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise PolicyError(f"policy must be a policy such as WAGP(), got {policy!r}")
        self._policy = policy
        self._model = model
        self._rules = policy.rules
        self._setup = policy.setup(model)
        self._state = policy.rules.init(self._setup)
        self._observed = no_observations(model.n_arms)
        self._evidence = Evidence(model)
        self._rng = _as_generator(seed)

    @property
    def policy(self) -> Policy:
        """The policy's spec."""
        return self._policy

    @property
    def model(self) -> "RewardModel":
        """The reward model."""
        return self._model

    def select(self) -> int:
        """The index of the arm to play next; only the random generator may change."""
        return int(self._rules.select(self._setup, self._state, self._rng))

    def update(self, arm: "int | ArrayLike", reward: "float | ArrayLike") -> None:
        """Learn one reward of an arm, or a batch of them; on an error nothing is learned.

        Args:
            arm: index of the arm, or a sequence of indices.
            reward: the reward in the model's units, or as many of them.
        """
        for index, unit in as_pairs(arm, reward, self._model.n_arms, self._model.reward_range):
            self._rules.update(self._setup, self._state, index, unit)
            record(self._observed, index, unit)
            self._evidence.add(index, unit)

    def forget(self, arm: int, reward: float) -> None:
        """Undo one earlier `update` with the same arm and reward, up to rounding.

        A policy whose state is not additive (windows) refuses.
        """
        rule = self._rules.forget
        if rule is None:
            raise PolicyError(f"{self._policy.label} cannot forget: its state is not additive")
        index = as_arm("arm", arm, self._model.n_arms)
        unit = as_unit("reward", reward, self._model.reward_range)
        check_observed(self._observed, index, unit, reward)
        self._evidence.take_back(index, unit)
        rule(self._setup, self._state, index, unit)
        take_back(self._observed, index, unit)

    def merge(self, *others: "Learner") -> "Learner":
        """Add what learners of the same policy and model have seen; returns this learner.

        The result equals one learner that saw all the data (sums up to rounding). A policy
        whose state is not additive (windows) refuses.
        """
        rules = self._rules
        if not rules.additive or rules.refresh is None:
            raise PolicyError(f"{self._policy.label} cannot be merged: its state is not additive")
        if len({id(learner) for learner in (self, *others)}) <= len(others):
            raise StateError("learners to merge must be different ones, got one of them twice")
        for other in others:
            self._check_belongs(other._policy, other._model.fingerprint)
        for other in others:
            for field in rules.additive:
                getattr(self._state, field)[...] += getattr(other._state, field)
            combine(self._observed, other._observed)
            self._evidence.merge(other._evidence)
        rules.refresh(self._setup, self._state)
        return self

    @property
    def estimate(self) -> float | None:
        """The estimate of the parameter; None before any reward, or if the policy has none."""
        theta = float(self._rules.estimate(self._setup, self._state))
        return None if np.isnan(theta) else theta

    @property
    def n_observations(self) -> int:
        """How many rewards have been told."""
        return int(self._observed.counts.sum())

    @property
    def pulls(self) -> IntArray:
        """How many rewards of each arm have been told."""
        return self._observed.counts.copy()

    @property
    def means(self) -> FloatArray:
        """Mean of all rewards of each arm, in the model's units; nan where there is none."""
        low, high = self._model.reward_range
        counts, sums = self._observed
        units = np.full(counts.shape, np.nan)
        np.divide(sums, counts, out=units, where=counts > 0)
        return low + (high - low) * units

    def explain(self) -> Explanation:
        """The estimate, every arm's statistics, and the next choice with its reason."""
        return explain(
            self._policy, self._model, self._setup, self._state, self._observed, self._rng
        )

    def interval(self, level: float = 0.95) -> Interval:
        """An interval that holds the parameter at all times, with probability ``level``."""
        return self._evidence.interval(level)

    def evidence_against_model(self) -> ModelEvidence:
        """How strongly the rewards speak against the model, whatever the parameter is."""
        return self._evidence.against_model()

    def contenders(self, level: float = 0.95) -> Contenders:
        """The arms that can still be best."""
        return self._evidence.contenders(level)

    def drift(self, level: float = 0.05) -> Drift:
        """Whether the parameter has moved, with a false-alarm rate of ``level``."""
        return self._evidence.drift(level)

    def plot_evidence(self, level: float = 0.95, *, title: str = "") -> "Figure":
        """Interval, e-value and contenders over the times that are still known."""
        return self._evidence.plot_evidence(level, title=title)

    @property
    def evidence(self) -> Evidence:
        """What the rewards say, apart from what the policy makes of them."""
        return self._evidence

    def state(self) -> dict[str, Any]:
        """All that `restore` needs to go on bit for bit, as a dict that JSON can hold."""
        return {
            "format": snapshot.FORMAT,
            "version": snapshot.VERSION,
            "policy": self._policy.to_dict(),
            "model": self._model.fingerprint,
            "generator": snapshot.encode_generator(self._rng),
            "observations": snapshot.encode_arrays(self._observed),
            "arrays": snapshot.encode_arrays(self._state),
            "evidence": self._evidence.state(),
        }

    @classmethod
    def restore(cls, policy: Policy, model: "RewardModel", state: "Mapping[str, Any]") -> "Learner":
        """The learner whose `state` this is; refused if it was of another policy or model."""
        snapshot.check_header(state)
        learner = cls(policy, model, seed=snapshot.decode_generator(state["generator"]))
        learner._check_belongs(snapshot.decode_policy(state["policy"]), state["model"])
        learner._observed = snapshot.decode_observations(state["observations"], learner._observed)
        learner._state = snapshot.decode_arrays("arrays", state["arrays"], learner._state)
        snapshot.check_agreement(learner._observed, learner._state, policy.rules.additive)
        learner._evidence = Evidence.restore(model, state["evidence"])
        snapshot.check_evidence(learner._observed, learner._evidence)
        return learner

    def _check_belongs(self, policy: Policy, fingerprint: object) -> None:
        """Refuse what comes from another policy or another model."""
        if policy != self._policy:
            raise StateError(f"state must be of {self._policy!r}, got one of {policy!r}")
        mine = self._model.fingerprint
        if fingerprint != mine:
            raise StateError(
                f"state must be of the model with fingerprint {mine}, got {fingerprint!r}"
            )

    def __repr__(self) -> str:
        """Policy, number of arms and observations, and the estimate."""
        estimate = self.estimate
        shown = "" if estimate is None else f", estimate {estimate:.6g}"
        return (
            f"Learner({self._policy.label}, {self._model.n_arms} arms, "
            f"{self.n_observations} observations{shown})"
        )


def _as_generator(seed: int | np.random.Generator | None) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()
    return np.random.default_rng(as_seed(seed, PolicyError))

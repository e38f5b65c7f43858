"""What a learner knows, for those who ask: nothing here changes it."""

import threading
from typing import TYPE_CHECKING

import numpy as np

from globalbandits import statistics
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.evidence import Evidence
from globalbandits.evidence.stopping import reason_to_stop
from globalbandits.policies.base import Policy, Rules, Setup, State
from globalbandits.policies.learner.explanation import Explanation, explain
from globalbandits.policies.learner.statements import Statements
from globalbandits.policies.learner.stop_when import REASONS, StopWhen

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Readings(Statements):
    """The parts of a learner, and what can be read from them; each reading under its lock."""

    _policy: Policy
    _model: "RewardModel"
    _rules: Rules
    _setup: Setup
    _state: State
    _stats: statistics.Statistics
    _evidence: Evidence
    _rng: np.random.Generator
    _lock: "threading.RLock"

    @property
    def policy(self) -> Policy:
        """The policy's spec."""
        return self._policy

    @property
    def model(self) -> "RewardModel":
        """The reward model."""
        return self._model

    @property
    def parts(self) -> tuple[Rules, Setup, statistics.Statistics, State]:
        """The policy's rules, its setup, the statistics and the state, for those who test rules."""
        return self._rules, self._setup, self._stats, self._state

    @property
    def estimate(self) -> float | None:
        """The estimate of the parameter; None before any reward, or if the policy has none."""
        with self._lock:
            theta = float(self._rules.estimate(self._setup, self._stats, self._state))
        return None if np.isnan(theta) else theta

    @property
    def n_observations(self) -> int:
        """How many rewards have been observed."""
        return int(self._stats.total[0])

    @property
    def pulls(self) -> IntArray:
        """How many rewards of each arm have been observed."""
        with self._lock:
            return self._stats.counts.copy()

    @property
    def means(self) -> FloatArray:
        """Mean of all rewards of each arm, in the model's units; nan where there is none."""
        low, high = self._model.reward_range
        with self._lock:
            counts, sums = self._stats.counts.copy(), self._stats.sums.copy()
        units = np.full(counts.shape, np.nan)
        np.divide(sums, counts, out=units, where=counts > 0)
        return low + (high - low) * units

    def should_stop(self, rule: StopWhen) -> str | None:
        """Why to stop now by a rule ("too high", "one contender", "decisions"); None to go on."""
        require(isinstance(rule, StopWhen), "rule", "be a StopWhen", rule, PolicyError)
        with self._lock:
            return REASONS.get(reason_to_stop(rule.setup(self._model), self._stats))

    def explain(self, *, rng: np.random.Generator | None = None) -> Explanation:
        """The estimate, every arm's statistics, and the next choice with its reason.

        Args:
            rng: what `select` would be given; it stays as it is. The learner's own by default.
        """
        if rng is not None:
            require_generator(rng)
        with self._lock:
            drawn = self._rng if rng is None else rng
            return explain(self._policy, self._model, self._setup, self._stats, self._state, drawn)

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def _evidence_now(self) -> Evidence:
        """A copy that other threads do not change while statements are computed from it."""
        with self._lock:
            return self._evidence.copy()


def require_generator(rng: object) -> None:
    """Refuse what random numbers cannot be drawn from."""
    right = isinstance(rng, np.random.Generator)
    require(right, "rng", "be a numpy.random.Generator", rng, PolicyError)

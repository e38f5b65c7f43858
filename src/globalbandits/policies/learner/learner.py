"""One decision or one reward of a policy, as one function for compiled code."""

import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits import statistics
from globalbandits._encoding import encode_tuple
from globalbandits._random import Stream, generator
from globalbandits._rewards import (
    as_allowed,
    as_arm,
    as_batch,
    as_unit,
    given_arm,
    is_batch,
    nearest,
)
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, require
from globalbandits.compiling.engine import Engine
from globalbandits.errors import PolicyError, RewardError, StateError
from globalbandits.evidence import (
    Contenders,
    Drift,
    Earnings,
    Evidence,
    Interval,
    ModelEvidence,
)
from globalbandits.evidence.histogram import Histogram, add
from globalbandits.evidence.stop_rules import reason_to_stop
from globalbandits.policies.base import Policy, Rules, Setup, State
from globalbandits.policies.learner import saved_state
from globalbandits.policies.learner.explanation import Explanation, explain
from globalbandits.policies.learner.saved_state import (
    Lineage,
    Seen,
    check_same,
    encode_model,
    match_arms,
    move,
    saved_arms,
)
from globalbandits.policies.learner.stop_when import REASONS, StopWhen
from globalbandits.statistics import Statistics, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from globalbandits.model import RewardModel


CHOOSE = -1  # instead of an arm


class Live(NamedTuple):
    """All that a learner's policy reads and writes."""

    setup: Setup
    stats: Statistics
    state: State
    rng: np.random.Generator
    histogram: Histogram


@cache
def live_loop(rules: Rules) -> Callable[[Live, int, float], int]:
    """The function of one policy."""
    select, update = rules.select, rules.update

    def live(learner: Live, arm: int, reward: float) -> int:
        """Count and learn a reward on the unit scale; or return an arm, if asked to CHOOSE."""
        setup, stats, state = learner.setup, learner.stats, learner.state
        if arm == CHOOSE:
            return int(select(setup, stats, state, learner.rng))
        count(stats, arm, reward)
        update(setup, stats, state, arm, reward)
        add(learner.histogram, arm, reward, 1.0)
        return arm

    return live


class Calls:
    """The two calls of a learner; only one thread at a time may use them.

    Args:
        policy: the policy.
        live: what its rules read and write. Arrays are changed in place and never replaced.
        evidence: what the rewards say, with the histogram and the statistics of ``live``.
        compiled: True compiles now, False uses plain Python, None uses compiled code if it is in
            memory or on disk.
    """

    def __init__(
        self, policy: Policy, live: Live, evidence: Evidence, compiled: bool | None
    ) -> None:
        wanted = compiled is None or isinstance(compiled, bool)
        require(wanted, "compiled", "be True, False or None", compiled, PolicyError)
        self.compiled = compiled
        self._policy = policy
        self._live = live
        self._evidence = evidence
        self._call: Callable[[int, float], int] | None = None  # None in plain Python
        loop, name = live_loop(policy.rules), type(policy).__name__
        if compiled is None:
            self._call = Engine().bind_known(loop, (live,), CHOOSE, 0.0)
        elif compiled:
            self._call = Engine().bind(loop, name, (live,), CHOOSE, 0.0, keeps_lock=True)

    @property
    def is_compiled(self) -> bool:
        """Whether the rules are called in one piece, as compiled code is."""
        return self._call is not None

    def choose(self) -> int:
        """The arm to play next."""
        if self._call is not None:
            return self._call(CHOOSE, 0.0)
        setup, stats, state, rng, _ = self._live
        return int(self._policy.rules.select(setup, stats, state, rng))

    def learn(self, arm: int, unit: float) -> None:
        """Learn a reward on the unit scale."""
        if self._call is not None:
            self._call(arm, unit)
            self._evidence.tick()
            return
        setup, stats, state, _, _ = self._live
        count(stats, arm, unit)
        self._policy.rules.update(setup, stats, state, arm, unit)
        self._evidence.note(arm, unit)


def require_generator(rng: object) -> None:
    """Refuse what random numbers cannot be drawn from."""
    right = isinstance(rng, np.random.Generator)
    require(right, "rng", "be a numpy.random.Generator", rng, PolicyError)


class Learner:
    """One policy learning online on one model.

    `select` changes nothing but the random generator, so several decisions may be open at
    once; rewards may come late, in any order, one by one or in batches. A learner may be
    shared by threads: each call is one step that no other call interrupts.

    Args:
        policy: a spec such as ``WAGP()``.
        model: the reward model; rewards are given in its units.
        seed: an integer, or a generator to use; None takes fresh entropy.
        compiled: True compiles the policy's rules now, unless compiled code is on disk; False uses
            plain Python; None uses compiled code if it is on disk, and plain Python otherwise.
            Decisions and estimates are the same bits.

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
        compiled: bool | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise PolicyError(f"policy must be a policy such as WAGP(), got {policy!r}")
        self._policy = policy
        self._model = model
        self._rules = policy.rules
        self._setup = policy.setup(model)
        self._state = policy.rules.init(self._setup)
        self._stats = statistics.no_statistics(model.n_arms)
        self._evidence = Evidence(model, statistics=self._stats)
        self._rng = saved_state.as_generator(seed)
        self._lineage = Lineage.new()
        self._version = 0  # changes with every reward counted or taken back
        self._lock = threading.RLock()
        self._set_compiled(compiled)

    def select(
        self,
        *,
        rng: np.random.Generator | None = None,
        allowed: "Iterable[int] | None" = None,
    ) -> int:
        """The index of the arm to play next; only the random generator may change.

        Args:
            rng: draw from this generator; the learner's own one stays as it is.
            allowed: the arms that may be played this time. A choice outside becomes the nearest
                of them in the arms' order, the lower one of two.
        """
        may = None if allowed is None else as_allowed(allowed, self._model.n_arms)
        if rng is not None:
            require_generator(rng)
        with self._lock:
            if rng is None:
                arm = self._calls.choose()
            else:
                arm = int(self._rules.select(self._setup, self._stats, self._state, rng))
        return arm if may is None else nearest(arm, may)

    def update(
        self,
        arm: "int | ArrayLike | None" = None,
        reward: "float | ArrayLike | None" = None,
        *,
        arm_value: Any = None,
    ) -> None:
        """Learn one reward of an arm, or a batch of them; on an error nothing is learned.

        Args:
            arm: index of the arm, or a sequence of indices.
            reward: the reward in the model's units, or as many of them.
            arm_value: instead of the index what the arm stands for, such as its price; or as
                many as there are rewards.
        """
        if arm_value is not None:
            arm = given_arm(arm, arm_value, self._model.arms, many=is_batch(reward))
        n_arms, reward_range = self._model.n_arms, self._model.reward_range
        if is_batch(arm) or is_batch(reward):
            arms, units = as_batch(arm, reward, n_arms, reward_range)
            pairs = list(zip(arms.tolist(), units.tolist(), strict=True))
        else:
            pairs = [(as_arm("arm", arm, n_arms), as_unit("reward", reward, reward_range))]
        with self._lock:
            for index, unit in pairs:
                self._calls.learn(index, unit)
                self._version += 1

    def _set_compiled(self, compiled: bool | None) -> None:
        """Choose how rules are called. Call this again after replacing a part of the learner."""
        soft_counts = self._evidence.soft_counts
        live = Live(self._setup, self._stats, self._state, self._rng, soft_counts)
        self._calls = Calls(self._policy, live, self._evidence, compiled)

    def forget(
        self,
        arm: int | None = None,
        reward: float | None = None,
        *,
        arm_value: Any = None,
        number: int | None = None,
    ) -> None:
        """Undo one earlier `update` with the same arm and reward.

        What is left is what a learner has that saw only the other rewards, up to rounding of
        the sums. A policy whose state does not follow from counts and sums refuses.

        Args:
            arm: index of the arm.
            reward: the reward as it was observed.
            arm_value: instead of the index what the arm stands for, such as its price.
            number: which observation it was, counted from 1. If it is not given, the search for
                drift begins anew.
        """
        if arm_value is not None:
            arm = given_arm(arm, arm_value, self._model.arms, many=False)
        rebuild = self._rules.rebuild
        if rebuild is None:
            raise PolicyError(
                f"{self._policy.label} cannot forget: the order of rewards matters to it, "
                "or more of them than their number, sum and squares"
            )
        index = as_arm("arm", arm, self._model.n_arms)
        unit = as_unit("reward", reward, self._model.reward_range)
        with self._lock:
            self._check_observed(index, unit, reward)
            self._evidence.unnote(index, unit, number)
            statistics.uncount(self._stats, index, unit)
            rebuild(self._setup, self._stats, self._state)
            self._version += 1

    def merge(self, *others: "Learner") -> "Learner":
        """Add what learners of the same policy and model have seen; returns this learner.

        The result is what one learner has that saw all the rewards, up to rounding of the
        sums. A past that learners share, because they were forked or restored from one state,
        is counted once; what cannot be told apart is refused, and so is a policy whose state
        does not follow from counts and sums.
        """
        rebuild = self._rules.rebuild
        if rebuild is None:
            raise PolicyError(
                f"{self._policy.label} cannot be merged: the order of rewards matters to it, "
                "or more of them than their number, sum and squares"
            )
        if len({id(learner) for learner in (self, *others)}) <= len(others):
            raise StateError("learners to merge must be different ones, got one of them twice")
        for other in others:
            require(isinstance(other, Learner), "merge", "be given learners", other, StateError)
            self._check_policy(other._policy)
            if other._model is not self._model:
                check_same(self._model, encode_model(other._model))
        for other in others:
            self._merge(other)
        with self._lock:
            rebuild(self._setup, self._stats, self._state)
        return self

    def _merge(self, other: "Learner") -> None:
        first, second = sorted((self, other), key=id)  # one order, so that no two threads wait
        with first._lock, second._lock:
            past = self._lineage.common_past(other._lineage)
            self._evidence.merge_counts(other._evidence, None if past is None else past.histogram)
            statistics.add(self._stats, other._stats, 1)
            if past is not None:
                statistics.add(self._stats, past.stats, -1)
            other._lineage.rebase(other._seen(), other._version)
            self._lineage.join(other._lineage)
            self._version += 1

    def fork(self, n: int) -> list["Learner"]:
        """``n`` learners that go on from here with generators of their own, for ``n`` workers.

        Each knows all this learner knows. Merging them, into this one or into each other,
        adds what each has seen since, and counts the common past once.
        """
        n = as_integer("n", n, 1, PolicyError)
        with self._lock:
            seeds = self._rng.integers(0, 2**63, size=(n, 2)).tolist()
            state = self.state()
            children = []
            for high, low in seeds:
                child = Learner.restore(self._policy, self._model, state, compiled=False)
                child._rng = generator(Stream.FORK, (high << 63) | low)
                child._set_compiled(self._calls.compiled)
                children.append(child)
            return children

    def state(self) -> dict[str, Any]:
        """All that `restore` needs to go on bit for bit, as a dict that JSON can hold."""
        with self._lock:
            return {
                "format": saved_state.FORMAT,
                "version": saved_state.VERSION,
                "policy": self._policy.to_dict(),
                "model": encode_model(self._model),
                "generator": saved_state.encode_generator(self._rng),
                "lineage": self._lineage.encode(self._version),
                "statistics": encode_tuple(self._stats),
                "kept": saved_state.encode_kept(self._rules, self._state),
                "evidence": self._evidence.state(),
            }

    @classmethod
    def restore(
        cls,
        policy: Policy,
        model: "RewardModel",
        state: "Mapping[str, Any]",
        *,
        rebase: bool = False,
        compiled: bool | None = None,
    ) -> "Learner":
        """The learner whose `state` this is, which goes on bit for bit.

        A state belongs to its policy, and to what its model observes: the same arms with the
        same curves, to 1e-7. What decisions are worth (a cost, a target) may have changed.

        Args:
            policy: the policy of the state.
            model: its model.
            state: what `state` returned, perhaps after a way through JSON.
            rebase: keep the rewards, but let policy and arms change: any policy whose state
                follows from statistics; arms are matched by their values, and may be added.
            compiled: as in the constructor.
        """
        saved_state.check_header(state)
        generator = saved_state.decode_generator(state["generator"])
        learner = cls(policy, model, seed=generator, compiled=False)
        if rebase:
            learner._take_over(state)
        else:
            learner._resume(state)
        learner._set_compiled(compiled)
        return learner

    def _resume(self, state: "Mapping[str, Any]") -> None:
        """Become the learner whose state this is."""
        self._check_policy(saved_state.decode_policy(state["policy"]))
        check_same(self._model, state["model"])
        saved = saved_state.decode_statistics(state["statistics"], self._stats)
        statistics.assign(self._stats, saved)
        self._state = saved_state.decode_kept(self._rules, self._setup, self._stats, state["kept"])
        self._evidence = Evidence.restore(self._model, state["evidence"], statistics=self._stats)
        self._lineage = Lineage.decode(state["lineage"], self._seen())

    def _take_over(self, state: "Mapping[str, Any]") -> None:
        """Fill this new learner with the rewards of a state of another policy or model."""
        if self._rules.rebuild is None:
            raise PolicyError(
                f"{self._policy.label} cannot take over rewards: their order matters to it"
            )
        saved_state.decode_policy(state["policy"])
        n_arms = len(saved_arms(state["model"]))
        old = saved_state.decode_statistics(state["statistics"], statistics.no_statistics(n_arms))
        rows = match_arms(self._model, state["model"], old)
        statistics.assign(self._stats, move(old, rows))
        self._rules.rebuild(self._setup, self._stats, self._state)
        self._evidence = Evidence.take_over(self._model, state["evidence"], old, rows, self._stats)
        self._lineage = Lineage.decode(state["lineage"], self._seen())

    def with_policy(self, policy: Policy) -> "Learner":
        """A learner of another policy, or of other parameters, that knows the same rewards."""
        state, compiled = self.state(), self._calls.compiled
        return Learner.restore(policy, self._model, state, rebase=True, compiled=compiled)

    def with_model(self, model: "RewardModel") -> "Learner":
        """A learner with another cost or target, or with more arms, that knows the same rewards.

        Arms are matched by their values. Refused if the curves of a common arm differ.
        """
        state, compiled = self.state(), self._calls.compiled
        return Learner.restore(self._policy, model, state, rebase=True, compiled=compiled)

    def _seen(self) -> Seen:
        return Seen(statistics.copy(self._stats), self._evidence.counts)

    def _check_observed(self, arm: int, unit: float, reward: object) -> None:
        """Refuse to take back a reward that cannot be among those of the arm."""
        n_rewards = int(self._stats.counts[arm])
        if n_rewards == 0:
            raise RewardError(f"arm must have a reward to forget, got {arm!r} with none")
        if not statistics.may_hold(self._stats, arm, unit):
            raise RewardError(
                f"reward must be one that arm {arm} has had, got {reward!r}: the other "
                f"{n_rewards - 1} could not have the sum and the spread that would be left"
            )

    def _check_policy(self, policy: Policy) -> None:
        """Refuse what comes from another policy."""
        if policy != self._policy:
            raise StateError(
                f"state must be of {self._policy!r}, got one of {policy!r} "
                "(rebase=True keeps the rewards)"
            )

    def __repr__(self) -> str:
        """Policy, number of arms and observations, and the estimate."""
        estimate = self.estimate
        shown = "" if estimate is None else f", estimate {estimate:.6g}"
        return (
            f"Learner({self._policy.label}, {self._model.n_arms} arms, "
            f"{self.n_observations} observations{shown})"
        )

    def interval(self, confidence: float = 0.95) -> Interval:
        """An interval that holds the parameter at all times, with probability ``confidence``."""
        return self._evidence_now().interval(confidence)

    def evidence_against_model(self) -> ModelEvidence:
        """How strongly the rewards speak against the model, whatever the parameter is."""
        return self._evidence_now().against_model()

    def contenders(self, confidence: float = 0.95) -> Contenders:
        """The arms that can still be best."""
        return self._evidence_now().contenders(confidence)

    def drift(self, alpha: float = 0.05) -> Drift:
        """Whether the parameter has moved, with a false-alarm rate of ``alpha``."""
        return self._evidence_now().drift(alpha)

    def earnings(self, baseline: int, confidence: float = 0.95) -> Earnings:
        """What the plays were worth beyond always one arm, such as today's price (an index)."""
        return self._evidence_now().earnings(baseline, confidence)

    def plot_worth(
        self, confidence: float = 0.95, *, baseline: int | None = None, ax: "Axes | None" = None
    ) -> "Figure":
        """What each arm is worth, how sure that is, what was observed, and which arm is best."""
        return self._evidence_now().plot_worth(confidence, baseline=baseline, ax=ax)

    def plot_evidence(self, confidence: float = 0.95, *, title: str = "") -> "Figure":
        """Interval, e-value and contenders over the times that are still known."""
        return self._evidence_now().plot_evidence(confidence, title=title)

    @property
    def evidence(self) -> Evidence:
        """What the rewards say, apart from what the policy makes of them: a copy of it."""
        return self._evidence_now()

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

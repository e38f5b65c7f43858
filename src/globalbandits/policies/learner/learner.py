"""`Learner`: a policy that decides and learns online, one decision and one reward at a time."""

import copy
import threading
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits import statistics
from globalbandits._plain_data import encode_tuple
from globalbandits._random import Stream, generator
from globalbandits._rewards import (
    as_allowed,
    as_arm,
    as_batch,
    as_pending,
    as_summary,
    as_unit,
    given_arm,
    index_of,
    is_batch,
)
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, as_list, require
from globalbandits.compiling.engine import Engine
from globalbandits.errors import PolicyError, RewardError, StateError
from globalbandits.evidence import (
    ConfidenceSet,
    Contenders,
    Drift,
    Earnings,
    Evidence,
    Interval,
    ModelEvidence,
)
from globalbandits.evidence.evidence import decode_statistics
from globalbandits.evidence.histogram import Histogram, add
from globalbandits.evidence.stop_rules import DECISIONS, Stop, reason_to_stop, reasons_to_stop
from globalbandits.model import ContextModel, VectorModel
from globalbandits.policies.base import Policy, Rules, Setup, State, read_numbers, require_masks
from globalbandits.policies.learner import saved_state
from globalbandits.policies.learner.explanation import (
    Explanation,
    estimated_end,
    explain,
    in_words_of,
    show_estimate,
)
from globalbandits.policies.learner.probabilities import DEFAULT_DRAWS, Probabilities, follow_draws
from globalbandits.policies.learner.saved_state import (
    Lineage,
    Record,
    Seen,
    check_same,
    encode_model,
    match_arms,
    move,
    saved_arms,
)
from globalbandits.policies.learner.stop_when import REASONS, StopWhen
from globalbandits.policies.wrappers.inner_policy import copy_into
from globalbandits.statistics import Statistics, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from globalbandits.model import AnyModel, RewardModel


class Learner:
    """One policy learning online on one model.

    Several decisions may be open at once. Rewards may arrive late, in any order, one by one or in
    batches. `select` changes only the random generator, except for a policy that counts decisions
    (`Limited`, `Hold`). Threads may share a learner: calls run one after the other.

    Args:
        policy: a policy such as ``WAGP()``.
        model: the reward model. Rewards are in its units. With contexts, `select` and `update`
            are told the context.
        seed: an integer or a generator. None takes fresh entropy.
        compiled: True compiles the policy's rules now, unless compiled code is on disk. False uses
            plain Python. None uses compiled code if it is on disk, and plain Python otherwise.
            Decisions and estimates are identical to the last bit.

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
        model: "AnyModel | ContextModel",
        *,
        seed: int | np.random.Generator | None = None,
        compiled: bool | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise PolicyError(f"policy must be a policy such as WAGP(), got {policy!r}")
        self._policy = policy
        self._model: Any = model
        # Statistics, state and evidence are of cells: arms in a context. Without contexts the
        # cells are the arms.
        self._cells: Any = model.cells if isinstance(model, ContextModel) else model
        # The arms that are no longer played, by index.
        self._withdrawn: frozenset[int] = frozenset()
        self._setup = policy.setup(self._cells)
        self._rules = policy.rules_of(self._setup)
        self._state = self._rules.init(self._setup)
        self._stats = statistics.no_statistics(self._cells.n_arms)
        self._evidence = Evidence(self._cells, statistics=self._stats)
        self._rng = saved_state.as_generator(seed)
        self._lineage = Lineage.new()
        # Decisions and rewards in their order, if the policy's state depends on it.
        self._record = Record()
        self._stops: dict[StopWhen, Stop] = {}
        self._keeps_record = self._rules.decide is not None and self._rules.rebuild is None
        # Outcomes that are awaited: arms and weights, as `set_pending` got them.
        self._pending: list[tuple[int, float]] = []
        # Increases whenever rewards are learned, forgotten or merged.
        self._version = 0
        self._lock = threading.RLock()
        self._set_compiled(compiled)

    def _set_compiled(self, compiled: bool | None) -> None:
        """Set up the calls of the rules. Repeat this after replacing a part of the learner."""
        self._calls = self._new_calls(self._rng, compiled)
        # Those of `probabilities`, made when they are first needed.
        self._draw_calls: Calls | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether decisions and rewards run in compiled code."""
        return self._calls.is_compiled

    def load_compiled(self) -> bool:
        """Use compiled code if it is in memory or on disk by now; return whether it is."""
        with self._lock:
            if not self.is_compiled:
                self._set_compiled(self._calls.compiled)
            return self.is_compiled

    def _new_calls(self, rng: np.random.Generator, compiled: bool | None) -> "Calls":
        soft_counts = self._evidence.soft_counts
        live = Live(self._setup, self._stats, self._state, rng, soft_counts, self._state)
        always_masked = self._model.n_arms < self._cells.n_arms
        return Calls(self._policy, live, self._evidence, compiled, always_masked)

    def __repr__(self) -> str:
        """The policy, the numbers of arms and observations, and the estimate."""
        estimate = self.estimate
        shown = "" if estimate is None else f", estimate {show_estimate(estimate)}"
        end = estimated_end(self._model, self.n_observations, estimate)
        if end:
            shown += f" at the {end} end of the domain"
        return (
            f"Learner({self._policy.label}, {self._model.n_arms} arms, "
            f"{self.n_observations} observations{shown})"
        )

    def _repr_html_(self) -> str:
        if isinstance(self._model, ContextModel):
            parts = [self.explain(context=name)._repr_html_() for name in self._model.contexts[:4]]
            return "".join(parts)
        try:
            return self.explain()._repr_html_()
        except RewardError as error:  # limits and withdrawn arms leave no arm
            return f"<p>{escape(str(error))}</p>"

    # Deciding.

    def select(
        self,
        *,
        context: str | None = None,
        allowed: "Iterable[int] | None" = None,
        rng: np.random.Generator | None = None,
        record: bool = True,
    ) -> int:
        """Return the index of the arm to play next.

        A policy that counts decisions (`Limited`, `Hold`) counts this one. Use `explain` to look at
        the next choice without deciding.

        Args:
            context: the name of the present context, for a model with contexts.
            allowed: the arms that may be played this time, by index. The policy chooses the best
                of them. Its limits apply as well. Withdrawn arms are never played, and must not be
                among them.
            rng: a generator to draw from instead of the learner's own.
            record: False if the decision is counted later, by `decide`.

        Raises:
            PolicyError: if the policy's limits or its overdose control allow no arm now, or if the
                policy cannot choose among some of the arms.
            RewardError: if the limits allow none of ``allowed``.
        """
        offered: IntArray | None
        plain = self._cells is self._model and not self._withdrawn
        if plain and context is None and allowed is None:
            first, offered = 0, None  # fast path for the usual case
        else:
            first = self._first_cell(context)
            offered = self._offered(first, allowed)
        if rng is not None:
            require_generator(rng)
        with self._lock:
            if offered is not None:
                self._check_limits(offered)
            cell = self._choose(rng, offered)
            if record and self._rules.decide is not None:
                self._count_decision(cell)
            return cell - first

    def _first_cell(self, context: str | None) -> int:
        """Return the cell of the first arm in a context; 0 for a model without contexts."""
        if isinstance(self._model, ContextModel):
            return self._model.context_index(context) * self._model.n_arms
        if context is not None:
            raise RewardError(f"context must be None for a model without contexts, got {context!r}")
        return 0

    def _offered(self, first: int, allowed: "Iterable[int] | None") -> IntArray | None:
        """Return the cells that can be played, in increasing order; None for all of them.

        Args:
            first: the cell of the first arm in the present context.
            allowed: indices of arms; None for all.
        """
        n_arms = self._model.n_arms
        if allowed is None and not self._withdrawn:
            return None if n_arms == self._cells.n_arms else np.arange(first, first + n_arms)
        arms = list(range(n_arms)) if allowed is None else as_allowed(allowed, n_arms)
        left = [arm for arm in arms if arm not in self._withdrawn]
        rule = f"have no withdrawn arm, which {sorted(self._withdrawn)} are"
        require(allowed is None or len(left) == len(arms), "allowed", rule, arms, RewardError)
        return None if len(left) == self._cells.n_arms else first + np.array(left)

    def _choose(self, rng: Any, offered: IntArray | None) -> int:
        """Return the arm to play next, drawn from ``rng``, or from the learner's own generator."""
        if offered is not None:
            require_masks(self._policy, self._rules)
        if rng is None:
            arm = self._calls.choose(offered)
        else:
            # Compiled code draws from the learner's own generator only.
            parts = self._setup, self._stats, self._state
            arm = choose_plainly(self._rules, *parts, offered, rng)
        if arm < 0:
            parts = self._setup, self._stats, self._state
            why = f"{self._policy.label} allows no arm now: {self._policy.no_arm(*parts)}"
            raise PolicyError(in_words_of(self._model, why))
        return arm

    def probabilities(
        self,
        *,
        context: str | None = None,
        allowed: "Iterable[int] | None" = None,
        draws: int = DEFAULT_DRAWS,
        rng: np.random.Generator | None = None,
    ) -> Probabilities:
        """Return the probability of each arm to be chosen next. The learner does not change.

        The numbers are exact for a policy that draws nothing, breaks ties at random, explores with
        a given probability, or has a closed form (`GridThompson`). For other policies they are
        shares of independent draws.

        Args:
            context: the present context, as in `select`.
            allowed: the arms that may be played this time, as in `select`.
            draws: how often to draw if the numbers are not exact.
            rng: the generator of these draws. By default one of their own, so that equal states
                have equal numbers.

        >>> from globalbandits.model import RewardModel
        >>> from globalbandits.policies import EpsilonGreedy
        >>> model = RewardModel(lambda theta, p: p * (1 - p * theta), [0.5, 0.6, 0.7, 0.8])
        >>> learner = Learner(EpsilonGreedy(epsilon=0.1), model, seed=7)
        >>> learner.update([0, 1, 2, 3], [0.2, 0.3, 0.5, 0.4])
        >>> print(learner.probabilities())
        0.7: 0.925, 0.5: 0.025, 0.6: 0.025, 0.8: 0.025 (exact)
        """
        draws = as_integer("draws", draws, 1, PolicyError)
        if rng is not None:
            require_generator(rng)
        with self._lock:
            exact = self.exact_probabilities(context=context, allowed=allowed)
            if exact is not None:
                return exact
            first = self._first_cell(context)
            values = self._drawn_probabilities(self._offered(first, allowed), draws, rng)
            return self._probabilities(values, first, draws)

    def exact_probabilities(
        self, *, context: str | None = None, allowed: "Iterable[int] | None" = None
    ) -> Probabilities | None:
        """Return what `probabilities` returns if it is exact, and None otherwise."""
        first = self._first_cell(context)
        offered = self._offered(first, allowed)
        with self._lock:
            if offered is not None:
                self._check_limits(offered)
            parts = self._setup, self._stats, self._state
            chances = self._policy.probabilities(*parts, offered)
            if chances is None:
                chances = follow_draws(lambda rng: self._choose(rng, offered), self._cells.n_arms)
            return None if chances is None else self._probabilities(chances, first, 0)

    def _probabilities(self, values: FloatArray, first: int, draws: int) -> Probabilities:
        """Return probabilities of the arms of one context; 0 draws if they are exact."""
        n_arms = self._model.n_arms
        return Probabilities(
            values=values[first : first + n_arms],
            arms=tuple(self._model.arms),
            exact=draws == 0,
            draws=draws,
        )

    def _drawn_probabilities(
        self, offered: IntArray | None, draws: int, rng: np.random.Generator | None
    ) -> FloatArray:
        seed = 0 if rng is None else int(rng.integers(2**63))
        fresh = generator(Stream.PROBABILITIES, seed)
        if offered is not None:
            require_masks(self._policy, self._rules)
        if self._draw_calls is None:
            # The same rules on the same arrays, with a generator of their own.
            known = self._calls.compiled if self._calls.is_compiled else False
            self._draw_calls = self._new_calls(fresh, known)
        self._draw_calls.rng.bit_generator.state = fresh.bit_generator.state
        chosen = [self._draw_calls.choose(offered) for _ in range(draws)]
        return np.bincount(chosen, minlength=self._cells.n_arms) / draws

    def decide(self, arm: int, *, context: str | None = None) -> None:
        """Count a decision for an arm that was not made by `select`, or not counted by it.

        Only a policy that counts decisions (`Limited`, `Hold`) is changed.
        """
        index = self._first_cell(context) + as_arm("arm", arm, self._model.n_arms)
        with self._lock:
            if self._rules.decide is not None:
                self._count_decision(index)

    def admissible(self) -> list[int] | None:
        """Return the arms that the policy's limits allow now; None if it has no limits."""
        with self._lock:
            return self._policy.admissible(self._setup, self._stats, self._state)

    def recommend(self, *, context: str | None = None) -> int:
        """Return the arm to recommend if no decision follows, in a context if there are contexts.

        It is the arm that is worth most at the estimate, or at the observed means if the policy has
        no estimate. Cohorts and steps do not apply, and nothing is drawn to explore. `Limited`
        recommends only arms with rewards, unless it has ``recommend_untried``.
        """
        self._first_cell(context)  # raises an error for an unknown context
        with self._lock:
            parts = self._setup, self._stats, self._state
            if self._rules.recommend is not None and self._cells is self._model:
                return int(self._rules.recommend(*parts, self._rng))
            theta = float(self._rules.estimate(*parts[:2], self._latest))
            plain = self._cells is self._model and not self._withdrawn
            if not np.isnan(theta) and plain:
                return int(self._model.best_arms(theta)[0])
            rows = self.explain(context=context).arms
        known = {row.arm: row.worth for row in rows if row.worth is not None}
        left = {arm: worth for arm, worth in known.items() if arm not in self._withdrawn}
        rule = "have a reward before an arm is recommended"
        require(len(left) > 0, "learner", rule, self, PolicyError)
        return max(left, key=lambda arm: left[arm])

    def _check_limits(self, offered: IntArray) -> None:
        """Raise a RewardError if the policy's limits exclude all these arms."""
        limits = self._policy.admissible(self._setup, self._stats, self._state)
        if limits is not None:
            rule = f"have an arm within the limits, which are {limits}"
            inside = bool(np.isin(offered, limits).any())
            require(inside, "allowed", rule, offered.tolist(), RewardError)

    def _count_decision(self, arm: int) -> None:
        assert self._rules.decide is not None
        self._rules.decide(self._setup, self._stats, self._state, arm)
        if self._keeps_record:
            self._record.add(arm, None)

    def explain(
        self,
        *,
        context: str | None = None,
        allowed: "Iterable[int] | None" = None,
        rng: np.random.Generator | None = None,
    ) -> Explanation:
        """Return the estimate, every arm's statistics, and the next choice with its reason.

        The estimate follows from all rewards. Choice, reason and details are those of the policy's
        last fit, if it fits on a schedule.

        Args:
            context: the context of the choice, for a model with contexts. Rewards of all contexts
                count in the estimate.
            allowed: the arms that may be played this time, as in `select`.
            rng: the generator that `select` would draw from. It is copied, not changed.
                The learner's own by default.
        """
        if rng is not None:
            require_generator(rng)
        first = self._first_cell(context)
        offered = self._offered(first, allowed)
        with self._lock:
            drawn = copy.deepcopy(self._rng if rng is None else rng)
            parts = self._setup, self._stats, self._state, self._latest
            if offered is None:
                return explain(self._policy, self._cells, *parts, drawn)
            self._check_limits(offered)
            require_masks(self._policy, self._rules)
            whole = explain(self._policy, self._cells, *parts, drawn, offered)
        return whole.of_context(context, first, self._model)

    def should_stop(self, rule: StopWhen) -> str | None:
        """Return the reason to stop now, such as "too high", or None; see `StopWhen`."""
        require(isinstance(rule, StopWhen), "rule", "be a StopWhen", rule, PolicyError)
        with self._lock:
            parts = self._setup, self._stats, self._state
            if rule not in self._stops:
                self._stops[rule] = rule.setup(self._model)
            stop = self._stops[rule]
            if rule.is_compiled:
                reason = reason_to_stop(stop, self._stats)
            else:
                following = int(self._rules.select(*parts, copy.deepcopy(self._rng)))
                counts = self._stats.counts[np.newaxis].astype(np.float64)
                sums = self._stats.sums[np.newaxis]
                reason = int(reasons_to_stop(stop, counts, sums, np.array([following]))[0])
            if reason == 0 and rule.decisions is not None:
                # Decisions without a reward count too.
                reason = DECISIONS if self._record.n_decisions >= rule.decisions else 0
            return REASONS.get(reason)

    # Learning.

    def update(
        self,
        arm: "int | ArrayLike | None" = None,
        reward: "float | ArrayLike | None" = None,
        *,
        context: "str | Sequence[str] | None" = None,
        arm_value: Any = None,
        count: int | None = None,
        decision: str | None = None,
    ) -> None:
        """Learn one reward of an arm, or a batch of rewards. After an error nothing is learned.

        Rewards of a withdrawn arm are learned too: its decision was made before.

        Args:
            arm: index of the arm, or a sequence of indices.
            reward: the reward in the model's units, or a sequence of the same length. With
                ``count`` the sum of that many rewards.
            context: the context of the decision, or a sequence of the same length.
            arm_value: the arm's value, such as its price, instead of its index; or a sequence
                of values.
            count: the number of rewards that ``reward`` is the sum of, such as the visitors of a
                day, at most a million. Each of them must be at one end of the reward range, as a
                sale or none. ``update(2, 15, count=500)`` learns 15 sales and 485 zeros, evenly
                spread, as 500 single rewards.
            decision: the name of the decision, such as a patient's number, by which `forget` finds
                the reward; for a single reward and a policy that counts decisions.
        """
        if arm_value is not None:
            arm = given_arm(arm, arm_value, self._model.arms, many=is_batch(reward))
        n_arms, reward_range = self._model.n_arms, self._model.reward_range
        if count is not None:
            index = as_arm("arm", arm, n_arms)
            pairs = [(index, unit) for unit in as_summary(reward, count, reward_range)]
        elif is_batch(arm) or is_batch(reward):
            arms, units = as_batch(arm, reward, n_arms, reward_range)
            pairs = list(zip(arms.tolist(), units.tolist(), strict=True))
        else:
            pairs = [(as_arm("arm", arm, n_arms), as_unit("reward", reward, reward_range))]
        if context is not None or self._cells is not self._model:
            firsts = self._first_cells(context, len(pairs))
            pairs = [(first + arm, unit) for first, (arm, unit) in zip(firsts, pairs, strict=True)]
        with self._lock:
            for index, unit in pairs:
                self._calls.learn(index, unit)
                if self._keeps_record:
                    self._record.add(index, unit, decision)
                self._version += 1

    def set_pending(
        self,
        arms: "ArrayLike" = (),
        weights: "ArrayLike" = (),
        *,
        context: "str | Sequence[str] | None" = None,
    ) -> None:
        """Replace the outcomes that are awaited, so that decisions use them as evidence.

        For rewards that are 0 or 1, where a 1 is reported when it happens: a sale, a toxicity. An
        outcome of arm k that would have been reported with probability w by now, if it were a 1,
        has the likelihood ``1 - w m_k(theta)``, as in the TITE-CRM. A weight of 1 is a 0.
        `Pending` computes weights from the ages of decisions.

        Set them again before a decision: ages grow, and a reward that has been learned must no
        longer be awaited. They are saved with the learner. Intervals, tests and other statements
        of evidence use only rewards that have been learned.

        Args:
            arms: the arms of the decisions without a reward, by index.
            weights: a number above 0 and at most 1 for each.
            context: the context of the decisions, or a sequence of the same length.

        Raises:
            PolicyError: if the policy cannot use them. Elastic without a drift, DoseEscalation and
                the grid policies with Bernoulli likelihood can (GridGreedy, GridPlugIn,
                GridThompson and IDS), also inside Limited and Hold.
        """
        pairs = as_pending(arms, weights, self._model.n_arms)
        firsts = self._first_cells(context, len(pairs)) if pairs else []
        with self._lock:
            self._pend([(first + arm, w) for first, (arm, w) in zip(firsts, pairs, strict=True)])
            # The estimate changes, as after a reward.
            self._version += 1

    def _pend(self, pairs: list[tuple[int, float]]) -> None:
        if not pairs and not self._pending:
            return
        if self._rules.pend is None:
            raise PolicyError(
                "policy must be Elastic without a drift, DoseEscalation, or a grid policy with "
                "Bernoulli likelihood (GridGreedy, GridPlugIn, GridThompson, IDS) to use pending "
                f"outcomes, got {self._policy.label}"
            )
        arms = np.array([arm for arm, _ in pairs], np.int64)
        weights = np.array([weight for _, weight in pairs], np.float64)
        self._rules.pend(self._setup, self._stats, self._state, arms, weights)
        self._calls.rebuild()
        self._pending = pairs

    @property
    def pending(self) -> list[tuple[int, float]]:
        """The outcomes that are awaited: pairs of an arm (a cell, with contexts) and its weight."""
        return list(self._pending)

    def _first_cells(self, context: "str | Sequence[str] | None", n: int) -> list[int]:
        """Return the first cell of the context of each of ``n`` rewards."""
        if not is_batch(context):
            return [self._first_cell(context)] * n  # type: ignore[arg-type]
        names = as_list("context", context, "be a name, or a sequence of names", RewardError)
        require(len(names) == n, "context", f"have {n} names", len(names), RewardError)
        return [self._first_cell(name) for name in names]

    def forget(
        self,
        arm: int | None = None,
        reward: float | None = None,
        *,
        context: str | None = None,
        arm_value: Any = None,
        number: int | None = None,
        count: int | None = None,
        decision: str | None = None,
    ) -> None:
        """Undo one earlier `update` with the same arm and reward.

        The learner then equals one that learned only the other rewards, up to rounding of the
        sums. A policy that counts decisions is recomputed from all other decisions and rewards, in
        their order; the decision of the forgotten reward is open again. Any other policy whose
        state does not follow from counts and sums raises a PolicyError.

        Args:
            arm: index of the arm.
            reward: the reward as it was observed.
            context: the context of the decision.
            arm_value: the arm's value, such as its price, instead of its index.
            number: the observation's number, counted from 1. Without it the search for drift
                starts over, and a policy that counts decisions forgets the last such reward.
            count: the number of rewards, if ``reward`` is a sum of several as in `update`.
            decision: the name of the decision, as in `update`; for a policy that counts decisions.
        """
        if arm_value is not None:
            arm = given_arm(arm, arm_value, self._model.arms, many=False)
        rebuild = self._rules.rebuild
        if rebuild is None and self._rules.decide is None:
            raise PolicyError(
                f"{self._policy.label} cannot forget: the order of rewards matters to it, "
                "or its state needs more than their number, sum and squares"
            )
        index = self._first_cell(context) + as_arm("arm", arm, self._model.n_arms)
        if count is None:
            units = [as_unit("reward", reward, self._model.reward_range)]
        else:
            require(number is None, "number", "be None with count", number, RewardError)
            units = as_summary(reward, count, self._model.reward_range)
        with self._lock:
            self._check_observed(index, units, reward)
            for unit in units:
                place = None
                if rebuild is None:
                    place = self._record.find(index, unit, number, decision)
                self._evidence.unnote(index, unit, number)
                if rebuild is not None:
                    statistics.uncount(self._stats, index, unit)
                else:
                    assert place is not None
                    self._record.remove(place)
            if rebuild is not None:
                self._calls.rebuild()
            else:
                self._replay()
            self._version += len(units)

    def _replay(self) -> None:
        """Recompute statistics and state from the record."""
        state = self._rules.init(self._setup)
        statistics.clear(self._stats)
        self._record.replay(self._rules, self._setup, self._stats, state)
        # Compiled code holds the memory of the state.
        copy_into(self._state, state)

    def _check_observed(self, arm: int, units: list[float], reward: object) -> None:
        """Raise a RewardError if the arm cannot have had these rewards."""
        left = statistics.copy(self._stats)
        for unit in units:
            n_rewards = int(left.counts[arm])
            if n_rewards == 0:
                raise RewardError(f"arm must have a reward to forget, got {arm!r} with none")
            if not statistics.may_hold(left, arm, unit):
                raise RewardError(
                    f"reward must be one that arm {arm} has had, got {reward!r}: the other "
                    f"{n_rewards - 1} could not have the sum and the spread that would be left"
                )
            statistics.uncount(left, arm, unit)

    # Asking what the learner knows.

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._policy

    @property
    def model(self) -> "RewardModel":
        """The reward model; a `VectorModel` if it has several unknown numbers."""
        found: RewardModel = self._model
        return found

    @property
    def n_observations(self) -> int:
        """Number of observed rewards."""
        return int(self._stats.total[0])

    @property
    def pulls(self) -> IntArray:
        """Number of observed rewards of each arm; of each context and arm if there are contexts."""
        with self._lock:
            found: IntArray = self._shaped(self._stats.counts.copy())
        return found

    def _shaped(self, values: Any) -> Any:
        """Return numbers of the cells by context and arm, or by arm without contexts."""
        return values if self._cells is self._model else values.reshape(-1, self._model.n_arms)

    @property
    def withdrawn(self) -> tuple[int, ...]:
        """The arms that are no longer played, by index."""
        return tuple(sorted(self._withdrawn))

    @property
    def means(self) -> FloatArray:
        """Mean reward of each arm in the model's units; nan for an arm without rewards.

        The shape is that of `pulls`.
        """
        low, high = self._model.reward_range
        with self._lock:
            counts, sums = self._stats.counts.copy(), self._stats.sums.copy()
        units = np.full(counts.shape, np.nan)
        np.divide(sums, counts, out=units, where=counts > 0)
        return np.asarray(self._shaped(low + (high - low) * units))

    @property
    def estimate(self) -> float | dict[str, float] | None:
        """Estimate of the parameter; None before any reward, or if the policy has no estimate.

        A dict by name for a `VectorModel`. The estimate follows from the statistics alone: a policy
        that decides by a fit to most of the rewards (`Elastic`) is fitted to all of them here.
        """
        with self._lock:
            if self._rules.numbers is not None:
                if self.n_observations == 0:
                    return None
                means, _ = read_numbers(self._rules, self._setup, self._stats, self._latest)
                if np.isnan(means).any():
                    return None
                return dict(zip(self._model.parameters, means.tolist(), strict=True))
            theta = float(self._rules.estimate(self._setup, self._stats, self._latest))
        return None if np.isnan(theta) else theta

    @property
    def _latest(self) -> State:
        """The state after a fit to all rewards. Decisions use `_state`, which has fewer fits."""
        return self._calls.latest(self._version)

    @property
    def parts(self) -> tuple[Rules, Setup, statistics.Statistics, State]:
        """The policy's rules, setup, statistics and state, for tests of rules."""
        return self._rules, self._setup, self._stats, self._state

    @property
    def evidence(self) -> Evidence:
        """A copy of the evidence in the rewards, which does not depend on the policy."""
        return self._evidence_now()

    def interval(self, confidence: float = 0.95) -> Interval:
        """Return an interval that contains the parameter at all times with this probability."""
        return self._evidence_now().interval(confidence)

    def region(self, confidence: float = 0.95) -> ConfidenceSet:
        """Return a set that holds all unknown numbers at all times at this confidence."""
        return self._evidence_now().region(confidence)

    def evidence_against_model(self) -> ModelEvidence:
        """Return the strength of the rewards' evidence against the model at every parameter."""
        return self._evidence_now().against_model()

    @property
    def curve_errors(self) -> float:
        """How wrong curves may be in `contenders`, unless you say: the policy's own assumption.

        0.05 for `Elastic`, which does not take curves for exact; 0 for most other policies, and
        for models with contexts or several unknown numbers.
        """
        exact = isinstance(self._model, VectorModel) or self._cells is not self._model
        return 0.0 if exact else self._policy.curve_errors

    def contenders(
        self, confidence: float = 0.95, errors: float | None = None, *, context: str | None = None
    ) -> Contenders:
        """Return the arms that can still be best; ``errors`` is how wrong curves may be.

        With 0, curves are taken for exact; None takes `curve_errors`. With contexts, they are those
        of one context; rewards of all contexts are evidence.
        """
        errors = self.curve_errors if errors is None else errors
        ranked, rows = self._part(context)
        return self._evidence_now().contenders(confidence, errors, ranked=ranked, rows=rows)

    def drift(self, alpha: float = 0.05) -> Drift:
        """Test whether the parameter has changed, with false-alarm rate ``alpha``."""
        return self._evidence_now().drift(alpha)

    def earnings(self, baseline: int, confidence: float = 0.95) -> Earnings:
        """Return what the plays earned beyond always playing the arm with index ``baseline``.

        With contexts, that is the sum over all contexts of the same arm as the baseline.
        """
        return self._evidence_now().earnings(baseline, confidence)

    def plot_worth(
        self,
        confidence: float = 0.95,
        *,
        baseline: int | None = None,
        context: str | None = None,
        ax: "Axes | None" = None,
    ) -> "Figure":
        """Plot each arm's worth with its interval, the observed means, and the best arm.

        With contexts, the arms are those of one context; rewards of all contexts are evidence.
        """
        ranked, rows = self._part(context)
        evidence = self._evidence_now()
        return evidence.plot_worth(confidence, baseline=baseline, ax=ax, ranked=ranked, rows=rows)

    def plot_evidence(self, confidence: float = 0.95, *, title: str = "") -> "Figure":
        """Plot interval, e-value and contenders at the recorded times."""
        return self._evidence_now().plot_evidence(confidence, title=title)

    def _part(self, context: str | None) -> tuple[Any, slice]:
        """Return the model of one context and its cells; None and all cells without contexts."""
        first = self._first_cell(context)
        if self._cells is self._model:
            return None, slice(None)
        return self._model.in_context(context), slice(first, first + self._model.n_arms)

    def _evidence_now(self) -> Evidence:
        """Return a copy, which other threads cannot change while it is evaluated."""
        with self._lock:
            return self._evidence.copy()

    # Saving and restoring.

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs, as a dict that can be written as JSON."""
        with self._lock:
            optional: dict[str, Any] = {}
            if self._keeps_record:
                optional["record"] = self._record.encode()
            if self._withdrawn:
                optional["withdrawn"] = list(self.withdrawn)
            if self._pending:
                optional["pending"] = [list(pair) for pair in self._pending]
            return optional | {
                "format": saved_state.FORMAT,
                "version": saved_state.VERSION,
                "policy": self._policy.to_dict(),
                "model": encode_model(self._cells),
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
        model: "AnyModel | ContextModel",
        state: "Mapping[str, Any]",
        *,
        rebase: bool = False,
        compiled: bool | None = None,
    ) -> "Learner":
        """Return a learner that continues from a saved `state`, identical to the last bit.

        The policy must be the saved one. The model must have the same arms with the same curves,
        to 1e-7. What decisions are worth (a cost, a target) may differ.

        Args:
            policy: the policy of the state.
            model: its model.
            state: what `state` returned, or the same read from JSON.
            rebase: keep the rewards and allow another policy and more arms. The policy's state
                must follow from counts and sums. Arms are matched by their values.
            compiled: as in the constructor.
        """
        saved_state.check_header(state)
        withdrawn = saved_state.decode_withdrawn(state, n_arms=len(model.arms), rebase=rebase)
        generator = saved_state.decode_generator(state["generator"])
        learner = cls(policy, model, seed=generator, compiled=False)
        if rebase:
            learner._take_over(state)
        else:
            learner._resume(state)
        learner._withdrawn = withdrawn
        learner._set_compiled(compiled)
        return learner

    def _resume(self, state: "Mapping[str, Any]") -> None:
        """Fill this new learner from a state of the same policy and model."""
        self._check_policy(saved_state.decode_policy(state["policy"]))
        check_same(self._cells, state["model"])
        saved = decode_statistics(state["statistics"], self._stats)
        statistics.assign(self._stats, saved)
        if self._keeps_record:
            self._record = Record.decode(state.get("record"), self._stats)
        if "pending" in state:
            self._pend(saved_state.decode_pending(state["pending"], self._cells.n_arms))
        self._state = saved_state.decode_kept(self._rules, self._setup, self._stats, state["kept"])
        self._evidence = Evidence.restore(self._cells, state["evidence"], statistics=self._stats)
        self._lineage = Lineage.decode(state["lineage"], self._seen())

    def _take_over(self, state: "Mapping[str, Any]") -> None:
        """Fill this new learner with the rewards of a state of another policy or model."""
        rebuild, has_record = self._rules.rebuild, "record" in state
        if rebuild is None and not (has_record and self._rules.decide is not None):
            raise PolicyError(
                f"{self._policy.label} cannot take over rewards: their order matters to it"
            )
        policy = saved_state.decode_policy(state["policy"])
        n_arms = len(saved_arms(state["model"]))
        old = decode_statistics(state["statistics"], statistics.no_statistics(n_arms))
        rows = match_arms(self._cells, state["model"], old)
        if rebuild is not None:
            statistics.assign(self._stats, move(old, rows))
            rebuild(self._setup, self._stats, self._state)
            if policy == self._policy:
                self._policy.carry_over(self._setup, self._state, state["kept"], rows)
        else:
            self._record = Record.decode(state["record"], old).moved(rows)
            self._replay()
        self._evidence = Evidence.take_over(self._cells, state["evidence"], old, rows, self._stats)
        self._lineage = Lineage.decode(state["lineage"], self._seen())

    def _check_policy(self, policy: Policy) -> None:
        """Raise a StateError for another policy."""
        if policy != self._policy:
            raise StateError(
                f"state must be of {self._policy!r}, got one of {policy!r} "
                "(rebase=True keeps the rewards)"
            )

    def with_policy(self, policy: Policy) -> "Learner":
        """Return a learner with another policy, or other parameters, and the same rewards.

        A warning says that limits end, if this policy has limits and the other one has none.
        """
        if self._rules.decide is not None and policy.rules.decide is None:
            text = f"the limits of {self._policy.label} end: {policy.label} has none"
            warnings.warn(text, UserWarning, stacklevel=2)
        state, compiled = self.state(), self._calls.compiled
        return Learner.restore(policy, self._model, state, rebase=True, compiled=compiled)

    def with_model(
        self,
        model: "AnyModel | ContextModel | None" = None,
        *,
        withdraw: "Iterable[Any] | None" = None,
    ) -> "Learner":
        """Return a learner with another cost or target, or other arms, and the same rewards.

        Arms are matched by their values. The curves of common arms must be the same. A new arm is
        known from its curve at once.

        Args:
            model: the model; this one by default. It keeps the arms that have rewards.
            withdraw: values of the arms that are no longer played. Their rewards remain as
                evidence, and late rewards are learned. None keeps those withdrawn before; an
                empty list offers all arms again.

        >>> from globalbandits.model import demand
        >>> from globalbandits.policies import WAGP
        >>> learner = Learner(WAGP(), demand.linear_power([0.4, 0.6, 0.8]), seed=7)
        >>> learner.update([2, 2, 2], [0.4, 0.5, 0.45])
        >>> more = learner.with_model(demand.linear_power([0.4, 0.6, 0.7, 0.8]), withdraw=[0.8])
        >>> more.model.arms[more.select()], more.n_observations
        (0.7, 3)
        """
        model = self._model if model is None else model
        state, compiled = self.state(), self._calls.compiled
        gone = [self._model.arms[arm] for arm in self.withdrawn]
        if withdraw is not None:
            gone = as_list("withdraw", list(withdraw), "be values of arms", PolicyError)
        indices = sorted({index_of(value, model.arms, "withdraw") for value in gone})
        rule = "leave an arm to play"
        require(len(indices) < model.n_arms, "withdraw", rule, gone, PolicyError)
        state["withdrawn"] = indices
        return Learner.restore(self._policy, model, state, rebase=True, compiled=compiled)

    # Working in parallel: forking and merging.

    def fork(self, n: int) -> list["Learner"]:
        """Return ``n`` copies with generators of their own, for ``n`` workers.

        Merge them later, into this learner or into each other. A merge adds the rewards that
        each has learned since, and counts the common ones once.
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

    def merge(self, *others: "Learner") -> "Learner":
        """Add the rewards of learners of the same policy and model; return this learner.

        The result equals one learner that learned all the rewards, up to rounding of the sums.
        Rewards that learners share, because they were forked or restored from one state, are
        counted once.

        Raises:
            PolicyError: if the policy's state does not follow from counts and sums.
            StateError: if the shared rewards cannot be determined.
        """
        rebuild = self._rules.rebuild
        if rebuild is None:
            raise PolicyError(
                f"{self._policy.label} cannot be merged: the order of rewards matters to it, "
                "or its state needs more than their number, sum and squares"
            )
        if len({id(learner) for learner in (self, *others)}) <= len(others):
            raise StateError("learners to merge must be different ones, got one of them twice")
        for other in others:
            require(isinstance(other, Learner), "merge", "be given learners", other, StateError)
            self._check_policy(other._policy)
            if other._model is not self._model:
                check_same(self._cells, encode_model(other._cells))
        for other in others:
            self._merge(other)
        with self._lock:
            rebuild(self._setup, self._stats, self._state)
        return self

    def _merge(self, other: "Learner") -> None:
        # All threads take the two locks in the same order, which excludes a deadlock.
        first, second = sorted((self, other), key=id)
        with first._lock, second._lock:
            past = self._lineage.common_past(other._lineage)
            self._evidence.merge_counts(other._evidence, None if past is None else past.histogram)
            statistics.add(self._stats, other._stats, 1)
            if past is not None:
                statistics.add(self._stats, past.stats, -1)
            other._lineage.rebase(other._seen(), other._version)
            self._lineage.join(other._lineage)
            self._version += 1

    def _seen(self) -> Seen:
        return Seen(statistics.copy(self._stats), self._evidence.counts)


def require_generator(rng: object) -> None:
    """Raise a PolicyError unless ``rng`` is a generator."""
    valid = isinstance(rng, np.random.Generator)
    require(valid, "rng", "be a numpy.random.Generator", rng, PolicyError)


# The calls of a policy's rules. Compiled code has one entry point for decisions and rewards, so
# that a learner needs one compiled function.

# Given in place of an arm: ask for a decision, or for a fit of `Live.latest` or `Live.state` to all
# rewards.
CHOOSE = -1
REFIT = -2
REBUILD = -3


class Live(NamedTuple):
    """The arrays that a learner's rules read and write."""

    setup: Setup
    stats: Statistics
    state: State
    rng: np.random.Generator
    histogram: Histogram
    latest: State  # receives fits that no decision uses; the state itself until the first one


@cache
def live_loop(rules: Rules) -> Callable[[Live, int, float], int]:
    """Return the entry point of a policy's rules."""
    select, update = rules.select, rules.update
    fits_on_schedule, rebuild = _fits_on_schedule(rules), rules.rebuild or _rebuild_nothing

    def live(learner: Live, arm: int, reward: float) -> int:
        """Learn a reward on the unit scale, or do what CHOOSE, REFIT and REBUILD ask for."""
        setup, stats, state = learner.setup, learner.stats, learner.state
        if arm == CHOOSE:
            return int(select(setup, stats, state, learner.rng))
        if fits_on_schedule and arm <= REFIT:
            rebuild(setup, stats, learner.latest if arm == REFIT else state)
            return arm
        count(stats, arm, reward)
        update(setup, stats, state, arm, reward)
        add(learner.histogram, arm, reward, 1.0)
        return arm

    return live


class LiveMask(NamedTuple):
    """The arrays that a choice among some arms reads."""

    setup: Setup
    stats: Statistics
    state: State
    rng: np.random.Generator
    offered: IntArray  # (n_arms,) those that can be played, at the start


@cache
def masked_choice(rules: Rules) -> Callable[[LiveMask, int], int]:
    """Return the choice among some arms. It has code of its own, for those who need it."""
    select_among = rules.select_among
    assert select_among is not None

    def choose(mask: LiveMask, n_offered: int) -> int:
        """Choose among the first arms of ``offered``."""
        offered = mask.offered[:n_offered]
        return int(select_among(mask.setup, mask.stats, mask.state, offered, mask.rng))

    return choose


def choose_plainly(
    rules: Rules,
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray | None,
    rng: np.random.Generator,
) -> int:
    """Return the choice of the rules in plain Python; among all arms if ``offered`` is None."""
    if offered is None:
        return int(rules.select(setup, stats, state, rng))
    assert rules.select_among is not None
    return int(rules.select_among(setup, stats, state, offered, rng))


def _choose_none(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    return -1


def _fits_on_schedule(rules: Rules) -> bool:
    """Whether a state may be a fit to fewer rewards than the statistics have."""
    return rules.rebuild is not None and rules.resume is not None


def _rebuild_nothing(setup: Setup, stats: Statistics, state: State) -> None:
    pass


class Calls:
    """A policy's rules as compiled code or plain Python. Not safe for threads.

    Args:
        policy: the policy.
        live: the arrays of its rules. They are changed in place and never replaced.
        evidence: the evidence, which shares the histogram and the statistics of ``live``.
        compiled: True compiles now, False uses plain Python, None uses compiled code if it is in
            memory or on disk.
        always_masked: whether all choices are among some of the arms, those of a context. Then
            `Rules.select` is not compiled.
    """

    def __init__(
        self,
        policy: Policy,
        live: Live,
        evidence: Evidence,
        compiled: bool | None,
        always_masked: bool,
    ) -> None:
        wanted = compiled is None or isinstance(compiled, bool)
        require(wanted, "compiled", "be True, False or None", compiled, PolicyError)
        self.compiled = compiled
        self._live = live
        self._evidence = evidence
        self._name = type(policy).__name__
        self._rules = policy.rules_of(live.setup)
        self._always_masked = always_masked
        self._call: Callable[[int, float], int] | None = None  # None in plain Python
        # The choice among some arms, bound when it is first needed; None in plain Python.
        self._offered: IntArray | None = None
        self._choose_among: Callable[[int], int] | None = None
        self._latest_version = -1
        self._bind()

    def _bind(self) -> None:
        rules = self._rules
        if self._always_masked:
            rules = rules._replace(select=_choose_none)
        self._call = self._bound(live_loop(rules), self._live, CHOOSE, 0.0)

    def _bound(self, loop: Callable[..., Any], data: Any, *example: Any) -> Any:
        """Return a compiled loop with its data; None in plain Python."""
        if self.compiled is None:
            return Engine().bind_known(loop, (data,), *example)
        if self.compiled:
            return Engine().bind(loop, self._name, (data,), *example, keeps_lock=True)
        return None

    @property
    def is_compiled(self) -> bool:
        """Whether the rules are compiled."""
        return self._call is not None

    @property
    def rng(self) -> np.random.Generator:
        """The generator that `choose` draws from."""
        return self._live.rng

    def choose(self, offered: IntArray | None = None) -> int:
        """Return the arm to play next, among all or some of the arms."""
        if offered is None and self._call is not None:
            return self._call(CHOOSE, 0.0)
        setup, stats, state, rng, *_ = self._live
        if offered is not None:
            if self._offered is None:
                self._offered = np.zeros(len(stats.counts), np.int64)
                mask = LiveMask(setup, stats, state, rng, self._offered)
                self._choose_among = self._bound(masked_choice(self._rules), mask, 1)
            if self._choose_among is not None:
                self._offered[: len(offered)] = offered
                return self._choose_among(len(offered))
        return choose_plainly(self._rules, setup, stats, state, offered, rng)

    def learn(self, arm: int, unit: float) -> None:
        """Learn a reward on the unit scale."""
        if self._call is not None:
            self._call(arm, unit)
            self._evidence.tick()
            return
        setup, stats, state, *_ = self._live
        count(stats, arm, unit)
        self._rules.update(setup, stats, state, arm, unit)
        self._evidence.note(arm, unit)

    def rebuild(self) -> None:
        """Derive the state from the statistics again, if the policy can."""
        if self._rules.rebuild is None:
            return
        if self._call is not None and _fits_on_schedule(self._rules):
            self._call(REBUILD, 0.0)
        else:
            setup, stats, state, *_ = self._live
            self._rules.rebuild(setup, stats, state)

    def latest(self, version: int) -> State:
        """Return the state after a fit to all rewards, which change with the version."""
        if not _fits_on_schedule(self._rules):
            return self._live.state
        if self._live.latest is self._live.state:
            # Few learners are asked for estimates, so the memory is taken on the first request.
            self._live = self._live._replace(latest=deepcopy(self._live.state))
            self._bind()
        if version != self._latest_version:
            if self._call is not None:
                self._call(REFIT, 0.0)
            else:
                assert self._rules.rebuild is not None
                self._rules.rebuild(self._live.setup, self._live.stats, self._live.latest)
            self._latest_version = version
        return self._live.latest

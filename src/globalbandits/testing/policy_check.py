"""`check_policy`: the rules that every policy must keep, as functions that check one policy.

Each rule is a function of a `Subject`, the policy with a model, and raises `Broken` with a text.
`CONTRACT` lists all rules by name.
"""

import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from globalbandits import statistics
from globalbandits._random import States
from globalbandits._validation import require
from globalbandits.compiling.engine import Engine
from globalbandits.environments import BernoulliNoise, Environment
from globalbandits.errors import ContractError, PolicyError
from globalbandits.model import AnyModel
from globalbandits.policies.base import Policy, registered
from globalbandits.policies.learner import Learner
from globalbandits.simulation.checkpoints import checkpoint_times
from globalbandits.simulation.play.arena import Arena
from globalbandits.simulation.play.job import Records, empty_records, make_job
from globalbandits.simulation.simulate import simulate
from globalbandits.statistics import Statistics
from globalbandits.testing import subject as ways
from globalbandits.testing.subject import (
    Broken,
    Subject,
    arrays_of,
    can_play,
    choices,
    default_model,
    expect,
    feed,
    fresh_parts,
    plain_state,
)

# Rounds of the simulation that compares compiled and interpreted code.
_SIMULATED_ROUNDS = 60

# Rewards outside [0, 1], and one inside.
_HOSTILE_REWARDS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 2.0, -1.0, 0.5)

# Up to this number of rewards a state must follow from the statistics exactly. Policies that fit
# on a schedule, such as Elastic, fit after each of these rewards. Later their last fit is older.
_FITTED_REWARDS = 18

# Long enough for the most cautious built-in policies to find the arm that is worth most.
_VALUE_ROUNDS = 400


def check_policy(policy: Policy, model: AnyModel | None = None) -> None:
    """Check that a policy keeps the rules that learners and the simulator rely on.

    The rules are those of `CONTRACT`. Parameters survive JSON. Decisions depend only on the data
    and the generator. Compiled and interpreted code give the same bits. Forgetting, merging and
    restoring leave no trace. Ties, extreme rewards, one arm and ten thousand arms work. Every
    decision has an explanation. Arms are ranked by their worth. A choice among some arms is one
    of them. No reward leads to an access outside an array. A policy may reject a model with a
    PolicyError that says why, and may set ``ignores_value = True`` if it does not rank arms by
    worth.

    Args:
        policy: the policy, with parameters that suit the model.
        model: the model for the checks; by default five prices with a linear-power demand. It
            may be a `VectorModel`.

    Raises:
        ContractError: with one line for each broken rule.

    >>> from globalbandits.policies import WAGP
    >>> check_policy(WAGP())
    """
    require(isinstance(policy, Policy), "policy", "be a Policy", policy, PolicyError)
    subject = Subject(policy, default_model() if model is None else model)
    broken = []
    for name, rule in CONTRACT.items():
        try:
            rule(subject)
        except Broken as error:
            broken.append(f"- {name}: {error}")
        except Exception as error:
            broken.append(f"- {name}: raised {type(error).__name__}: {error}")
    if broken:
        lines = "\n".join(broken)
        raise ContractError(f"{policy.label} breaks {len(broken)} rules of policies:\n{lines}")


# The rules.


def spec_survives_json(subject: Subject) -> None:
    """A registered policy is the same after `to_dict`, JSON and `from_dict`."""
    policy = subject.policy
    hash(policy)
    if registered().get(getattr(policy, "kind", "")) is type(policy):
        again = Policy.from_dict(json.loads(json.dumps(policy.to_dict())))
        expect(again == policy, f"{policy!r} comes back from its dict as {again!r}")
    expect(bool(policy.label), "the label must be a text")


def state_is_arrays(subject: Subject) -> None:
    """`init` returns a NamedTuple of arrays of 64-bit numbers, a new one each time."""
    rules, setup, _, state = fresh_parts(subject)
    expect(hasattr(setup, "_fields") and setup._fields[0] == "tables", "setup[0] must be tables")
    expect(hasattr(state, "_fields"), f"the state must be a NamedTuple, got {type(state)}")
    again = rules.init(setup)
    for mine, other in zip(arrays_of(state), arrays_of(again), strict=True):
        kinds = (np.dtype(np.int64), np.dtype(np.float64))
        expect(mine.dtype in kinds, f"a state's array must be int64 or float64, got {mine.dtype}")
        expect(np.array_equal(mine, other, equal_nan=True), "two calls of init must be equal")
        expect(not np.shares_memory(mine, other), "two calls of init must not share memory")


def select_only_looks(subject: Subject) -> None:
    """`select` returns an arm of the model, and changes neither statistics nor state."""
    learner = subject.learner()
    for n in (0, 1, 9, 40):
        subject.play(learner, n, seed=n)
        rules, setup, stats, state = learner.parts
        before = [array.copy() for array in arrays_of(stats) + arrays_of(state)]
        for seed in range(5):
            arm = rules.select(setup, stats, state, np.random.default_rng(seed))
            expect(0 <= arm < subject.model.n_arms, f"select gave the arm {arm}")
        after = arrays_of(stats) + arrays_of(state)
        same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, after, strict=True))
        expect(same, f"select changed the state after {learner.n_observations} rewards")


def decisions_are_determined(subject: Subject) -> None:
    """Two learners with the same seed and rewards choose the same arms."""
    one, other = (subject.play(subject.learner(seed=3), 60) for _ in range(2))
    expect(one == other, "two learners with the same seed and rewards chose different arms")


def statistics_are_the_engines(subject: Subject) -> None:
    """`update` does not change the statistics, which the engine counts."""
    rules, setup, stats, state = fresh_parts(subject)
    for arm, reward in _unit_data(subject, 30, 5):
        statistics.count(stats, arm, reward)
        before = statistics.copy(stats)
        rules.update(setup, stats, state, arm, reward)
        same = all(np.array_equal(a, b) for a, b in zip(before, stats, strict=True))
        expect(same, "update changed the statistics, which the engine counts")


def rebuilding_forgets_the_path(subject: Subject) -> None:
    """`rebuild` gives the state after the updates, and that of `init` for empty statistics."""
    rules, setup, stats, state = fresh_parts(subject)
    if rules.rebuild is None:
        return
    for arm, reward in _unit_data(subject, _FITTED_REWARDS, 6):
        statistics.count(stats, arm, reward)
        rules.update(setup, stats, state, arm, reward)
    fed = rules.estimate(setup, stats, state)
    other = rules.init(setup)
    rules.rebuild(setup, stats, other)
    rebuilt = rules.estimate(setup, stats, other)
    expect(
        _close(fed, rebuilt), f"the estimate after rebuild is {rebuilt!r}, after updates {fed!r}"
    )
    if rules.decide is not None:
        # What follows from decisions is not in the statistics, and stays.
        return
    # `rebuild` must overwrite all numbers of the state.
    empty = statistics.no_statistics(subject.model.n_arms)
    for counted, expected in ((stats, other), (empty, rules.init(setup))):
        for array in arrays_of(state):
            array[...] = math.nan if array.dtype.kind == "f" else 987_654_321
        rules.rebuild(setup, counted, state)
        for seed in range(5):
            one, two = (
                rules.select(setup, counted, each, np.random.default_rng(seed))
                for each in (state, expected)
            )
            expect(one == two, "rebuild must overwrite every number of an older state")


def forgetting_leaves_no_trace(subject: Subject) -> None:
    """After `forget` a learner is as if it had never had the rewards, or `forget` raises."""
    kept, extra = subject.data(15, 7), subject.data(12, 8)
    learner, plain = feed(subject.learner(), kept), feed(subject.learner(), kept)
    rules = learner.parts[0]
    if rules.rebuild is None and rules.decide is None:
        _expect_refusal(lambda: learner.forget(*kept[0]), "forget")
        return
    feed(learner, extra)
    for arm, reward in extra:
        learner.forget(arm, reward)
    _expect_same(learner, plain, "after 12 rewards were observed and taken back")


def merging_adds_up(subject: Subject) -> None:
    """A merged learner equals one learner with all rewards, or `merge` raises."""
    first, second = subject.data(_FITTED_REWARDS // 3, 9), subject.data(_FITTED_REWARDS // 3, 10)
    one, two = feed(subject.learner(), first), feed(subject.learner(), second)
    if one.parts[0].rebuild is None:
        _expect_refusal(lambda: one.merge(two), "merge")
        return
    _expect_same(one.merge(two), feed(subject.learner(), first + second), "after a merge")
    children = one.fork(2)
    feed(children[0], first)
    merged = children[0].merge(children[1])
    _expect_same(
        merged, feed(subject.learner(), first + second + first), "after a fork and a merge"
    )


def restoring_goes_on_bit_for_bit(subject: Subject) -> None:
    """A learner restored from JSON continues with the same choices and the same state."""
    for n in (0, 1, 30, 90):
        learner = subject.learner(seed=n)
        subject.play(learner, n)
        state = json.loads(json.dumps(learner.state()))
        again = Learner.restore(subject.policy, subject.model, state)
        one, other = (subject.play(each, 40, seed=2) for each in (learner, again))
        expect(one == other, f"a learner restored after {n} rewards chose other arms")
        same = plain_state(learner) == plain_state(again)
        expect(same, f"a learner restored after {n} rewards has another state 40 rewards later")


def ties_and_extremes_are_harmless(subject: Subject) -> None:
    """With constant rewards, also the smallest and the largest, estimates stay in the domain."""
    low, high = subject.model.reward_range
    for reward in (low, high, 0.5 * (low + high)):
        for model in (subject.model, ways.flat_ends()):
            if not can_play(subject.policy, model):
                continue
            learner = subject.learner(model=model)
            ends = model.reward_range
            unit = ends[0] + (ends[1] - ends[0]) * (reward - low) / (high - low)
            for _ in range(40):
                learner.update(learner.select(), unit)
            theta = learner.estimate
            inside = theta is None or ways.is_in_domain(model, theta)
            expect(inside, f"the estimate is {theta} after 40 rewards of {unit:g}")


def any_number_of_arms(subject: Subject) -> None:
    """One arm and ten thousand arms work, or `setup` raises a PolicyError that says why."""
    for model in (ways.one_arm(), ways.many_arms()):
        if can_play(subject.policy, model):
            market = Environment(model, theta=0.4)
            simulate(market, {"one": subject.policy}, horizon=8, runs=1, checkpoints=1)


def explanations_are_given(subject: Subject) -> None:
    """`explain` names the arm that `select` returns, and a reason, at every stage."""
    learner = subject.learner(seed=4)
    for n in (0, 1, 7, 40):
        subject.play(learner, n, seed=n)
        explained = learner.explain()
        expect(len(explained.reason) >= 10, f"the reason is {explained.reason!r}")
        choice = learner.select()
        expect(explained.choice == choice, f"explained arm {explained.choice}, chose {choice}")
        json.dumps(explained.details)
        _, _, stats, state = learner.parts
        used = subject.policy.observed(stats, state)
        expect(isinstance(used, Statistics), "observed must give Statistics")


def value_decides(subject: Subject) -> None:
    """With rewards equal to their means, the arm worth most gets most of the later plays.

    The arm that is worth most is not the one with the largest mean. A policy with `ignores_value`
    is exempt.
    """
    model = ways.reordered_shop()
    if subject.policy.ignores_value or not can_play(subject.policy, model):
        return
    theta = 0.5 * sum(model.domain)
    means, (best,) = model.means(theta).tolist(), model.best_arms(theta)
    learner = subject.learner(model=model)
    plays = np.zeros(model.n_arms, np.int64)
    for time in range(_VALUE_ROUNDS):
        arm = learner.select()
        learner.update(arm, means[arm])
        plays[arm] += time >= _VALUE_ROUNDS // 2
    favourite = int(np.argmax(plays))
    expect(
        plays[best] > plays.sum() / 2,
        f"{plays[best]} of the last {plays.sum()} plays are of arm {best}, which is worth most, "
        f"and {plays[favourite]} of arm {favourite}: rank arms by their worth, see worth_of, "
        "or set ignores_value = True",
    )


def masks_are_kept(subject: Subject) -> None:
    """`select_among` returns an offered arm and only looks, or a learner refuses masks by name."""
    learner, n_arms = subject.learner(), subject.model.n_arms
    rules, setup, stats, state = learner.parts
    if rules.select_among is None:
        _expect_refusal(lambda: learner.select(allowed=[0]), "select(allowed=[0])", "select_among")
        return
    rng = np.random.default_rng(11)
    for n in (0, 1, 9, 40):
        subject.play(learner, n, seed=n)
        parts = bounded(setup), bounded(stats), bounded(state)
        before = [array.copy() for array in arrays_of(stats) + arrays_of(state)]
        for seed in range(8):
            size = 1 if seed == 0 else int(rng.integers(1, n_arms + 1))
            offered = np.sort(rng.permutation(n_arms)[:size])
            arm = rules.select_among(*parts, bounded(offered), np.random.default_rng(seed))
            # A policy with limits may find none of the offered arms within them.
            kept = arm in offered or (arm == -1 and rules.decide is not None)
            expect(kept, f"select_among gave the arm {arm} for {offered.tolist()}")
        after = arrays_of(stats) + arrays_of(state)
        same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, after, strict=True))
        expect(same, f"select_among changed the state after {learner.n_observations} rewards")


def compiled_is_interpreted(subject: Subject) -> None:
    """The simulator's compiled loop and the same loop in plain Python give the same bits."""
    engine = Engine(quiet=True)
    compiled = _records(subject, engine)
    expect(not engine.slow, "the rules cannot be compiled, so the simulator would be slow")
    plain = _records(subject, Engine(interpreted=True))
    for name in compiled._fields:
        mine, theirs = getattr(compiled, name), getattr(plain, name)
        same = np.array_equal(mine, theirs, equal_nan=True)
        expect(
            same,
            f"{name} differs between compiled and interpreted runs of {_SIMULATED_ROUNDS} steps",
        )


def hostile_rewards_stay_inside(subject: Subject) -> None:
    """For any reward, the policy's functions read and write only inside their arrays."""
    rules, setup, stats, state = fresh_parts(subject)
    seen = bounded(setup), bounded(stats), bounded(state)
    rng = np.random.default_rng(0)
    for round_number in range(60):
        reward = _HOSTILE_REWARDS[round_number % len(_HOSTILE_REWARDS)]
        arm = round_number * 7 % subject.model.n_arms
        try:
            with np.errstate(all="ignore"):
                statistics.count(stats, arm, reward)
                rules.update(*seen, arm, reward)
                chosen = rules.select(*seen, rng)
                if rules.rebuild is not None and round_number % 8 == 0:
                    rules.rebuild(*seen)
        except OutsideError as error:
            raise Broken(f"a reward of {reward} leads to {error}") from None
        except (ArithmeticError, ValueError) as error:
            expect(
                "to integer" not in str(error), f"a reward of {reward} becomes an index: {error}"
            )
            # A logarithm or root that no real reward leads to. In compiled code it is nan.
            return
        arms = subject.model.n_arms
        expect(0 <= chosen < arms, f"select gave the arm {chosen} after a reward of {reward}")


# All rules by name.
CONTRACT: Mapping[str, Callable[[Subject], None]] = MappingProxyType(
    {
        "a spec survives JSON": spec_survives_json,
        "a state is arrays": state_is_arrays,
        "select only looks": select_only_looks,
        "decisions are determined": decisions_are_determined,
        "statistics are the engine's": statistics_are_the_engines,
        "rebuilding forgets the path": rebuilding_forgets_the_path,
        "forgetting leaves no trace": forgetting_leaves_no_trace,
        "merging adds up": merging_adds_up,
        "restoring goes on bit for bit": restoring_goes_on_bit_for_bit,
        "ties and extremes are harmless": ties_and_extremes_are_harmless,
        "any number of arms": any_number_of_arms,
        "explanations are given": explanations_are_given,
        "value decides": value_decides,
        "masks are kept": masks_are_kept,
        "compiled is interpreted": compiled_is_interpreted,
        "hostile rewards stay inside": hostile_rewards_stay_inside,
    }
)


# Helpers of the rules.


def _unit_data(subject: Subject, n: int, seed: int) -> list[tuple[int, float]]:
    low, high = subject.model.reward_range
    return [(arm, (reward - low) / (high - low)) for arm, reward in subject.data(n, seed)]


def _close(one: Any, other: Any) -> bool:
    """Whether two estimates agree: numbers, dicts of numbers, or None or nan for none."""
    pair = [list(x.values()) if isinstance(x, dict) else x for x in (one, other)]
    mine, theirs = (np.array(x, np.float64) for x in pair)
    return bool(np.allclose(mine, theirs, rtol=1e-6, atol=1e-6, equal_nan=True))


def _expect_same(one: Learner, other: Learner, when: str) -> None:
    """Compare counts, means, estimates and the next choices."""
    expect(np.array_equal(one.pulls, other.pulls), f"the counts differ {when}")
    means = np.allclose(one.means, other.means, rtol=1e-9, atol=1e-9, equal_nan=True)
    expect(means, f"the means differ {when}")
    mine, theirs = one.estimate, other.estimate
    expect(_close(mine, theirs), f"the estimate is {mine!r} instead of {theirs!r} {when}")
    expect(choices(one) == choices(other), f"the next choices differ {when}")


def _expect_refusal(call: Callable[[], Any], name: str, missing: str = "rebuild") -> None:
    try:
        call()
    except PolicyError:
        return
    raise Broken(f"{name} must refuse with a PolicyError where {missing} is None")


def _records(subject: Subject, engine: Engine) -> Records:
    market = Environment(subject.model, ways.inner_theta(subject.model), noise=BernoulliNoise())
    named = {"one": subject.policy}
    try:
        job = make_job(
            market,
            named,
            _SIMULATED_ROUNDS,
            checkpoint_times(_SIMULATED_ROUNDS, 6),
            3,
            evidence=False,
        )
    except PolicyError as error:
        raise Broken(f"the policy refuses the model: {error}") from None
    records = empty_records(job, 2)
    Arena(job, engine, States(3, 0, 2)).play(0, 2, records, 0, lambda n_steps: True)
    return records


# Arrays that raise an error for an index outside of them.
#
# Compiled code does not check indices. So the rules of a policy run once in plain Python with
# arrays that do. Negative indices, which Python counts from the end, are errors too.


class OutsideError(IndexError):
    """An index outside of an array."""


class Bounded(np.ndarray):
    """An array that raises an error for an index outside of it."""

    def __getitem__(self, key: Any) -> Any:
        _check(self.shape, key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _check(self.shape, key)
        super().__setitem__(key, value)


def bounded(value: Any) -> Any:
    """Return a NamedTuple with all its arrays, also in nested NamedTuples, as bounded views."""
    if isinstance(value, np.ndarray):
        return value.view(Bounded)
    if hasattr(value, "_fields"):
        return type(value)(*(bounded(field) for field in value))
    return value


def _check(shape: tuple[int, ...], key: Any) -> None:
    keys = key if isinstance(key, tuple) else (key,)
    for axis, (size, index) in enumerate(zip(shape, keys, strict=False)):
        if isinstance(index, (int, np.integer)) and not 0 <= index < size:
            raise OutsideError(f"index {index} of axis {axis} with {size} entries")

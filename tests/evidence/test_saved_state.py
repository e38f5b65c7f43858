"""A saved state is restored exactly or refused with a message."""

import json
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import globalbandits as gb
from globalbandits.evidence import Evidence, evidence_from_log
from globalbandits.evidence import evidence as saved_evidence
from globalbandits.evidence.drift_test import (
    kept,
    no_snapshots,
    record,
    times_kept,
)
from globalbandits.model import RewardModel
from globalbandits.statistics import no_statistics
from tests.evidence.models import log_of, model_of
from tests.soak import length


def saved(name="pricing", n=300, seed=13):
    return json.loads(json.dumps(evidence_from_log(*log_of(name, n, seed)).state()))


def damaged(**changes):
    return saved() | changes


def stretches(**changes):
    """Saved stretches with one thing changed in the first of them."""
    state = saved()
    entry = state["stretches"][0]
    time, rows = changes.get("time", entry[0]), changes.get("rows", entry[1])
    return damaged(stretches=[[time, rows], *state["stretches"][1:]])


def row(values):
    return stretches(rows=[[0, values]])


WHOLE = "soft counts must be those of a whole number of rewards, got"
RANGE = "statistics must be counts and sums that rewards in the range can have, got"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([], "evidence must be a dict, got []"),
        (damaged(extra=1), "evidence must have the keys version, model, bins, every, since, fo"),
        (damaged(version=1), "evidence must have version 2, got 1: states of other versions"),
        (damaged(version=True), "evidence must have version 2, got True"),
        (damaged(model="0"), "evidence must be of a model with the same curves, domain"),
        (damaged(model=np.zeros(3)), "evidence must be of a model with the same curves, domain"),
        (damaged(bins=10**12), "bins must lie between 1 and 1024, got 1000000000000"),
        (damaged(bins=10**5000), "bins must hold 64-bit integers, got an integer of 16610 bits"),
        (damaged(bins=8.0), "bins must hold 64-bit integers, got 8.0"),
        (damaged(bins=16), "soft counts must be a list of 17 entries, got a list of 9"),
        (damaged(every=0), "every must lie between 1 and 1000000000, got 0"),
        (damaged(every=99), "stretches must end at the times [99, 198, 297, 300], got [100, 200"),
        (damaged(since=301), "since must lie between 0 and 300, got 301"),
        (damaged(since=150), "stretches must end at the times [200, 300, 300], got [100, 200"),
        (damaged(forgotten=1), "forgotten must be 0, got 1"),
        (damaged(statistics=None), "statistics must be a dict, got None"),
        (damaged(stretches=3), "stretches must be a list, got 3"),
        (damaged(stretches=[]), "stretches must end at the times [0], got []"),
        (damaged(stretches=[[1]]), "stretch must have 2 entries, got 1"),
        (damaged(stretches=[[-1, []]]), "time must lie between 0 and 9007199254740992, got -1"),
        (damaged(stretches=[[300, []]]), "stretches must end at the times [100, 200, 300, 300]"),
        (stretches(time=101), "stretches must end at the times [100, 200, 300, 300], got [101"),
        (stretches(rows={}), "rows must be a list, got {}"),
        (stretches(rows=[[0]]), "row must have 2 entries, got 1"),
        (stretches(rows=[[12, [1.0] * 9]]), "arm must lie between 0 and 11, got 12"),
        (stretches(rows=[[3, [1.0] * 9]] * 2), "arm must lie between 4 and 11, got 3"),
        (row([1.0] * 8), "soft counts must be a list of 9 entries, got a list of 8"),
        (row(["1"] * 9), "soft counts must hold finite numbers, got '1'"),
        (row([0.0] * 9), WHOLE),
        (row([-1.0, 2.0] + [0.0] * 7), WHOLE),
        (row([0.5] + [0.0] * 8), WHOLE),
        (row([1e-9, 1.0 - 1e-9] + [0.0] * 7), WHOLE),
        (row(["nan"] * 9), WHOLE),
        (row(["inf"] * 9), WHOLE),
        (row([1.7e308] * 9), WHOLE),
        (row([12.0] * 9), "stretch from 0 to 100 must have at most 100 rewards, got 108"),
        (row([1.0] * 9), "forgotten must be 91, got 0"),
    ],
)
def test_damaged_states_are_refused(state, message):
    with pytest.raises(gb.StateError) as caught:
        Evidence.restore(model_of("pricing"), state)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("counts", 1, RANGE),
        ("total", 1, RANGE),
        ("sums", 1e300, RANGE),
        ("squares", math.inf, "statistics.squares must hold finite numbers, got inf"),
        ("sums", 1e-6, "evidence must agree with the statistics, got "),
        ("squares", 1e-6, None),
        ("squares", -0.2, "evidence must agree with the statistics, got "),
        ("squares", 0.2, "evidence must agree with the statistics, got "),
    ],
)
def test_statistics_and_histogram_must_agree(field, change, message):
    state = saved()
    state["statistics"][field][0] += change
    if message is None:  # the histogram has the squares less exactly
        Evidence.restore(model_of("pricing"), state)
        return
    with pytest.raises(gb.StateError) as caught:
        Evidence.restore(model_of("pricing"), state)
    assert str(caught.value).startswith(message)


def test_statistics_that_are_kept_elsewhere_are_not_read_twice():
    stats = no_statistics(12)
    for state in (saved(), damaged(statistics=None), damaged(model=None)):
        with pytest.raises(gb.StateError, match="statistics and model must be null where they"):
            Evidence.restore(model_of("pricing"), state, statistics=stats)
    with pytest.raises(gb.StateError, match="evidence must agree with the statistics, got 27 rew"):
        Evidence.restore(
            model_of("pricing"), damaged(statistics=None, model=None), statistics=stats
        )


@given(st.integers(0, 40), st.integers(0, 5000), st.integers(1, 40))
def test_the_times_of_copies_follow_from_the_clock(since, further, every):
    snapshots = no_snapshots(1, 1)
    for time in range(since + 1, since + further + 1):
        record(snapshots, np.zeros((1, 2)), time, every)
    now = since + further
    assert kept(snapshots, now + 1)[0].tolist() == times_kept(since, now, every)


def test_a_state_with_more_rewards_than_are_exact_can_still_be_read():
    # Beyond 2**27 rewards of an arm soft counts are rounded, and need not add up to whole ones.
    model = model_of("emax")
    evidence = Evidence(model)
    n = 2**28
    for name, value in (("counts", n), ("sums", 0.3 * n), ("squares", 0.09 * n), ("total", n)):
        getattr(evidence._stats, name)[0] = value
    evidence._tally.counts[0, 2:4] = 0.6 * n + 2.0**-24, 0.4 * n
    evidence._tally.clock = evidence._tally.since = n
    state = json.loads(json.dumps(evidence.state()))
    assert Evidence.restore(model, state).state() == state


# How single values are changed; each takes what was there and a generator.
CHANGES = [
    lambda value, rng: rng.choice([0, 1, -1, 2, 3, 100, 10**12, 2**63, -(2**63), 10**5000]),
    lambda value, rng: rng.choice([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0]),
    lambda value, rng: rng.choice(["nan", "inf", "-inf", "", "x" * 1000, b"0", None, True, False]),
    lambda value, rng: rng.choice([[], {}, [[]], (), [0], {"a": 0}, deep(2000), {1, 2}, 1j]),
    lambda value, rng: value + rng.choice([1, -1, 2, 100, -100]) if is_number(value) else 7,
    lambda value, rng: value * rng.choice([2, -1, 0.5, 1e9, 1.0 + 1e-9]) if is_number(value) else 8,
    lambda value, rng: value + rng.choice([1e-12, -1e-7, 2.0**-26, 0.5]) if is_number(value) else 9,
    lambda value, rng: "7",
    lambda value, rng: [value],
]


def deep(n):
    nest = []
    for _ in range(n):
        nest = [nest]
    return nest


def is_number(value):
    return type(value) in (int, float) and abs(value) < 1e300


def containers(value):
    """All lists and dicts in a state."""
    open_ones = [value]
    while open_ones:
        one = open_ones.pop()
        if isinstance(one, (list, dict)):
            yield one
            open_ones.extend(one.values() if isinstance(one, dict) else one)


def mutate(state, rng):
    """Change one thing somewhere in a state."""
    # Rows and their numbers are the most by far: half of the time look elsewhere.
    places = [place for place in containers(state) if len(place) > 0]
    if rng.random() < 0.5:
        places = [place for place in places if not is_number(next(iter(place)))] or places
    place = rng.choice(places)
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    key, other = rng.choice(keys), rng.choice(keys)
    what = rng.randrange(6)
    if what == 0:
        del place[key]
    elif what == 1 and isinstance(place, list):
        place.insert(key, place[other])
    elif what == 2:
        place[key], place[other] = place[other], place[key]
    else:
        place[key] = rng.choice(CHANGES)(place[key], rng)


def facts(evidence):
    """All that statements are made of."""
    times, copies = kept(evidence._tally.snapshots, evidence._tally.clock + 1)
    histograms = [evidence.counts, *copies]
    rows = [[(arm, *row) for arm, row in enumerate(h.tolist()) if any(row)] for h in histograms]
    clock, counts = evidence._tally.clock, evidence._stats.counts.tolist()
    return evidence.n_observations, clock, counts, times.tolist(), rows


def with_forgotten():
    """A state from which numbered rewards were taken back."""
    model, arms, rewards = log_of("emax", 230, 3)
    evidence = evidence_from_log(model, arms, rewards, every=50)
    for number in (20, 120, 225):
        evidence.forget(int(arms[number - 1]), float(rewards[number - 1]), number=number)
    return evidence.state()


@pytest.mark.parametrize("n_changes", [1, 2])
@pytest.mark.parametrize("state", [saved("emax", 230), with_forgotten(), saved("emax", 0)])
def test_changed_states_are_refused_or_equivalent(state, n_changes):
    model, rng = model_of("emax"), random.Random(1)
    text, expected = json.dumps(state), facts(Evidence.restore(model, state))
    n_taken = 0
    n_tried = length(800, 3500)
    for _ in range(n_tried):
        changed = json.loads(text)
        for _ in range(n_changes):
            mutate(changed, rng)
        try:
            found = facts(Evidence.restore(model, changed))
        except gb.StateError:
            continue
        n_taken += 1
        assert found == expected
    # Some changes are none: items swapped with themselves, sums changed in the last digits.
    assert 0 < n_taken < 0.4 * n_tried


GRAIN = 2.0**-26


@pytest.mark.parametrize(
    ("row", "n_rewards"),
    [
        ([1.0 - GRAIN, GRAIN], 1),
        ([1.0 - GRAIN / 2, GRAIN / 2], 0),
        ([1.0, GRAIN], 0),
        ([0.0, 0.0], 0),
        ([0.0, 1.0], 1),
        ([-0.0, 3.0], 3),
        ([2.0, -1.0], 0),
        ([2.0**27 - 0.25, 0.25], 2**27),
        ([2.0**27 - 0.25, 0.5], 0),
        # Beyond 2**27 rewards sums are rounded, by up to a grain per reward.
        ([2.0**27 + 2.0, 0.75], 2**27 + 3),
        ([2.0**27, 3.0], 2**27 + 3),
        ([2.0**28 - 4.0, 0.0], 2**28 - 4),
        ([2.0**30, 16.5], 2**30 + 16),
        ([2.0**53 - 2.0, 0.0], 2**53 - 2),
        ([2.0**53, 0.0], 0),
        ([0.0, 2.0**53], 0),
        ([math.inf, 0.0], 0),
        ([math.nan, 1.0], 0),
    ],
)
def test_rewards_in_a_row_of_soft_counts_are_counted(row, n_rewards):
    with np.errstate(invalid="ignore"):
        assert saved_evidence._count_rewards(np.array([row])).tolist() == [n_rewards]


def test_histogram_and_statistics_agree_up_to_rounding():
    # Three rewards of 0.3, 0.3 and 0.9 with two bins: knots at 0, 1/2 and 1.
    counts = np.array([[0.0, 0.0, 0.0], [0.8, 1.4, 0.8]])
    totals, grain = np.array([0, 3]), (1e-9 + GRAIN / 2.0) * 4.0
    most = 1.4 * 0.25 + 0.8

    def check(n=3, total=1.5, square=0.99):
        stats = no_statistics(2)
        stats.counts[1], stats.sums[1], stats.squares[1] = n, total, square
        saved_evidence.check_agreement(stats, counts, totals)

    # Squares of the rewards are at most those of the knots, and less by at most a quarter of the
    # squared width of a bin each.
    least = most - 3 * 0.25 * 0.25
    check()
    check(total=1.5 - 0.999 * grain)
    check(total=1.5 + 0.999 * grain)
    check(square=most + 0.999 * grain)
    check(square=least - 0.999 * grain)
    for wrong in (
        {"n": 2},
        {"total": 1.5 - 1.001 * grain},
        {"total": 1.5 + 1.001 * grain},
        {"square": most + 1.001 * grain},
        {"square": least - 1.001 * grain},
    ):
        with pytest.raises(gb.StateError) as caught:
            check(**wrong)
        assert str(caught.value) == (
            "evidence must agree with the statistics, got 3 rewards of arm 1 with sum 1.5 "
            f"for {wrong.get('n', 3)} with sum {wrong.get('total', 1.5):.9g}"
        )


def test_the_largest_e_value_of_a_state_is_above_the_smallest_that_is_kept():
    assert saved_evidence.decode_peak({}) == -math.inf
    least = math.log(2.0)
    just = math.nextafter(least, 1.0)
    assert saved_evidence.decode_peak({"peak": just}) == just
    for wrong in (least, 0.0, -3.0):
        with pytest.raises(gb.StateError, match=r"peak must be a number above 0\.69, got"):
            saved_evidence.decode_peak({"peak": wrong})
    with pytest.raises(gb.StateError, match="peak must"):
        saved_evidence.decode_peak({"peak": math.inf})
    assert saved_evidence.without_peak({"peak": 1.0, "bins": 8}) == {"bins": 8}
    assert saved_evidence.without_peak(7) == 7


def test_states_at_the_ends_of_their_ranges_are_read():
    model = model_of("emax")
    for bins, every, n in ((1, 1, 5), (1_024, 10**9, 3), (8, 2, 0), (8, 2, 2)):
        evidence = Evidence(model, bins=bins, every=every)
        evidence.add_many(np.arange(n) % 4, np.linspace(0.0, 1.0, n))
        state = json.loads(json.dumps(evidence.state()))
        again = Evidence.restore(model, state)
        assert again.state() == state
        assert facts(again) == facts(evidence)
    assert state["forgotten"] == 0
    # All rewards are forgotten, with and without their numbers.
    for number in (2, None):
        evidence = Evidence(model, every=2)
        evidence.add_many(np.array([0, 3]), np.array([0.5, 0.25]))
        evidence.forget(3, 0.25, number)
        evidence.forget(0, 0.5, None if number is None else 1)
        state = evidence.state()
        assert (state["forgotten"], state["since"]) == (2, 0 if number else 2)
        assert facts(Evidence.restore(model, state)) == facts(evidence)


def test_a_state_that_moves_to_other_arms_is_read_with_its_own_statistics():
    model, arms, rewards = log_of("emax", 250, 3)
    evidence = evidence_from_log(model, arms, rewards)
    state = evidence.state() | {"statistics": None, "model": None, "peak": 2.5}
    more = no_statistics(5)
    rows = [1, None, 0, 3, 2]
    for new, old in enumerate(rows):
        if old is not None:
            for part in ("counts", "sums", "squares"):
                getattr(more, part)[new] = getattr(evidence._stats, part)[old]
    more.total[0] = 250
    doses = [0.7, 0.9, 0.3, 1.8, 1.2]
    larger = RewardModel(
        lambda theta, d: 0.8 * d / (d + theta) + 0.25 - 0.25 * d, doses, (0.1, 2.5)
    )
    found = Evidence.take_over(larger, state, evidence._stats, rows, more)
    assert found._tally.clock == 250
    assert np.array_equal(found.counts[[0, 2, 3, 4]], evidence.counts[[1, 0, 3, 2]])
    assert not found.counts[1].any()
    assert found.state()["peak"] == 2.5

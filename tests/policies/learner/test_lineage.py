"""Workers that share a past: a merge counts it once, or refuses."""

import json

import numpy as np
import pytest

import globalbandits as gb
from tests.policies.families import model_of


def learner(n=0, seed=0, policy=None):
    made = gb.Learner(policy or gb.WAGP(), model_of("pricing"), seed=seed)
    return updated(made, n, seed)


def updated(who, n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        who.update(int(rng.integers(12)), float(rng.random()))
    return who


def restored(state):
    return gb.Learner.restore(gb.WAGP(), model_of("pricing"), json.loads(json.dumps(state)))


def assert_same_data(one, other):
    assert one.pulls.tolist() == other.pulls.tolist()
    np.testing.assert_allclose(one.means, other.means, rtol=1e-12)
    assert np.array_equal(one.evidence.counts, other.evidence.counts)
    assert one.estimate == pytest.approx(other.estimate, rel=1e-12)


def test_four_plain_restores_of_one_state_share_their_past():
    state = learner(100).state()
    workers = [updated(restored(state), 1, seed) for seed in range(4)]
    merged = workers[0].merge(*workers[1:])
    assert merged.n_observations == 104
    whole = learner(100)
    for seed in range(4):
        updated(whole, 1, seed)
    assert_same_data(merged, whole)


def test_forked_children_merge_into_each_other_and_into_their_parent():
    parent = learner(50)
    children = parent.fork(3)
    for seed, child in enumerate(children, start=7):
        updated(child, 10, seed)
    updated(parent, 5, 99)
    parent.merge(*children)
    assert parent.n_observations == 50 + 30 + 5
    whole = updated(learner(50), 5, 99)
    for seed in range(7, 10):
        updated(whole, 10, seed)
    assert_same_data(parent, whole)


def test_children_have_generators_of_their_own():
    children = learner(policy=gb.ThompsonSampling()).fork(4)
    choices = [tuple(child.select() for _ in range(20)) for child in children]
    assert len(set(choices)) == 4


def test_forking_is_determined_by_the_seed():
    def run():
        return [[c.select() for _ in range(9)] for c in learner(policy=gb.Uniform()).fork(2)]

    assert run() == run()


def test_workers_merge_repeatedly_into_one_learner():
    centre = learner(20)
    workers = centre.fork(2)
    total = 20
    for turn in range(4):
        for number, worker in enumerate(workers):
            updated(worker, 3, 10 * turn + number)
        centre.merge(*workers)
        total += 6
        assert centre.n_observations == total
    whole = learner(20)
    for turn in range(4):
        for number in range(2):
            updated(whole, 3, 10 * turn + number)
    assert_same_data(centre, whole)


def test_a_learner_and_its_own_older_state():
    original = learner(30)
    older = updated(restored(original.state()), 4, 1)
    updated(original, 10, 2)
    original.state()  # a later save is another mark
    updated(original, 1, 3)
    assert original.merge(older).n_observations == 30 + 10 + 1 + 4


def test_unrelated_learners_are_added_whole():
    assert learner(10, 1).merge(learner(20, 2)).n_observations == 30


def test_a_parent_and_its_child_merge_both_ways():
    parent = learner(10)
    (child,) = parent.fork(1)
    updated(parent, 3, 4)
    updated(child, 2, 5)
    assert child.merge(parent).n_observations == 15
    updated(parent, 1, 6)
    assert parent.merge(child).n_observations == 16  # the child holds 13 of the parent's 14
    whole = updated(updated(updated(learner(10), 3, 4), 2, 5), 1, 6)
    assert_same_data(parent, whole)


def test_an_ambiguous_merge_is_refused_and_nothing_changes():
    one, two, three = learner(5, 1), learner(6, 2), learner(7, 3)
    one.merge(three)
    two.merge(three)  # both hold the rewards of the third and their own
    before = one.n_observations, one.estimate
    with pytest.raises(gb.StateError, match="it is unknown which"):
        one.merge(two)
    assert (one.n_observations, one.estimate) == before


def test_refused_merges_leave_all_learners_alone():
    state = learner(10).state()
    one, two = updated(restored(state), 1, 1), updated(restored(state), 1, 2)
    other_model = gb.Learner(gb.WAGP(), model_of("linear"), seed=0)
    with pytest.raises(gb.StateError):
        one.merge(two, other_model)
    assert one.n_observations == two.n_observations == 11


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_a_fork_needs_a_number_of_children(n):
    with pytest.raises(gb.PolicyError, match="n must be"):
        learner().fork(n)


@pytest.mark.parametrize(
    "lineage",
    [
        None,
        {},
        {"origins": [], "marks": ["0" * 16]},
        {"origins": ["0" * 16], "marks": []},
        {"origins": ["0" * 16], "marks": ["short"]},
        {"origins": "0" * 16, "marks": ["0" * 16]},
        {"origins": ["0" * 16], "marks": [7]},
        {"origins": ["0" * 16], "marks": ["0" * 16], "more": 1},
    ],
)
def test_a_damaged_lineage_is_refused(lineage):
    with pytest.raises(gb.StateError, match="lineage"):
        restored(learner(3).state() | {"lineage": lineage})


def test_marks_do_not_pile_up():
    who = learner()
    for step in range(600):
        who.update(step % 12, 0.5)
        state = who.state()
    assert len(state["lineage"]["marks"]) == 256

"""A learner shared by threads: every reward is counted once, and sums are exact."""

import sys
import threading

import numpy as np
import pytest

import globalbandits as gb
from tests.policies.families import model_of

N_THREADS, N_REWARDS = 8, 300


@pytest.fixture
def busy_interpreter():
    """Threads take turns every few bytecodes, so that unguarded steps do get interrupted."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work):
    failures = []

    def run(number):
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.usefixtures("busy_interpreter")
@pytest.mark.parametrize("policy", [gb.WAGP(), gb.UCB1(), gb.Elastic()], ids=lambda p: p.kind)
def test_sums_are_exact_whatever_the_order(policy):
    model = model_of("pricing")
    shared = gb.Learner(policy, model, seed=0)
    # Multiples of 2**-20: their sums carry no rounding, so every order gives the same bits.
    rng = np.random.default_rng(1)
    rewards = rng.integers(0, 2**20, size=(N_THREADS, N_REWARDS)) / 2**20
    arms = rng.integers(0, model.n_arms, size=(N_THREADS, N_REWARDS))

    def work(number):
        for arm, reward in zip(arms[number].tolist(), rewards[number].tolist(), strict=True):
            shared.select()
            shared.update(arm, reward)

    in_threads(work)
    alone = gb.Learner(policy, model, seed=0)
    alone.update(arms.ravel(), rewards.ravel())
    assert shared.pulls.tolist() == alone.pulls.tolist()
    assert shared.means.tolist() == alone.means.tolist()
    assert np.array_equal(shared.evidence.counts, alone.evidence.counts)
    restored = gb.Learner.restore(policy, model, shared.state())
    assert restored.estimate == shared.estimate


@pytest.mark.usefixtures("busy_interpreter")
def test_statements_are_made_while_others_write():
    learner = gb.Learner(gb.WAGP(), model_of("pricing"), seed=0)
    learner.update(0, 0.3)

    def work(number):
        for step in range(40):
            learner.update((number + step) % 12, 0.25)
            if step % 20 == 0:
                assert learner.interval().n_observations >= 1
                assert gb.Learner.restore(gb.WAGP(), learner.model, learner.state())
                assert learner.explain().n_observations >= 1

    in_threads(work)
    assert learner.n_observations == 1 + N_THREADS * 40


@pytest.mark.usefixtures("busy_interpreter")
def test_two_learners_merge_into_each_other_without_a_deadlock():
    one, other = (gb.Learner(gb.WAGP(), model_of("pricing"), seed=s) for s in range(2))
    one.update(0, 0.5)
    other.update(1, 0.5)

    def work(number):
        for _ in range(20):
            first, second = (one, other) if number % 2 else (other, one)
            first.merge(second)

    in_threads(work)
    assert one.n_observations == other.n_observations == 2

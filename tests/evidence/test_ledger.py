import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import globalbandits as gb
from globalbandits.evidence import Evidence, evidence_from_log
from globalbandits.model import RewardModel
from tests.evidence.models import TRUTH, log_of, model_of

NAMES = sorted(TRUTH)


def statements(evidence):
    return (
        evidence.interval(),
        evidence.against_model(),
        evidence.contenders(),
        evidence.drift(),
    )


def test_one_by_one_and_all_at_once_agree_to_the_last_bit():
    model, arms, rewards = log_of("revenue", 750, seed=1)
    one_by_one = Evidence(model)
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
        one_by_one.update(arm, reward)
    assert one_by_one.state() == evidence_from_log(model, arms, rewards).state()
    assert gb.evidence_from_log(model, arms, rewards).state() == one_by_one.state()


def test_the_order_matters_to_drift_alone():
    model, arms, rewards = log_of("pricing", 900, seed=2)
    order = np.random.default_rng(0).permutation(900)
    one, two = evidence_from_log(model, arms, rewards), evidence_from_log(model, arms[order], rewards[order])
    assert np.array_equal(one.counts, two.counts)
    assert statements(one)[:3] == statements(two)[:3]


@given(st.integers(0, 300), st.integers(0, 300))
def test_merging_is_having_seen_both(n_one, n_two):
    model, arms, rewards = log_of("pricing", n_one + n_two, seed=3)
    parts = [evidence_from_log(model, arms[s], rewards[s]) for s in (slice(n_one), slice(n_one, None))]
    merged = parts[0].merge(parts[1])
    assert merged is parts[0]
    assert np.array_equal(merged.counts, evidence_from_log(model, arms, rewards).counts)
    assert merged.n_observations == n_one + n_two


def test_merged_evidence_says_what_the_whole_says():
    model, arms, rewards = log_of("emax", 400, seed=4)
    merged = evidence_from_log(model, arms[:150], rewards[:150]).merge(
        evidence_from_log(model, arms[150:300], rewards[150:300]), evidence_from_log(model, arms[300:], rewards[300:])
    )
    assert statements(merged)[:3] == statements(evidence_from_log(model, arms, rewards))[:3]


def test_forgetting_is_never_having_seen_to_the_last_bit():
    model, arms, rewards = log_of("pricing", 500, seed=5)
    evidence = evidence_from_log(model, arms, rewards)
    for index in range(250, 500):
        evidence.forget(int(arms[index]), float(rewards[index]))
    assert np.array_equal(evidence.counts, evidence_from_log(model, arms[:250], rewards[:250]).counts)
    assert statements(evidence)[:3] == statements(evidence_from_log(model, arms[:250], rewards[:250]))[:3]


def test_forgetting_a_numbered_reward_keeps_the_copies_exact():
    model, arms, rewards = log_of("pricing", 2350, seed=6)
    wrong_arms, wrong_rewards = arms.copy(), rewards.copy()
    wrong_arms[149], wrong_rewards[149] = 3, 0.99
    evidence = evidence_from_log(model, wrong_arms, wrong_rewards)
    evidence.forget(3, 0.99, number=150)
    kept = np.delete(np.arange(2350), 149)
    shorter = evidence_from_log(model, arms[kept], rewards[kept])
    assert np.array_equal(evidence.counts, shorter.counts)
    # Copies were taken at other times, but hold the right rewards.
    for _, time, rows in evidence.state()["snapshots"]:
        seen = [index for index in kept.tolist() if index < time]
        expected = evidence_from_log(model, arms[seen], rewards[seen]).state()["counts"]
        assert rows == expected


def test_forgetting_without_a_number_begins_the_search_for_drift_anew():
    model, arms, rewards = log_of("pricing", 500, seed=7)
    evidence = evidence_from_log(model, arms, rewards)
    assert evidence.state()["snapshots"]
    evidence.forget(int(arms[0]), float(rewards[0]))
    assert evidence.state()["snapshots"] == []


@pytest.mark.parametrize("n", [0, 1, 99, 1234])
@pytest.mark.parametrize("name", NAMES)
def test_a_saved_state_goes_on_bit_for_bit(name, n):
    model, arms, rewards = log_of(name, n + 200, seed=8)
    whole = evidence_from_log(model, arms, rewards)
    first = evidence_from_log(model, arms[:n], rewards[:n])
    restored = Evidence.restore(model, json.loads(json.dumps(first.state())))
    for arm, reward in zip(arms[n:].tolist(), rewards[n:].tolist(), strict=True):
        restored.update(arm, reward)
    assert restored.state() == whole.state()
    assert restored.drift() == whole.drift()


def test_rewards_in_other_units_say_the_same():
    _, arms, rewards = log_of("pricing", 800, seed=9)
    prices = model_of("pricing").arms
    euros = RewardModel(
        lambda theta, p: 500 * p * (1 - p * theta) ** 2 - 100, prices, reward_range=(-100, 400)
    )
    plain = evidence_from_log(model_of("pricing"), arms, rewards)
    scaled = evidence_from_log(euros, arms, 500 * rewards - 100)
    assert plain.interval().low == pytest.approx(scaled.interval().low, abs=1e-6)
    assert plain.interval().high == pytest.approx(scaled.interval().high, abs=1e-6)
    assert plain.against_model().log_e_value == pytest.approx(
        scaled.against_model().log_e_value, abs=1e-4
    )


def test_a_shifted_and_stretched_parameter_moves_the_interval_with_it():
    _, arms, rewards = log_of("pricing", 800, seed=10)
    prices = model_of("pricing").arms
    moved = RewardModel(
        lambda theta, p: p * (1 - p * (theta - 3) / 20) ** 2, prices, domain=(3.0, 23.0)
    )
    plain = evidence_from_log(model_of("pricing"), arms, rewards).interval()
    shifted = evidence_from_log(moved, arms, rewards).interval()
    assert (shifted.low - 3) / 20 == pytest.approx(plain.low, abs=1e-6)
    assert (shifted.high - 3) / 20 == pytest.approx(plain.high, abs=1e-6)


def test_bins_change_the_width_and_nothing_else():
    model, arms, rewards = log_of("pricing", 2000, seed=11)
    widths = {
        bins: evidence_from_log(model, arms, rewards, bins=bins).interval().width for bins in (1, 4, 8, 16)
    }
    assert widths[1] > widths[4] > widths[8] > widths[16]
    assert widths[8] < 1.1 * widths[16]


def test_the_interval_alone_does_not_refute_a_model():
    # Its bets go from theta to theta. Arms that contradict each other leave the theta that
    # fits them least badly; that it fits badly is for the other process to say.
    model = model_of("illustration")
    evidence = evidence_from_log(model, [0, 1] * 40, [0.97, 0.75] * 40)
    assert not evidence.interval().is_empty
    assert evidence.against_model().refuted(0.001)


def test_no_theta_left_is_an_empty_interval(monkeypatch):
    monkeypatch.setattr("globalbandits.evidence.ledger.find_hull", lambda *_: None)
    assert Evidence(model_of("emax")).interval().is_empty


@pytest.mark.parametrize(
    ("arm", "reward", "message"),
    [
        (12, 0.5, "arm must be an index below 12, got 12"),
        (-1, 0.5, "arm must be at least 0, got -1"),
        (1.5, 0.5, "arm must be an integer, got 1.5"),
        (0, 1.5, "reward must lie in [0, 1], got 1.5"),
        (0, math.nan, "reward must be finite, got nan"),
        (0, "high", "reward must be a number, got 'high'"),
    ],
)
def test_wrong_rewards_are_refused(arm, reward, message):
    evidence = Evidence(model_of("pricing"))
    for act in (evidence.update, evidence.forget):
        with pytest.raises(gb.RewardError) as caught:
            act(arm, reward)
        assert str(caught.value) == message
    assert evidence.n_observations == 0


def test_forgetting_what_was_never_seen_is_refused():
    model, arms, rewards = log_of("pricing", 20, seed=12)
    evidence = evidence_from_log(model, np.zeros(20, int), rewards)
    before = evidence.state()
    for arm, reward in ((1, 0.5), (0, 1.0)):
        with pytest.raises(gb.RewardError, match=f"reward must be one that arm {arm} has had"):
            evidence.forget(arm, reward)
    with pytest.raises(gb.EvidenceError, match="number must be at most 20, got 21"):
        evidence.forget(0, float(rewards[0]), number=21)
    with pytest.raises(gb.EvidenceError, match="number must be at least 1, got 0"):
        evidence.forget(0, float(rewards[0]), number=0)
    assert evidence.state() == before
    assert arms.size == 20


def test_merging_what_does_not_belong_together_is_refused():
    evidence = Evidence(model_of("pricing"))
    with pytest.raises(gb.StateError, match="evidence to merge must be another one"):
        evidence.merge(evidence)
    with pytest.raises(gb.StateError, match="evidence must be of the model with fingerprint"):
        evidence.merge(Evidence(model_of("emax")))
    with pytest.raises(gb.StateError, match="bins must be 8, got 4"):
        evidence.merge(Evidence(model_of("pricing"), bins=4))


@pytest.mark.parametrize("name", ["bins", "every"])
def test_wrong_parameters_are_refused(name):
    with pytest.raises(gb.EvidenceError, match=f"{name} must be at least 1, got 0"):
        Evidence(model_of("pricing"), **{name: 0})


def damaged(**changes):
    model, arms, rewards = log_of("pricing", 300, seed=13)
    return evidence_from_log(model, arms, rewards).state() | changes


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([], "evidence must be a dict, got []"),
        (damaged(extra=1), "evidence must have the keys model, bins, every, clock, counts, snap"),
        (damaged(model="0"), "evidence must be of the model with fingerprint"),
        (damaged(clock=-1), "clock must be at least 0, got -1"),
        (damaged(clock=150), "snapshot time must be at most 150"),
        (damaged(counts=3), "counts must be a list, got 3"),
        (damaged(counts=[[1]]), "counts entry must have 2 entries, got 1"),
        (damaged(counts=[[12, [0.0] * 9]]), "counts arm must be below 12, got 12"),
        (damaged(counts=[[1, [0.0] * 8]]), "counts row must have 9 entries, got 8"),
        (damaged(counts=[[1, [-1.0] * 9]]), "counts value must be a finite number of 0 or more"),
        (damaged(counts=[[1, ["1"] * 9]]), "counts value must be a finite number of 0 or more"),
        (damaged(snapshots=[[99, 100, []]]), "snapshot slot must be below 48, got 99"),
        (damaged(snapshots=[[0, 0, []]]), "snapshot time must be at least 1, got 0"),
    ],
)
def test_damaged_states_are_refused(state, message):
    with pytest.raises(gb.StateError) as caught:
        Evidence.restore(model_of("pricing"), state)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("arms", "rewards", "message"),
    [
        ([0, 1], [0.5], "arms and rewards must be two sequences of one length"),
        ([0.5], [0.5], "arms must be indices, got values of type float64"),
        ([0], ["a"], "rewards must be numbers, got values of type <U1"),
        ([0, 12], [0.5, 0.5], "arms[1] must be an index below 12, got 12"),
        ([0, 1], [0.5, 1.25], "rewards[1] must lie in [0, 1], got 1.25"),
        ([0], [math.nan], "rewards[0] must lie in [0, 1], got nan"),
    ],
)
def test_wrong_logs_are_refused(arms, rewards, message):
    with pytest.raises(gb.RewardError) as caught:
        evidence_from_log(model_of("pricing"), arms, rewards)
    assert str(caught.value).startswith(message)


def test_an_empty_log_is_no_evidence():
    evidence = evidence_from_log(model_of("pricing"), [], [])
    assert evidence.n_observations == 0
    assert repr(evidence) == "Evidence(12 arms, 0 observations)"
    assert evidence.model is model_of("pricing")


def test_the_history_of_a_log_is_dense_and_that_of_updates_is_what_is_kept():
    model, arms, rewards = log_of("pricing", 1500, seed=14)
    logged = evidence_from_log(model, arms, rewards)
    times, histograms = logged.history()
    assert times.size > 40
    assert (times[0], times[-1]) == (1, 1500)
    assert np.array_equal(histograms.sum(axis=(1, 2)), times)
    updated = Evidence(model)
    updated.add_many(arms, rewards)
    assert updated.history()[0].tolist() == [100, 200, 400, 800, 1200, 1400, 1500]
    assert np.array_equal(updated.history()[1][-1], logged.counts)
    for forgetful in (logged, updated):
        forgetful.forget(int(arms[0]), float(rewards[0]))
        assert forgetful.history()[0].tolist() == [1500]
        forgetful.merge(Evidence(model))
        assert len(forgetful.history()[0]) == 1


def test_evidence_is_drawn_over_its_history():
    model, arms, rewards = log_of("pricing", 300, seed=15)
    figure = evidence_from_log(model, arms, rewards).plot_evidence(0.9, truth=0.4, title="a log")
    assert figure.get_suptitle() == "a log"
    assert figure.axes[0].lines[0].get_xdata().max() == 300
    learner = gb.Learner(gb.WAGP(), model, seed=0)
    learner.update(arms, rewards)
    figure = learner.plot_evidence(title="a learner")
    assert figure.axes[0].lines[0].get_xdata().tolist() == [100, 200, 300]
    low = figure.axes[0].lines[0].get_ydata()[-1]
    assert low == learner.interval().low


def test_nothing_can_be_drawn_of_nothing():
    with pytest.raises(gb.EvidenceError, match="evidence must have observations to draw, got 0"):
        Evidence(model_of("emax")).plot_evidence()

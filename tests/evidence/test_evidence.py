import copy
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import globalbandits as gb
from globalbandits.evidence import Evidence, evidence_from_log
from globalbandits.evidence.evidence import is_time_of_peak
from globalbandits.evidence.inference import Inference
from globalbandits.model import RewardModel
from globalbandits.statistics import count, no_statistics
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
    assert one_by_one.state() == gb.evidence_from_log(model, arms, rewards).state()


def test_the_order_matters_to_drift_alone():
    model, arms, rewards = log_of("pricing", 900, seed=2)
    order = np.random.default_rng(0).permutation(900)
    one, two = (
        evidence_from_log(model, arms, rewards),
        evidence_from_log(model, arms[order], rewards[order]),
    )
    assert np.array_equal(one.counts, two.counts)
    assert statements(one)[:3] == statements(two)[:3]


@given(st.integers(0, 300), st.integers(0, 300))
def test_merged_evidence_has_the_counts_of_both_logs(n_one, n_two):
    model, arms, rewards = log_of("pricing", n_one + n_two, seed=3)
    parts = [
        evidence_from_log(model, arms[s], rewards[s]) for s in (slice(n_one), slice(n_one, None))
    ]
    merged = parts[0].merge(parts[1])
    assert merged is parts[0]
    assert np.array_equal(merged.counts, evidence_from_log(model, arms, rewards).counts)
    assert merged.n_observations == n_one + n_two


def test_merged_evidence_has_the_statements_of_the_whole_log():
    model, arms, rewards = log_of("emax", 400, seed=4)
    merged = evidence_from_log(model, arms[:150], rewards[:150]).merge(
        evidence_from_log(model, arms[150:300], rewards[150:300]),
        evidence_from_log(model, arms[300:], rewards[300:]),
    )
    assert statements(merged)[:3] == statements(evidence_from_log(model, arms, rewards))[:3]


def test_forgetting_restores_the_earlier_evidence_bit_for_bit():
    model, arms, rewards = log_of("pricing", 500, seed=5)
    evidence = evidence_from_log(model, arms, rewards)
    for index in range(250, 500):
        evidence.forget(int(arms[index]), float(rewards[index]))
    assert np.array_equal(
        evidence.counts, evidence_from_log(model, arms[:250], rewards[:250]).counts
    )
    assert (
        statements(evidence)[:3]
        == statements(evidence_from_log(model, arms[:250], rewards[:250]))[:3]
    )


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
    times, copies = evidence.history()
    assert times.tolist() == [100, 200, 400, 800, 1600, 2000, 2200, 2300, 2350]
    for time, counts in zip(times.tolist(), copies, strict=True):
        seen = kept[kept < time]
        assert np.array_equal(counts, evidence_from_log(model, arms[seen], rewards[seen]).counts)
    restored = Evidence.restore(model, json.loads(json.dumps(evidence.state())))
    assert restored.state() == evidence.state()
    assert restored.drift() == evidence.drift()


def test_a_number_at_which_the_reward_was_not_observed_is_refused():
    # Taken from copies that do not hold it, the reward would leave less than nothing.
    model, arms, rewards = log_of("pricing", 450, seed=6)
    arms[:400], arms[400:] = 5, 3
    evidence = evidence_from_log(model, arms, rewards)
    before = evidence.state()
    for number in (1, 100, 250, 400):
        with pytest.raises(gb.EvidenceError) as caught:
            evidence.forget(3, float(rewards[420]), number=number)
        assert str(caught.value) == (
            f"number must be that of an observation of arm 3 with this reward, got {number}"
        )
    assert evidence.state() == before
    evidence.forget(3, float(rewards[420]), number=421)
    evidence.forget(5, float(rewards[7]), number=8)
    assert Evidence.restore(model, evidence.state()).state() == evidence.state()
    assert evidence.state()["forgotten"] == 2


def test_forgetting_without_a_number_begins_the_search_for_drift_anew():
    model, arms, rewards = log_of("pricing", 500, seed=7)
    evidence = Evidence(model)
    evidence.add_many(arms, rewards)
    assert evidence.history()[0].tolist() == [100, 200, 400, 500]
    evidence.forget(int(arms[0]), float(rewards[0]))
    assert evidence.history()[0].tolist() == [500]
    for arm, reward in zip(arms[:150].tolist(), rewards[:150].tolist(), strict=True):
        evidence.update(arm, reward)
    assert evidence.history()[0].tolist() == [600, 650]
    assert Evidence.restore(model, evidence.state()).state() == evidence.state()


@pytest.mark.parametrize("n", [0, 1, 99, 1234])
@pytest.mark.parametrize("name", NAMES)
def test_a_saved_state_resumes_bit_for_bit(name, n):
    model, arms, rewards = log_of(name, n + 200, seed=8)
    whole = evidence_from_log(model, arms, rewards)
    first = evidence_from_log(model, arms[:n], rewards[:n])
    restored = Evidence.restore(model, json.loads(json.dumps(first.state())))
    for arm, reward in zip(arms[n:].tolist(), rewards[n:].tolist(), strict=True):
        restored.update(arm, reward)
    assert restored.state() == whole.state()
    assert restored.drift() == whole.drift()


def test_rewards_in_other_units_give_the_same_statements():
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
        bins: evidence_from_log(model, arms, rewards, bins=bins).interval().width
        for bins in (1, 4, 8, 16)
    }
    assert widths[1] > widths[4] > widths[8] > widths[16]
    assert widths[8] < 1.1 * widths[16]


def test_the_interval_alone_does_not_refute_a_model():
    # Its bets go from theta to theta. Arms that contradict each other leave the theta that
    # fits them best; the other process tests whether it fits.
    model = model_of("illustration")
    evidence = evidence_from_log(model, [0, 1] * 40, [0.97, 0.75] * 40)
    assert not evidence.interval().is_empty
    assert evidence.against_model().refuted(0.001)


def test_no_theta_left_is_an_empty_interval(monkeypatch):
    monkeypatch.setattr("globalbandits.evidence.inference.find_hull", lambda *_: None)
    evidence = Evidence(model_of("emax"))
    assert evidence.interval().is_empty
    assert evidence.contenders().arms == ()


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
    model, _, rewards = log_of("pricing", 20, seed=12)
    evidence = evidence_from_log(model, np.zeros(20, int), rewards)
    before = evidence.state()
    for arm, reward, got in ((1, 0.5, "0.5"), (0, 1.0, "1 on the unit scale")):
        with pytest.raises(gb.RewardError) as caught:
            evidence.forget(arm, reward)
        assert str(caught.value) == f"reward must be one that arm {arm} has had, got {got}"
    with pytest.raises(gb.EvidenceError, match="number must be at most 20, got 21"):
        evidence.forget(0, float(rewards[0]), number=21)
    with pytest.raises(gb.EvidenceError, match="number must be at least 1, got 0"):
        evidence.forget(0, float(rewards[0]), number=0)
    assert evidence.state() == before


def test_the_statistics_notice_what_the_histogram_cannot():
    # Two rewards, shared between the same knots: only the squares show that .5 is not one of them.
    model = model_of("pricing")
    evidence = Evidence(model, bins=1)
    for reward in (0.25, 0.75):
        evidence.update(2, reward)
    with pytest.raises(gb.RewardError, match=r"reward must be one that arm 2 has had, got 0\.5"):
        evidence.forget(2, 0.5)
    evidence.forget(2, 0.75)
    assert evidence.n_observations == 1
    # And the histogram what the statistics cannot.
    evidence = evidence_from_log(model, [0] * 4, [0.0, 0.5, 0.5, 1.0])
    with pytest.raises(gb.RewardError, match=r"arm 0 has had, got 0\.25 on the unit scale"):
        evidence.forget(0, 0.25)


def test_merging_incompatible_evidence_is_refused():
    evidence, other = Evidence(model_of("pricing")), Evidence(model_of("pricing"))
    for others in ((evidence,), (other, other)):
        with pytest.raises(gb.StateError, match="evidence to merge must be different ones"):
            evidence.merge(*others)
    with pytest.raises(gb.StateError, match="merge must be given evidence, got 3"):
        evidence.merge(3)
    with pytest.raises(gb.StateError, match="evidence must be of a model with the same curves"):
        evidence.merge(Evidence(model_of("emax")))
    with pytest.raises(gb.StateError, match="bins must be 8, got 4"):
        evidence.merge(Evidence(model_of("pricing"), bins=4))


def test_a_common_past_is_merged_once_and_cannot_be_forgotten_twice():
    model, arms, rewards = log_of("pricing", 300, seed=16)
    parent = evidence_from_log(model, arms[:100], rewards[:100])
    past, one, two = parent.counts, parent.copy(), parent.copy()
    one.add_many(arms[100:200], rewards[100:200])
    two.add_many(arms[200:], rewards[200:])
    merged = one.copy()
    merged.merge_counts(two, past)
    assert np.array_equal(merged.counts, evidence_from_log(model, arms, rewards).counts)
    lone = Evidence(model)
    lone.update(4, 0.3)
    past, one, two = lone.counts, lone.copy(), lone.copy()
    for evidence in (one, two):
        evidence.forget(4, 0.3)
    with pytest.raises(gb.StateError, match="evidence to merge must still hold the common past"):
        one.merge_counts(two, past)


@pytest.mark.parametrize(("name", "most"), [("bins", 1024), ("every", 1_000_000_000)])
def test_wrong_parameters_are_refused(name, most):
    model = model_of("pricing")
    with pytest.raises(gb.EvidenceError, match=f"{name} must be at least 1, got 0"):
        Evidence(model, **{name: 0})
    with pytest.raises(gb.EvidenceError, match=f"{name} must be at most {most}, got {10**12}"):
        Evidence(model, **{name: 10**12})


def test_evidence_without_its_own_statistics_cannot_be_changed_directly():
    model = model_of("pricing")
    stats = no_statistics(12)
    evidence = Evidence(model, statistics=stats)
    for act, arguments in (
        ("update", (0, 0.5)),
        ("add_many", (np.array([0]), np.array([0.5]))),
        ("forget", (0, 0.5)),
        ("merge", ()),
    ):
        message = f"{act} must be called on evidence with statistics of its own, got that of a l"
        with pytest.raises(gb.EvidenceError, match=message):
            getattr(evidence, act)(*arguments)
    count(stats, 3, 0.25)
    evidence.note(3, 0.25)
    assert evidence.n_observations == 1
    own = evidence.copy()
    own.update(3, 0.5)
    assert (own.n_observations, evidence.n_observations) == (2, 1)
    assert evidence.state()["statistics"] is None
    assert own.state()["statistics"]["counts"][3] == 2
    evidence.unnote(3, 0.25)
    assert not evidence.counts.any()


def test_copy_and_deepcopy_copy_evidence():
    model, arms, rewards = log_of("pricing", 250, seed=17)
    evidence = evidence_from_log(model, arms, rewards)
    for twin in (evidence.copy(), copy.deepcopy(evidence)):
        twin.update(3, 0.25)
        assert twin.n_observations == 251
        assert twin.counts.sum() == 251
        assert evidence.counts.sum() == 250
    evidence.update(3, 0.25)
    assert twin.state() == evidence.state()


@pytest.mark.parametrize(
    ("arms", "rewards", "message"),
    [
        ([0, 1], [0.5], "arm and reward must have one length, got (2, 1)"),
        ([0.5], [0.5], "arm[0] must be an integer, got 0.5"),
        ([0], ["a"], "reward[0] must be a number, got 'a'"),
        ([0, 12], [0.5, 0.5], "arm[1] must be an index below 12, got 12"),
        ([0, 1], [0.5, 1.25], "reward[1] must lie in [0, 1], got 1.25"),
        ([0], [math.nan], "reward[0] must be finite, got nan"),
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


def test_evidence_without_rewards_cannot_be_plotted():
    with pytest.raises(gb.EvidenceError, match="evidence must have observations to draw, got 0"):
        Evidence(model_of("emax")).plot_evidence()


@pytest.mark.parametrize("bits", [3, 5])
@pytest.mark.parametrize("every", [1, 100])
def test_the_times_of_the_e_value_have_few_significant_bits(bits, every):
    copies = {m << shift for m in range(1, 1 << bits) for shift in range(12)}
    for number in range(1, 3_000):
        assert is_time_of_peak(number * every, every, bits) == (number in copies)
        if every > 1:
            assert not is_time_of_peak(number * every + 1, every, bits)
    assert is_time_of_peak(17 * every, every)
    assert not is_time_of_peak(33 * every, every)


def test_a_region_of_one_number_is_its_interval_as_a_share_of_the_domain():
    model, arms, rewards = log_of("logistic_dose", 400, seed=1)
    evidence = evidence_from_log(model, arms, rewards)
    region, interval = evidence.region(0.9), evidence.interval(0.9)
    assert region.share == pytest.approx((interval.high - interval.low) / 5.0)
    assert (region.confidence, region.n_observations) == (0.9, 400)
    assert (interval.low in region, interval.high + 1e-6 in region) == (True, False)


def test_a_region_without_a_theta_has_no_share(monkeypatch):
    monkeypatch.setattr("globalbandits.evidence.inference.find_hull", lambda *_: None)
    region = Evidence(model_of("emax")).region()
    assert (region.share, region.is_empty) == (0.0, True)


def test_the_end_of_the_domain_is_named_from_thirty_rewards_on():
    model = model_of("pricing")
    for n, end in ((29, ""), (30, "lower")):
        found = evidence_from_log(model, [3] * n, [1.0] * n).against_model()
        assert (found.theta, found.end) == (0.0, end)
    found = evidence_from_log(model, [3, 11] * 20, [0.0] * 40).against_model()
    assert (found.theta, found.end) == (1.0, "upper")
    assert evidence_from_log(*log_of("pricing", 300, seed=1)).against_model().end == ""


def test_arms_seen_are_counted():
    model = model_of("pricing")
    found = evidence_from_log(model, [3, 3, 7, 1], [0.5] * 4).against_model()
    assert (found.n_arms_seen, found.n_observations) == (3, 4)


@pytest.mark.parametrize("size", [-1e-300, 0.5, math.inf])
def test_errors_of_curves_lie_below_a_half(size):
    with pytest.raises(gb.EvidenceError, match="errors must"):
        Evidence(model_of("emax")).contenders(errors=size)
    assert Evidence(model_of("emax")).contenders(errors=0.4999).errors == 0.4999


def test_errors_of_curves_need_one_number_and_no_contexts():
    shop = gb.demand.exponential([2.0, 3.0], level=(0.02, 0.2))
    with pytest.raises(gb.EvidenceError) as caught:
        Evidence(shop).contenders(errors=0.1)
    assert str(caught.value) == "errors must be 0 for a VectorModel, got 0.1"
    model = model_of("emax")
    with pytest.raises(gb.EvidenceError) as caught:
        Evidence(model).contenders(errors=0.1, ranked=model)
    assert str(caught.value) == "errors must be 0 with contexts, got 0.1"


def test_observed_worth_is_that_of_the_mean_reward():
    model = RewardModel(
        lambda theta, p: p * theta - 1,
        [1.0, 2.0, 3.0],
        reward_range=(-1.0, 3.0),
        value=lambda mean, arm: arm * mean**2,
    )
    evidence = evidence_from_log(model, [0, 0, 2], [1.0, 2.0, -1.0])
    np.testing.assert_allclose(evidence.observed_worth(), [1.5**2, np.nan, 3.0])
    found = evidence.observed_bounds(0.9)
    means = evidence._inference().bounds(0.9)
    for arm in range(3):
        worth = (arm + 1) * np.linspace(*means[arm], 65) ** 2
        assert found[arm].tolist() == pytest.approx([worth.min(), worth.max()])
    # Nothing is known of an arm without rewards; zero is among 65 points of its range, nearly.
    assert found[1] == pytest.approx([0.0, 18.0], abs=1e-12)


def test_logs_are_marked_at_times_that_grow_by_a_constant_factor():
    model, arms, rewards = log_of("pricing", 1_000, seed=14)
    times, histograms = evidence_from_log(model, arms, rewards).history()
    marks = {round(1_000 ** (step / 39)) for step in range(40)}
    assert times.tolist() == sorted(marks | {100, 200, 400, 800, 900})
    assert np.array_equal(histograms.sum(axis=(1, 2)), times)


def test_a_reward_with_the_number_of_a_copy_is_taken_out_of_the_largest_e_value():
    """The copy of this moment counts as well: it is the only one that refutes the model."""
    model = model_of("illustration")
    arms, rewards = np.tile([0, 1, 2], 100), np.tile([0.9, 0.75, 0.0], 100)
    evidence = evidence_from_log(model, arms, rewards)
    peak = evidence.state()["peak"]
    evidence.forget(1, 0.75, number=299)
    later = evidence.state()["peak"]
    expected = Inference(model, evidence.counts).rough_against(math.log(2.0), math.inf).certified
    assert later == pytest.approx(expected)
    assert 0.5 * peak < later < peak


def test_merged_evidence_keeps_half_of_the_largest_e_value():
    model = model_of("illustration")
    wrong = evidence_from_log(model, np.tile([0, 1, 2], 100), np.tile([0.9, 0.75, 0.0], 100))
    peak = wrong.state()["peak"]
    other = Evidence(model)
    assert other.merge(wrong).state()["peak"] == pytest.approx(peak - math.log(2.0))
    assert "peak" not in Evidence(model).merge(Evidence(model)).state()
    assert wrong.copy().state() == wrong.state()

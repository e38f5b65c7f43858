import dataclasses
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.evidence import (
    ConfidenceSet,
    Contenders,
    Drift,
    Earnings,
    Interval,
    ModelEvidence,
    evidence_from_log,
)
from globalbandits.evidence.statements import FreeEarnings
from tests.evidence.models import log_of

INTERVAL = Interval(confidence=0.95, low=0.25, high=0.5, slack=0.001, n_observations=1)
MODEL = ModelEvidence(
    log_e_value=math.log(40.0),
    theta=0.25,
    shares=(0.1, 0.9, 0.0),
    arms=(1.5, 2.5, 3.5),
    n_arms_seen=3,
    n_observations=1234,
)
CONTENDERS = Contenders(
    confidence=0.95,
    arms=(0, 2),
    p_values=(0.25, 0.01, 1.0),
    values=(1.5, 2.5, 3.5),
    model_free=False,
    bounds=None,
    n_observations=10,
)
DRIFT = Drift(
    alpha=0.05, log_e_value=math.log(25.0), since=2000, between=(1600, 2200), n_observations=2500
)


def test_statements_print_in_one_line():
    assert str(INTERVAL) == "theta in [0.25, 0.5] (confidence 0.95, 1 observation)"
    assert str(MODEL) == (
        "e-value 40 against the model (p 0.025, least refuted theta 0.25, 1,234 observations)"
    )
    assert str(CONTENDERS) == (
        "2 of 3 arms can be best: 3.5 (p 1), 1.5 (p 0.25) "
        "(confidence 0.95, if the curves are right, 10 observations)"
    )
    assert str(DRIFT) == (
        "theta has changed after about 2,000 observations (between 1,600 and 2,200; "
        "e-value 25, alpha 0.05, 2,500 observations)"
    )


def test_statements_print_what_is_special():
    quiet = dataclasses.replace(DRIFT, log_e_value=0.0, since=None, between=None)
    assert str(quiet) == "no change found (e-value 1, alpha 0.05, 2,500 observations)"
    undated = dataclasses.replace(DRIFT, since=None, between=None)
    assert str(undated).startswith("no constant theta explains the rewards (e-value 25")
    many = dataclasses.replace(
        CONTENDERS, arms=tuple(range(20)), p_values=(0.5,) * 20, values=tuple(range(20))
    )
    assert str(many).endswith(
        "11 (p 0.5), ... (confidence 0.95, if the curves are right, 10 observations)"
    )
    rough = dataclasses.replace(CONTENDERS, errors=0.05)
    assert "confidence 0.95, curves within 0.05, 10 observations" in str(rough)
    assert "by 0.05 of the reward range in its middle" in rough.explain()
    assert "It holds only if the curves do" in CONTENDERS.explain()
    free = dataclasses.replace(CONTENDERS, model_free=True)
    assert "without the model" in str(free)
    assert "its curves are not used" in free.explain()


def test_an_empty_interval_states_that_no_theta_is_left():
    interval = dataclasses.replace(INTERVAL, low=math.nan, high=math.nan)
    assert interval.is_empty
    assert math.isnan(interval.width)
    assert 0.3 not in interval
    assert str(interval) == "theta nowhere (confidence 0.95, 1 observation)"
    assert "No theta is left" in interval.explain()
    assert "one case in 20" in interval.explain()


@pytest.mark.parametrize("statement", [INTERVAL, MODEL, CONTENDERS, DRIFT])
def test_statements_are_frozen_and_state_their_assumptions(statement):
    with pytest.raises(dataclasses.FrozenInstanceError):
        statement.n_observations = 3
    text = statement.explain()
    assert str(statement) in text
    assert "Assumed: rewards lie in the declared range" in text
    assert "look as often as you like" in text


def test_explanations_state_what_does_not_follow():
    assert "no statement about a model that is wrong" in INTERVAL.explain()
    assert "does not show that the model is right" in MODEL.explain()
    assert "Most of it comes from the arms 2.5 90%, 1.5 10%." in MODEL.explain()
    assert "no probability that it is best" in CONTENDERS.explain()
    assert "A wrong model can raise it too" in DRIFT.explain()


def test_numbers_that_follow():
    assert INTERVAL.width == 0.25
    assert 0.25 in INTERVAL
    assert 0.51 not in INTERVAL
    assert not INTERVAL.is_empty
    assert MODEL.e_value == pytest.approx(40.0)
    assert MODEL.p_value == pytest.approx(0.025)
    assert MODEL.refuted()
    assert MODEL.refuted(0.025)
    assert not MODEL.refuted(0.02)
    assert 2 in CONTENDERS
    assert 1 not in CONTENDERS
    assert len(CONTENDERS) == 2
    assert DRIFT.alarm
    assert DRIFT.e_value == pytest.approx(25.0)
    assert DRIFT.p_value == pytest.approx(0.04)


def test_overwhelming_and_absent_evidence():
    huge = dataclasses.replace(MODEL, log_e_value=5000.0)
    assert (huge.e_value, huge.p_value) == (math.inf, 0.0)
    small = dataclasses.replace(MODEL, log_e_value=-3.0)
    assert small.p_value == 1.0
    huge = dataclasses.replace(DRIFT, log_e_value=5000.0)
    assert huge.e_value == math.inf
    assert "e-value above 1e+300, alpha" in str(huge)


@pytest.mark.parametrize("ask", ["interval", "contenders"])
def test_a_confidence_is_not_a_false_alarm_rate(ask):
    evidence = evidence_from_log(*log_of("emax", 5, seed=0))
    with pytest.raises(gb.EvidenceError) as caught:
        getattr(evidence, ask)(0.05)
    assert str(caught.value) == "confidence must be 0.5 or more, got 0.05"
    with pytest.raises(
        gb.EvidenceError, match=r"confidence must lie strictly between 0 and 1, got 1\.0"
    ):
        getattr(evidence, ask)(1.0)


def test_a_false_alarm_rate_is_not_a_confidence():
    evidence = evidence_from_log(*log_of("emax", 5, seed=0))
    for ask in (evidence.drift, evidence.against_model().refuted):
        with pytest.raises(gb.EvidenceError) as caught:
            ask(0.95)
        assert str(caught.value) == "alpha must be 0.5 or less, got 0.95"


def test_more_confidence_gives_larger_sets():
    evidence = evidence_from_log(*log_of("pricing", 300, seed=1))
    widths = [evidence.interval(confidence).width for confidence in (0.5, 0.8, 0.95, 0.999)]
    assert widths == sorted(widths)
    assert len(set(widths)) == 4
    sizes = [len(evidence.contenders(confidence)) for confidence in (0.5, 0.95, 0.999)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_contenders_are_the_best_arms_of_the_interval(confidence):
    evidence = evidence_from_log(*log_of("pricing", 300, seed=2))
    interval, contenders = evidence.interval(confidence), evidence.contenders(confidence)
    thetas = np.linspace(interval.low, interval.high, 3000)
    best = {arm for theta in thetas for arm in evidence.model.best_arms(float(theta))}
    assert best == set(contenders.arms)
    assert [arm for arm, p in enumerate(contenders.p_values) if p > 1 - confidence] == sorted(best)


def test_names_can_be_given_or_left_out():
    evidence = evidence_from_log(*log_of("pricing", 300, seed=3))
    assert evidence.interval(confidence=0.9) == evidence.interval(0.9)
    assert evidence.interval(0.9).confidence == 0.9
    assert evidence.contenders(confidence=0.9) == evidence.contenders(0.9)
    assert evidence.contenders(0.9).confidence == 0.9
    assert evidence.drift(alpha=0.1) == evidence.drift(0.1)
    assert evidence.drift(0.1).alpha == 0.1
    against = evidence.against_model()
    assert against.refuted(alpha=0.1) == against.refuted(0.1)


ASSUMED = (
    "Assumed: rewards lie in the declared range, and each reward's mean given the past is the "
    "model's mean of the arm played. Nothing else: arms may be chosen by any rule, and you may "
    "look as often as you like and stop when you like."
)
FREE = FreeEarnings(
    baseline="old",
    amount=12.5,
    low=-3.0,
    high=30.0,
    se=2.0,
    confidence=0.9,
    n_observations=1_500,
    n_baseline=1_200,
)
EARNINGS = Earnings(
    baseline="old", amount=4.0, low=1.0, high=8.5, confidence=0.95, n_observations=1_500
)
REGION = ConfidenceSet(
    confidence=0.9,
    intervals={"level": (0.1, 0.25), "slope": (-1.0, 2.0)},
    share=0.0123,
    n_observations=2,
    holds=lambda theta: np.bool_(theta > 1),
)


def test_earnings_print_every_case():
    by_rewards = (
        "+12.5 against always 'old' by the rewards alone, of which the baseline has 1,200: "
        "between -3 and +30 (confidence 0.9)"
    )
    assert str(FREE) == by_rewards
    assert FREE.explain() == (
        f"{by_rewards}. No curve is used: it holds at all times at once if rewards lie in the "
        "declared range and the arms' means do not change."
    )
    by_curves = (
        "+4 against always 'old' over 1,500 decisions: between +1 and +8.5 (confidence 0.95)"
    )
    assert str(EARNINGS) == by_curves
    both = dataclasses.replace(EARNINGS, model_free=dataclasses.replace(FREE, amount=12.5))
    assert str(both) == f"{by_curves}; {by_rewards}"
    apart = dataclasses.replace(EARNINGS, model_free=dataclasses.replace(FREE, amount=12.6))
    assert str(apart).endswith("(confidence 0.9). Curves and rewards disagree: trust the rewards")
    gone = dataclasses.replace(EARNINGS, low=math.nan, high=math.nan)
    assert str(gone) == (
        "nothing can be said of 1,500 decisions: the model is refuted, and 'old' has no rewards "
        "of its own"
    )
    only = dataclasses.replace(gone, model_free=FREE)
    assert str(only) == (
        f"{by_rewards} over 1,500 decisions; the model is refuted, so its curves are not used"
    )
    for statement in (EARNINGS, both, apart, gone, only):
        assert statement.explain() == (
            f"{statement}. By the curves, it is what the arms played are worth at the least "
            "refuted parameter, less what the baseline would have been worth as often; the bounds "
            "are over all parameters that are not excluded. It holds at all times at once if the "
            "model's curves are right and do not move."
        )


@pytest.mark.parametrize(
    ("amount", "disagrees"), [(12.5, False), (12.6, True), (-3.0, False), (-3.1, True)]
)
def test_amounts_farther_than_two_standard_errors_from_the_interval_disagree(amount, disagrees):
    found = dataclasses.replace(EARNINGS, model_free=dataclasses.replace(FREE, amount=amount))
    assert found.disagrees == disagrees
    assert not dataclasses.replace(found, low=math.nan).disagrees
    assert not EARNINGS.disagrees


def test_earnings_per_decision():
    assert EARNINGS.per_decision == 4.0 / 1_500
    assert dataclasses.replace(EARNINGS, n_observations=1).per_decision == 4.0
    assert math.isnan(dataclasses.replace(EARNINGS, n_observations=0).per_decision)


def test_intervals_and_sets_print_every_case():
    meaning = (
        "The chance that the true theta is ever outside such an interval, at any time from the "
        "first reward on, is at most 0.05."
    )
    last = f"{ASSUMED} It is no statement about a model that is wrong."
    assert INTERVAL.explain() == f"{INTERVAL}. {meaning} {last}"
    empty = dataclasses.replace(INTERVAL, low=math.nan, high=math.nan)
    assert empty.explain() == (
        f"{empty}. {meaning} No theta is left: either the model is wrong, or theta has moved, or "
        f"this is the one case in 20. {last}"
    )
    assert 0.25 in INTERVAL
    assert 0.5 in INTERVAL
    assert 0.2499 not in INTERVAL
    assert str(REGION) == (
        "level in [0.1, 0.25], slope in [-1, 2]; 1.23% of the box (confidence 0.9, 2 observations)"
    )
    outside = (
        "The chance that the true numbers are ever outside such a set, at any time from the first "
        "reward on, is at most 0.1. The intervals are its projections, and hold together with the "
        "same confidence."
    )
    assert REGION.explain() == f"{REGION}. {outside} {last}"
    assert not REGION.is_empty
    assert (2 in REGION, 1 in REGION) == (True, False)
    nothing = ConfidenceSet(
        confidence=0.9, intervals={}, share=0.0, n_observations=1, holds=lambda theta: False
    )
    assert nothing.is_empty
    assert str(nothing) == "nowhere; 0.00% of the box (confidence 0.9, 1 observation)"
    assert nothing.explain() == (
        f"{nothing}. {outside} Nothing is left: the model is wrong, or the numbers have "
        f"changed. {last}"
    )


def test_evidence_against_the_model_prints_every_case():
    first = (
        "If the model is right the e-value ever exceeds 20 with probability at most 1/20, and 100 "
        f"with probability at most 1/100. {ASSUMED}"
    )
    last = "A small e-value does not show that the model is right."
    shown = "Most of it comes from the arms 2.5 90%, 1.5 10%."
    assert MODEL.explain() == f"{MODEL}. {first} {shown} {last}"
    many = dataclasses.replace(MODEL, shares=(0.1, 0.2, 0.3, 0.4), arms=("a", "b", "c", "d"))
    assert many.explain() == (
        f"{many}. {first} Most of it comes from the arms 'd' 40%, 'c' 30%, 'b' 20%. {last}"
    )
    odd = dataclasses.replace(
        MODEL,
        log_e_value=math.log(2.0),
        peak_log_e_value=math.log(50.0),
        theta={"level": 0.125, "slope": 2.0},
        shares=(0.0, 0.0, 0.0),
        n_arms_seen=1,
        end="upper",
    )
    assert str(odd) == (
        "e-value 2 against the model, at its largest 50 (p 0.02, least refuted level 0.125, "
        "slope 2 at the upper end of the domain, 1,234 observations)"
    )
    assert odd.explain() == (
        f"{odd}. {first} The largest e-value counts: rewards that came later fit some theta on "
        "average, but no theta explained the earlier ones. The least refuted theta lies at the "
        "upper end of the domain: the true one may lie beyond it. Widen the domain. Rewards of a "
        "single arm fit some theta: play at least two arms now and then, or the model can never be "
        "refuted. A policy that plays one arm nearly always sees little of what is wrong: several "
        f"numbers fit the rewards of as many arms. {last}"
    )
    assert "single arm" not in dataclasses.replace(odd, n_arms_seen=2).explain()
    assert (odd.e_value, odd.peak_e_value) == (pytest.approx(2.0), pytest.approx(50.0))
    assert odd.p_value == pytest.approx(0.02)
    assert odd.refuted(0.03)
    assert not odd.refuted(0.01)


@pytest.mark.parametrize(
    ("now", "peak", "largest"),
    [(2.0, 2.0, False), (2.0, 2.1, True), (-1.0, 0.0, False), (-1.0, 0.1, True), (3.0, 2.0, False)],
)
def test_the_largest_e_value_is_shown_if_it_was_larger_and_above_one(now, peak, largest):
    found = dataclasses.replace(MODEL, log_e_value=now, peak_log_e_value=peak)
    assert (", at its largest " in str(found)) == largest
    assert ("The largest e-value counts" in found.explain()) == largest


def test_contenders_and_drift_print_every_case():
    first = (
        "The chance that the best arm is ever missing is at most 0.05. The p-value of an arm is "
        "no probability that it is best."
    )
    assert CONTENDERS.explain() == (
        f"{CONTENDERS}. {first} {ASSUMED} It holds only if the curves do: curves that are slightly "
        "wrong can exclude the best arm long before they are refuted. If you are not certain of "
        "them, ask with errors=0.05."
    )
    rough = dataclasses.replace(CONTENDERS, errors=0.05)
    assert rough.explain() == (
        f"{rough}. {first} A mean may differ from its curve in either direction: by 0.05 of the "
        f"reward range in its middle, and by as much in log-odds elsewhere. {ASSUMED}"
    )
    free = dataclasses.replace(CONTENDERS, model_free=True)
    assert free.explain() == (
        f"{free}. {first} The model was refuted, so its curves are not used: what is said holds if "
        "rewards lie in the declared range and the arms' means do not change."
    )
    for n_arms, dots in ((12, False), (13, True)):
        arms = tuple(range(n_arms))
        shown = dataclasses.replace(CONTENDERS, arms=arms, p_values=(0.5,) * n_arms, values=arms)
        assert ("11 (p 0.5), ..." in str(shown)) == dots
        assert ("11 (p 0.5) (confidence" in str(shown)) != dots
    assert DRIFT.explain() == (
        f"{DRIFT}. While theta stays the same, the chance of ever raising this alarm is at most "
        f"0.05. {ASSUMED} A wrong model can raise it too: ask for the evidence against the model "
        "on the rewards since the change. The date is an estimate."
    )


def test_limits_are_reached_by_equality():
    threshold = -math.log(0.05)
    exactly = dataclasses.replace(DRIFT, log_e_value=threshold)
    below = dataclasses.replace(DRIFT, log_e_value=math.nextafter(threshold, 0.0))
    assert (exactly.alarm, below.alarm) == (True, False)
    for name in ("log_e_value", "peak_log_e_value"):
        none = dataclasses.replace(MODEL, log_e_value=0.0, peak_log_e_value=0.0)
        assert dataclasses.replace(none, **{name: threshold}).refuted()
        assert not dataclasses.replace(none, **{name: math.nextafter(threshold, 0.0)}).refuted()
    assert dataclasses.replace(DRIFT, log_e_value=-2.0).p_value == 1.0
    largest = math.log(1e300)
    assert dataclasses.replace(DRIFT, log_e_value=largest).e_value == math.inf
    just = dataclasses.replace(DRIFT, log_e_value=math.nextafter(largest, 0.0))
    assert just.e_value == pytest.approx(1e300)
    assert "e-value 1e+300, alpha" in str(just)
    assert "e-value above 1e+300, alpha" in str(dataclasses.replace(DRIFT, log_e_value=largest))
    evidence = evidence_from_log(*log_of("emax", 5, seed=0))
    assert evidence.interval(0.5).confidence == 0.5
    assert evidence.drift(0.5).alpha == 0.5


def test_statements_on_pages_do_not_repeat_their_sentence():
    page = INTERVAL._repr_html_()
    assert page.count("theta in [0.25, 0.5]") == 1
    assert page.index("theta in") < page.index("The chance that")

import dataclasses
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.evidence import Contenders, Drift, Interval, ModelEvidence, evidence_from_log
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


def test_an_empty_interval_says_that_no_theta_is_left():
    interval = dataclasses.replace(INTERVAL, low=math.nan, high=math.nan)
    assert interval.is_empty
    assert math.isnan(interval.width)
    assert 0.3 not in interval
    assert str(interval) == "theta nowhere (confidence 0.95, 1 observation)"
    assert "No theta is left" in interval.explain()
    assert "one case in 20" in interval.explain()


@pytest.mark.parametrize("statement", [INTERVAL, MODEL, CONTENDERS, DRIFT])
def test_statements_are_frozen_and_say_what_they_assume(statement):
    with pytest.raises(dataclasses.FrozenInstanceError):
        statement.n_observations = 3
    text = statement.explain()
    assert str(statement) in text
    assert "Assumed: rewards lie in the declared range" in text
    assert "look as often as you like" in text


def test_explanations_warn_of_what_is_not_said():
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

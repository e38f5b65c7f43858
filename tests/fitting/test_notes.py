"""Remarks that need a fit of a special kind."""

import numpy as np
import pytest

from globalbandits.fitting import histories
from globalbandits.fitting.assessment import notes, standard_errors
from globalbandits.fitting.assessment.notes import notes_on_fit
from globalbandits.fitting.assessment.standard_errors import bootstrap_errors
from globalbandits.fitting.assessment.value_of_information import arm_facts
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation import factor_model
from globalbandits.fitting.estimation.factor_model import (
    fit_independent,
    fit_shared,
    initial_populations,
    run_em,
)
from globalbandits.fitting.estimation.offered_arms import arm_scale
from tests.fitting.panels import panel_of


def test_a_bias_that_has_not_settled_is_named(monkeypatch):
    panel = panel_of(histories.exponential_demand(30, 140, seed=1))
    scale, worth = arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0))
    hasty = run_em(panel, scale, initial_populations(panel, 1)[0], 1)
    assert notes_on_fit(panel, scale, hasty, hasty, worth) == []
    monkeypatch.setattr(notes, "MAX_STEPS", 1)
    (note,) = notes_on_fit(panel, scale, hasty, hasty, worth)
    assert note.startswith("the bias still moves after 1 steps, from 0.")


def test_a_fit_that_used_all_steps_is_usually_settled():
    """At 150 steps the bias hardly moves: no remark."""
    panel = panel_of(histories.exponential_demand(50, 140, seed=100, rho=0.02))
    scale, worth = arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0))
    fitted = fit_shared(panel, scale)._replace(n_steps=150)
    assert notes_on_fit(panel, scale, fitted, fitted, worth) == []


def test_errors_of_large_panels_come_from_some_groups(monkeypatch):
    panel = panel_of(histories.exponential_demand(160, 35, seed=1, rho=0.02))
    scale, worth = arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0))
    fits = fit_shared(panel, scale), fit_independent(panel, scale)

    def errors():
        return bootstrap_errors(panel, scale, worth, *fits, lambda refit: (refit, worth), seed=1)

    whole = errors()
    monkeypatch.setattr(standard_errors, "MAX_GROUPS_IN_FULL", 100)
    monkeypatch.setattr(factor_model, "SAMPLED_GROUPS", 40)
    some = errors()
    # Of 40 groups they would be twice as large; they are made as small as those of 160.
    assert some.bias_scale == pytest.approx(whole.bias_scale, rel=0.7)
    assert some != whole


def test_flat_arms_are_named():
    panel = panel_of(histories.paper(30, 140, seed=1))
    scale, worth = arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0))
    fitted = fit_shared(panel, scale)
    flat = fitted.with_curves(fitted.a, fitted.c * [1.0, 1e-6, 1.0])
    assert notes_on_fit(panel, scale, fitted, fitted, worth) == []
    assert notes_on_fit(panel, scale, fitted, flat, worth) == [
        "arm 1.0 is flat: its mean hardly depends on the group, so it tells nothing"
    ]


def test_a_constant_arm_carries_no_information():
    rng = np.random.default_rng(3)
    first = rng.uniform(0.1, 0.9, 60)
    curves = np.column_stack([first, np.full(60, 0.5), 1 - first])
    history = histories.draw(np.zeros(60), curves, (1, 2, 3), 600, rng)
    panel = panel_of(history)
    fitted = fit_shared(panel, arm_scale(panel.arms, labels=True))
    information = arm_facts(fitted, Worth(panel.arms, (0.0, 1.0))).information
    assert information[1] < 0.1 < 0.4 < information[[0, 2]].min()

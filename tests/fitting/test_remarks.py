"""Remarks that need a fit of a special kind."""

import pytest

from globalbandits.fitting import bootstrap, factor, histories, remarks
from globalbandits.fitting.arms import arm_scale
from globalbandits.fitting.bootstrap import bootstrap_errors
from globalbandits.fitting.factor import climb, fit_independent, fit_shared
from globalbandits.fitting.remarks import about_fit
from globalbandits.fitting.start import starts
from globalbandits.fitting.worth import Worth
from tests.fitting.panels import panel_of


def test_a_bias_that_has_not_settled_is_named(monkeypatch):
    panel = panel_of(histories.expo(30, 140, seed=1))
    scale, worth = arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0))
    hasty = climb(panel, scale, starts(panel, 1)[0], 1)
    assert about_fit(panel, scale, hasty, hasty, worth) == []
    monkeypatch.setattr(remarks, "MOST_STEPS", 1)
    (note,) = about_fit(panel, scale, hasty, hasty, worth)
    assert note.startswith("the bias still moves after 1 steps, from 0.")


def test_a_fit_that_used_all_steps_is_usually_settled():
    """At 150 steps the bias hardly moves: no remark."""
    panel = panel_of(histories.expo(50, 140, seed=100, rho=0.02))
    scale, worth = arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0))
    fitted = fit_shared(panel, scale)._replace(n_steps=150)
    assert about_fit(panel, scale, fitted, fitted, worth) == []


def test_errors_of_large_panels_come_from_some_groups(monkeypatch):
    panel = panel_of(histories.expo(160, 35, seed=1, rho=0.02))
    scale, worth = arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0))
    fits = fit_shared(panel, scale), fit_independent(panel, scale)

    def errors():
        return bootstrap_errors(panel, scale, worth, *fits, lambda refit: (refit, worth), seed=1)

    whole = errors()
    monkeypatch.setattr(bootstrap, "MANY_GROUPS", 100)
    monkeypatch.setattr(factor, "SAMPLED_GROUPS", 40)
    some = errors()
    # Of 40 groups they would be twice as large; they are made as small as those of 160.
    assert some.bias_scale == pytest.approx(whole.bias_scale, rel=0.7)
    assert some != whole

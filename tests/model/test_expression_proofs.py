"""Derivatives of formulas, enclosures of them, and what they prove."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.formulas import Expression
from globalbandits.model.formulas.proof import enclose_steps

SMOOTH = [
    "arm * (1 - arm*theta)**2",
    "exp(-arm*theta) / (1 + theta)",
    "1 / (1 + (theta/arm)**2.5)",
    "arm**exp(theta)",
    "theta**arm * log(theta + 2)",
    "tanh(theta) * expit(3*theta - arm) - theta/7",
    "sqrt(theta + arm) + log1p(theta) + expm1(theta/3)",
    "(2 - theta)**3 / (theta + arm)**-2",
    "-theta**2 + 2**theta",
    "exprel(3*theta) / exprel(-arm*theta) + exprel(theta - 1)",
    "theta - theta",
    "arm * 3",
]
KINKED = ["abs(theta - 0.4) + min(theta, arm) - max(theta**2, 0.3)", "max(theta, arm, 0.9) * theta"]


@pytest.mark.parametrize("text", SMOOTH + KINKED)
def test_slopes_are_derivatives(text):
    formula = Expression(text)
    theta = np.linspace(0.06, 1.94, 41)  # except at the kinks
    step, arm = 1e-6, 0.73
    found = formula.slope.run({"theta": theta, "arm": np.array(arm)})
    expected = (formula(theta + step, arm) - formula(theta - step, arm)) / (2 * step)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(
    text=st.sampled_from([*SMOOTH, *KINKED, "theta**3", "theta**4", "theta**-3", "1/theta"]),
    low=st.floats(-2.0, 2.0),
    width=st.floats(0.0, 2.0),
    arm=st.floats(-1.0, 2.0),
    slope=st.booleans(),
)
def test_an_enclosure_holds_every_value(text, low, width, arm, slope):
    formula = Expression(text)
    tape = formula.slope if slope else formula._tape
    theta = np.linspace(low, low + width, 201)
    values = tape.run({"theta": theta, "arm": np.array(arm)})
    ends = np.array(low), np.array(theta[-1])
    numbers = {"theta": ends, "arm": (np.array(arm), np.array(arm))}
    ((least, most),) = enclose_steps(tape.steps, numbers, [len(tape.steps) - 1])
    defined = values[np.isfinite(values)]
    # Rounding of the values themselves, which the enclosure of the true value does not cover.
    slack = 1e-12 * np.abs(defined)
    assert (defined >= least - slack).all()
    assert (defined <= most + slack).all()


@pytest.mark.parametrize(
    ("text", "arms", "domain"),
    [
        ("arm * (1 - arm*theta)**2", (0.4, 0.95, 1.0), (0.0, 1.0)),
        ("arm**exp(theta)", (0.05, 0.5), (-1.5, 1.5)),
        ("1/(1 + (theta/arm)**2.5)", (1.0, 10.0), (0.5, 20.0)),
        ("expit(arm*theta - 3)", (1.0, 2.0), (0.0, 3.0)),
        ("theta**7", (1.0,), (0.0, 1.0)),
        ("sqrt(theta) * arm", (1.0,), (0.0, 1.0)),
        ("max(theta*arm, 0.3*theta)", (0.2, 0.5), (0.0, 1.0)),
        ("exprel(arm*theta)", (0.5, -2.0), (-1.0, 1.0)),
        ("max(1 - arm*theta, 0)**1.5", (1.0, 49.0), (0.0, 1 / 49)),  # 0 at the end of the domain
    ],
)
def test_curves_in_use_are_proved_monotone(text, arms, domain):
    assert Expression(text).unseen_width(arms, domain) == 0.0


def test_what_cannot_be_proved_is_stated_as_resolution():
    # The slope is 0 at the end of the domain, which no enclosure distinguishes from a negative one.
    width = Expression("theta * (1 - theta/2)").unseen_width((1.0,), (0.0, 1.0))
    assert 0.0 < width < 1e-11
    model = gb.RewardModel("theta * (1 - theta/2) * arm", [1.0])
    assert 0.0 < model.resolution < 1e-11
    # An endless number of cells stays open: nothing is claimed beyond the grid.
    tangle = "theta + (theta - theta)*exp(300*theta)"
    assert Expression(tangle).unseen_width((1.0,), (0.0, 1.0)) == np.inf
    assert gb.RewardModel(f"({tangle}) * arm", [0.5]).resolution == 1 / 4096


def test_a_flat_stretch_at_an_end_is_not_proved_away():
    for text in ("max(theta, 1e-12)", "max(theta, 0.1)", "min(theta, 1 - 1e-12)"):
        width = Expression(text).unseen_width((1.0,), (0.0, 1.0))
        assert width >= 0.9e-12


@pytest.mark.parametrize(
    "text",
    [
        "theta/2 - 1e-12/(theta - 0.3773101)",  # a pole: it rises on both sides
        "theta/2 - 1e-12/(theta - 0.5)",  # at the edge of cells
        "theta/2 + 0*log(abs(theta - 0.3773101) - 1e-9)",  # not defined in between
        "theta/2 + 0.1*expit(log(abs(theta - 0.3773101) - 1e-9))**0",
    ],
)
def test_a_place_where_the_mean_is_not_defined_is_not_proved_away(text):
    assert Expression(text).unseen_width((1.0,), (0.0, 1.0)) > 0.0


def test_a_model_with_such_a_place_has_a_resolution():
    model = gb.RewardModel("arm * (theta/2 + 0*log(abs(theta - 0.3773101) - 1e-9))", [0.5])
    assert np.isnan(model.means(0.3773101))
    assert model.resolution > 2e-9


def test_a_dip_that_no_grid_meets_is_found():
    # 1e-7 wide and far from every point that the analysis would look at.
    dip = "theta + 3e-7 * tanh((0.333333777 - theta) / 1e-7)"
    with pytest.raises(ModelError, match=r"arm 0.5 must be strictly monotone .* falls at 0\.33333"):
        gb.RewardModel(f"0.1 + arm * ({dip})", [0.5])
    gb.RewardModel(f"0.1 + arm * ({dip})", [0.5], monotone=False)

"""Figures of one panel can be drawn into axes of the user's."""

import inspect

import pytest
from matplotlib.figure import Figure

import globalbandits as gb

SEVERAL_PANELS = {"plot_evidence", "plot_pulls", "plot_selection"}
SEVERAL_PANELS_OF_FIT = {"plot"}
KINDS = (gb.RewardModel, gb.Learner, gb.Evidence, gb.Fit, gb.SimulationResult)


@pytest.fixture(scope="module")
def model():
    return gb.demand.linear_power([0.4, 0.6, 0.8], cost=0.1)


@pytest.fixture(scope="module")
def result(model):
    return gb.simulate(gb.Environment(model, 0.4), [gb.WAGP()], horizon=20, runs=3)


@pytest.fixture
def axes():
    return Figure().subplots(1, 2)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_plot_of_one_panel_accepts_axes(kind):
    plots = [name for name in dir(kind) if name.startswith("plot")]
    assert plots
    for name in set(plots) - SEVERAL_PANELS - (SEVERAL_PANELS_OF_FIT if kind is gb.Fit else set()):
        assert "ax" in inspect.signature(getattr(kind, name)).parameters, name


def test_a_model_draws_what_decisions_are_worth(model, axes):
    figure = model.plot(theta=0.4, ax=axes[1])
    assert figure is axes[1].figure
    assert len(figure.axes) == 2
    assert axes[1].get_ylabel() == "worth of a decision"
    assert axes[1].get_legend() is not None
    assert not axes[0].lines
    assert len(model.plot().axes) == 2  # its own figure has a second panel with the means


def test_a_result_draws_regret_and_estimates(result, axes):
    assert result.plot_regret(ax=axes[0]) is result.plot_estimate(ax=axes[1])
    assert axes[0].get_ylabel() == "cumulative regret"
    assert axes[1].get_ylabel() == "parameter θ"


def test_the_nearest_edge_is_at_the_suboptimality_distance(model):
    for theta in (0.05, 0.4, 0.7):
        edge = model.nearest_edge(theta)
        assert abs(edge - theta) == pytest.approx(model.suboptimality_distance(theta), abs=1e-12)
    alone = gb.demand.linear_power([0.4])
    assert alone.nearest_edge(0.4) is None

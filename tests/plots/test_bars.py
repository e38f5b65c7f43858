import numpy as np
import pytest

from globalbandits.plots import interval_figure, share_figure


def test_shares_have_a_panel_a_policy_and_dark_best_arms():
    figure = share_figure(
        {"WAGP": [0.013, 0.817, 0.17], "UCB1": [0.3, 0.3, 0.4]},
        ["a", "b", "c"],
        best=[1],
        xlabel="price",
        title="Shares",
    )
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["WAGP", "UCB1"]
    bars = figure.axes[0].patches
    assert [bar.get_height() for bar in bars] == pytest.approx([1.3, 81.7, 17.0])
    assert [text.get_text() for text in figure.axes[0].texts] == ["1.3", "82", "17"]
    colors = [bar.get_facecolor() for bar in bars]
    assert colors[0] == colors[2] != colors[1]
    assert figure.axes[-1].get_xlabel() == "price (dark: best)"
    assert [label.get_text() for label in figure.axes[-1].get_xticklabels()] == ["a", "b", "c"]


def test_one_policy_and_no_best_arm_also_work():
    figure = share_figure({"WAGP": [0.5, 0.5]}, ["a", "b"])
    assert figure.axes[0].get_xlabel() == "arm"


def test_intervals_and_printed_numbers_are_where_they_should_be():
    figure = interval_figure(
        ["WAGP", "UCB1"],
        [1.5, 160.0],
        low=[1.0, 150.0],
        high=[2.5, 175.0],
        xlabel="regret",
        references={1: 165.0},
        log_x=True,
    )
    (axes,) = figure.axes
    (segments,) = [c.get_segments() for c in axes.collections]
    assert np.array(segments)[:, :, 0] == pytest.approx(np.array([[1.0, 2.5], [150.0, 175.0]]))
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["paper"]
    (printed,) = [line for line in axes.lines if line.get_label() == "paper"]
    assert list(printed.get_xdata()) == [165.0]
    low, high = sorted(axes.get_ylim())
    assert low < 0 < high


def test_there_is_no_legend_without_printed_numbers():
    figure = interval_figure(["WAGP"], [1.5], low=[1.0], high=[2.0], xlabel="regret")
    assert figure.axes[0].get_legend() is None

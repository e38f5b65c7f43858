"""Figures of a history: what is drawn is what was given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from globalbandits.plots import (
    Cells,
    Line,
    group_curves_figure,
    group_intervals_figure,
    group_regret_figure,
)
from globalbandits.plots.groups import MAX_GROUPS
from globalbandits.plots.labels import short_label

THETA = np.linspace(0, 1, 5)
CURVES = np.stack([THETA, 1 - THETA], axis=1)
CELLS = Cells(
    np.array([0.9, 0.1, 0.5]),
    np.array([[0.8, 0.2], [0.1, 0.9], [0.5, 0.4]]),
    np.array([[9.0, 0.0], [1.0, 4.0], [0.0, 16.0]]),
)


def test_dots_are_the_cells_that_were_tried():
    figure = group_curves_figure(THETA, CURVES, [0.1, 0.2], CELLS, ["a", "b"], limits=(0, 1))
    first, second = (
        each for each in figure.axes[0].collections if each.get_offsets().shape[0] == 2
    )
    assert first.get_offsets().tolist() == [[0.1, 0.1], [0.9, 0.8]]
    assert second.get_offsets().tolist() == [[0.1, 0.9], [0.5, 0.4]]
    assert second.get_sizes()[1] == pytest.approx(26.0)  # the largest count of all
    assert first.get_sizes()[0] < first.get_sizes()[1]


def test_bands_end_where_rewards_do():
    figure = group_curves_figure(THETA, CURVES, [0.1, 0.2], CELLS, ["a", "b"], limits=(0, 1))
    bands = [each for each in figure.axes[0].collections if "FillBetween" in type(each).__name__]
    assert len(bands) == 2
    heights = np.concatenate([band.get_paths()[0].vertices[:, 1] for band in bands])
    assert heights.min() == 0.0
    assert heights.max() == 1.0


def test_groups_rise_and_are_coloured_by_their_best_arm():
    figure = group_intervals_figure(
        ["x", "y", "z"], [0.5, 0.0, 0.2], [0.6, 0.1, 0.4], [0.7, 0.2, 0.9],
        np.array([1, 0, 1]), ["a", "b", "never"],
    )  # fmt: skip
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["y", "z", "x"]
    points = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert points == {"a": [[0.1, 0.0]], "b": [[0.4, 1.0], [0.6, 2.0]]}


def test_many_groups_are_thinned_out_with_a_note():
    n = 2 * MAX_GROUPS
    theta = np.random.default_rng(0).random(n)
    figure = group_intervals_figure(
        [str(i) for i in range(n)], theta, theta, theta, np.zeros(n, int), ["a"]
    )
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == f"{MAX_GROUPS} of {n} groups"
    assert len(axes.lines[0].get_xdata()) == MAX_GROUPS
    assert axes.lines[0].get_xdata()[[0, -1]].tolist() == [theta.min(), theta.max()]
    cells = Cells(theta, theta[:, None], np.ones((n, 1)))
    drawn = group_curves_figure(THETA, CURVES[:, :1], [0.1], cells, ["a"])
    assert drawn.axes[0].get_title(loc="left") == f"{MAX_GROUPS} of {n} groups"


def test_a_legend_of_long_names_stays_in_the_figure():
    n_arms = 7
    cells = Cells(np.array([0.5]), np.full((1, n_arms), 0.5), np.ones((1, n_arms)))
    curves = np.linspace([0.1] * n_arms, [0.9] * n_arms, 5)
    names = [short_label(f"a long name of an arm without an end, number {k}") for k in range(7)]
    figure = group_curves_figure(np.linspace(0, 1, 5), curves, [0.1] * n_arms, cells, names)
    figure.draw_without_rendering()
    legend = figure.axes[0].get_legend().get_window_extent()
    assert figure.bbox.x0 <= legend.x0 < legend.x1 <= figure.bbox.x1
    assert {text.get_text()[-3:] for text in figure.axes[0].get_legend().get_texts()} == {
        f"r {k}" for k in range(7)
    }


def test_break_even_marks_lie_on_their_lines():
    lines = [
        Line("WAGP", [1, 10, 100], [1, 2, 20]),
        Line("alone", [1, 100], [1, 9], reference=True),
    ]
    figure = group_regret_figure(lines, {"WAGP": 10.0})
    marks = [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert marks[0].get_xydata().tolist() == [[10.0, 2.0]]
    assert marks[0].get_color() == figure.axes[0].lines[0].get_color()
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert texts == ["WAGP", "alone", "break-even"]


def test_given_axes_are_drawn_into():
    own, axes = plt.subplots()
    try:
        lines = [Line("WAGP", [1, 10], [1, 2])]
        assert group_regret_figure(lines, {}, axes=axes) is own
        assert [line.get_label() for line in axes.lines] == ["WAGP"]
    finally:
        plt.close(own)


def test_what_loses_much_more_leaves_the_picture():
    lines = [Line("good", [1, 100], [1, 10]), Line("bad", [1, 100], [1, 1_000])]
    assert group_regret_figure(lines, {}).axes[0].get_ylim() == pytest.approx((0.0, 42.0))
    near = [Line("good", [1, 100], [1, 10]), Line("fair", [1, 100], [1, 30])]
    assert group_regret_figure(near, {}).axes[0].get_ylim() == pytest.approx((0.0, 31.5))


@pytest.mark.filterwarnings("error")
def test_where_nothing_is_lost_the_reference_is_still_seen():
    none = Line("a", [1, 10], [0, 0], reference=True)
    alone = Line("b", [1, 10], [1, 20], reference=True)
    far = Line("c", [1, 10], [1, 300])
    for lines, top in (([none, alone, far], 21.0), ([none], 1.0)):
        assert group_regret_figure(lines, {}).axes[0].get_ylim() == pytest.approx((0.0, top))


def test_of_many_arms_the_ends_and_the_middle_are_named():
    labels = [f"arm {number}" for number in range(20)]
    cells = Cells(np.array([0.5]), np.full((1, 20), 0.5), np.ones((1, 20)))
    curves = np.tile(THETA[:, None], (1, 20))
    figure = group_curves_figure(THETA, curves, np.full(20, 0.1), cells, labels)
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert texts == ["arm 0", "arm 10", "arm 19"]

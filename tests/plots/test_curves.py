"""The model figure shows what it is given."""

import math

import numpy as np
import pytest

from globalbandits.plots import Band, Mark, model_figure
from globalbandits.plots.model_curves import MAX_CURVES

THETA = np.linspace(0.0, 1.0, 201)
FUNCTIONS = (1 - np.sqrt(THETA), 0.8 * THETA, THETA**2)
EDGE = ((-1 + math.sqrt(1 + 4 * 0.8)) / 1.6) ** 2  # 1 - sqrt(theta) = 0.8 theta
BANDS = [Band(0.0, EDGE, (0,)), Band(EDGE, 0.8, (1,)), Band(0.8, 1.0, (2,))]
LABELS = ["first", "second", "third"]


def draw(**options):
    return model_figure(THETA, np.stack(FUNCTIONS, axis=1), BANDS, LABELS, **options)


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def legend(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def curve(figure, label):
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == label]
    return line


def test_curves_envelope_and_regions_are_drawn():
    figure = draw(title="Three arms")
    assert legend(figure) == ["best", *LABELS]
    assert texts(figure) == LABELS
    assert np.array_equal(curve(figure, "third").get_ydata(), FUNCTIONS[2])
    assert np.array_equal(curve(figure, "best").get_ydata(), np.max(FUNCTIONS, axis=0))
    assert figure.axes[0].get_title(loc="left") == "Three arms"


def test_lines_differ_without_colour():
    figure = draw()
    dashes = {str(curve(figure, label)._unscaled_dash_pattern) for label in LABELS}
    assert len(dashes) == 3


def test_the_gap_and_the_distance_are_drawn_to_scale():
    mark = Mark(theta=0.5, best=0.4, gap=0.4 - (1 - math.sqrt(0.5)), edge=EDGE)
    figure = draw(mark=mark)
    assert r"$\delta_{\min}$ = 0.107" in texts(figure)
    assert rf"$\Delta_{{\min}}$ = {0.5 - EDGE:.3g}" in texts(figure)
    spans = [text for text in figure.axes[0].texts if getattr(text, "arrow_patch", None)]
    gap, distance = ((span.xyann, span.xy) for span in spans)
    assert gap == ((0.5, mark.best), (0.5, mark.best - mark.gap))
    assert (distance[0][0], distance[1][0]) == (EDGE, 0.5)
    assert "θ = 0.5" in legend(figure)


def test_nothing_is_drawn_for_a_gap_or_an_edge_there_is_not():
    figure = draw(mark=Mark(theta=0.5, best=0.4, gap=math.nan, edge=math.nan))
    assert texts(figure) == LABELS


@pytest.mark.parametrize("theta", [0.0, 0.01, 0.45, 0.79, 1.0])
@pytest.mark.parametrize("gap", [1e-5, 0.2])
def test_the_texts_of_a_mark_stay_inside_the_axes(theta, gap):
    best = max(1 - math.sqrt(theta), 0.8 * theta, theta**2)
    figure = draw(mark=Mark(theta=theta, best=best, gap=gap, edge=EDGE))
    figure.draw_without_rendering()
    frame = figure.axes[0].get_window_extent()
    for text in figure.axes[0].texts:
        if text.get_text().startswith("$"):
            box = text.get_window_extent()
            assert box.x0 >= frame.x0
            assert box.x1 <= frame.x1
            assert box.y0 >= frame.y0
            assert box.y1 <= frame.y1


def test_an_arm_that_is_never_best_is_labelled_so():
    means = np.stack([THETA, THETA / 2], axis=1)
    figure = model_figure(THETA, means, [Band(0.0, 1.0, (0,))], ["up", "low"])
    assert legend(figure) == ["best", "up", "low (never best)"]


def test_arms_that_share_a_region_are_both_named():
    means = np.stack([THETA, THETA], axis=1)
    figure = model_figure(THETA, means, [Band(0.0, 1.0, (0, 1))], ["one", "two"])
    assert texts(figure) == ["one = two"]


def test_narrow_regions_are_labelled_upright_and_very_narrow_ones_not():
    bands = [Band(0.0, 0.5, (0,)), Band(0.5, 0.53, (1,)), Band(0.53, 0.535, (2,))]
    figure = model_figure(THETA, np.stack(FUNCTIONS, axis=1), bands, LABELS)
    labels = figure.axes[0].texts
    assert [(text.get_text(), text.get_rotation()) for text in labels] == [
        ("first", 0.0),
        ("second", 90.0),
    ]


@pytest.mark.parametrize(("n_arms", "text"), [(20, "20 arms"), (5000, "40 of 5,000 arms")])
def test_many_arms_are_thinned_out_with_a_note_in_the_legend(n_arms, text):
    slopes = np.linspace(0.1, 1.0, n_arms)
    figure = model_figure(
        THETA, np.outer(THETA, slopes), [Band(0.0, 1.0, (n_arms - 1,))], list(map(str, slopes))
    )
    assert legend(figure) == ["best", text]
    curves = [line for line in figure.axes[0].lines if len(line.get_xdata()) == len(THETA)]
    assert len(curves) == 1 + min(n_arms, MAX_CURVES)


def test_worth_is_drawn_next_to_the_means():
    worth = -np.abs(np.stack(FUNCTIONS, axis=1) - 0.4)
    mark = Mark(theta=0.5, best=0.0, gap=0.05, edge=EDGE)
    figure = draw(worth=worth, mark=mark, title="Three arms")
    observed, decisive = figure.axes
    assert [axes.get_ylabel() for axes in figure.axes] == ["mean reward", "worth of a decision"]
    assert observed.get_title(loc="left") == "Three arms"
    drawn = {line.get_label(): line.get_ydata() for line in observed.lines}
    assert "best" not in drawn  # worth decides which arm is best
    assert np.array_equal(drawn["third"], FUNCTIONS[2])
    drawn = {line.get_label(): line.get_ydata() for line in decisive.lines}
    assert np.array_equal(drawn["third"], worth[:, 2])
    assert np.array_equal(drawn["best"], worth.max(axis=1))
    named = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert named[0] == LABELS
    assert r"$\delta_{\min}$ = 0.05" in named[1]
    assert observed.get_legend() is None
    assert len(decisive.get_legend().get_texts()) == 5

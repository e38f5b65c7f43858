import numpy as np

from globalbandits.plots import Line, band_figure

TIME = np.array([1.0, 10.0, 100.0])


def test_lines_bands_and_references():
    figure = band_figure(
        [
            Line("WAGP", TIME, TIME**0.5, TIME**0.5 - 0.5, TIME**0.5 + 0.5),
            Line("UCB1", TIME, TIME),
            Line("bound", TIME, 2 * TIME, reference=True),
        ],
        xlabel="round",
        ylabel="regret",
        title="Regret",
    )
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["WAGP", "UCB1", "bound"]
    assert len(axes.collections) == 1
    vertices = axes.collections[0].get_paths()[0].vertices
    assert vertices[:, 1].min() == 0.5
    assert vertices[:, 1].max() == 10.5
    wagp, ucb1, bound = axes.lines
    assert np.array_equal(ucb1.get_ydata(), TIME)
    assert bound.get_linewidth() < wagp.get_linewidth()
    assert len({line.get_color() for line in axes.lines}) == 3
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round", "regret")
    assert axes.get_title(loc="left") == "Regret"


def test_axes_are_logarithmic_only_on_request():
    lines = [Line("WAGP", TIME, TIME)]
    for log_x in (False, True):
        for log_y in (False, True):
            (axes,) = band_figure(lines, xlabel="", ylabel="", log_x=log_x, log_y=log_y).axes
            assert (axes.get_xscale() == "log", axes.get_yscale() == "log") == (log_x, log_y)


def test_marks_have_one_entry_in_the_legend():
    figure = band_figure(
        [Line("estimate", TIME, TIME)],
        xlabel="round",
        ylabel="θ",
        marks=[20, 40, 60],
        marks_label="window switch",
    )
    (axes,) = figure.axes
    places = [line.get_xdata()[0] for line in axes.lines if line.get_label() != "estimate"]
    assert places == [20, 40, 60]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["window switch", "estimate"]

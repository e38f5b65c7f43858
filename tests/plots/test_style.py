"""Figures for a phone."""

from matplotlib.text import Text

from globalbandits.plots import interval_figure
from globalbandits.plots.style import narrow_picture


def drawn():
    return interval_figure(
        ["λ = 0.01  UE, published constants", "WAGP"],
        [1.0, 2.0],
        low=[0.9, 1.9],
        high=[1.1, 2.1],
        xlabel="regret",
        title="Experiment 4: regret scored by the model's means",
        references={0: 1.0},
    )


def test_all_of_a_title_is_inside_a_narrow_figure():
    wide, figure = drawn(), narrow_picture(drawn)
    assert figure.get_figwidth() < wide.get_figwidth()
    figure.draw_without_rendering()
    words = wide.axes[0].get_title("left").split()
    (title,) = [text for text in figure.findobj(Text) if text.get_text().split() == words]
    box = title.get_window_extent()
    assert box.x0 >= 0.0
    assert box.x1 <= figure.bbox.x1

import numpy as np

from globalbandits.plots import heat_figure


def test_cells_carry_their_texts_and_gaps_stay_empty():
    table = np.array([[0.0, 2.9], [1.0, np.nan]])
    figure = heat_figure(table, ["a", "b"], ["x", "y"], [["1", "9"], ["3", "–"]], title="t")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["1", "9", "3", "–"]
    assert [text.get_color() for text in axes.texts][1] == "white"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert axes.images[0].get_array().mask[1, 1]

"""The map of the best arm over two parameters."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.plots import arm_map_figure

PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def shop():
    return gb.demand.exponential(PRICES, cost=1.5, level=(0.02, 0.2), slope=(0.02, 0.6))


def test_names_are_inside_their_regions():
    labels = np.array([[0, 0, 1], [0, 0, 1], [2, 2, 2]])
    figure = arm_map_figure(labels, (0.0, 3.0), (0.0, 3.0), ["a", "b", "c"], xlabel="x", ylabel="y")
    axes = figure.axes[0]
    for text in axes.texts:
        x, y = text.get_position()
        assert "abc"[labels[int(x), int(y)]] == text.get_text()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    # The first parameter runs along the horizontal axis.
    assert np.array_equal(axes.images[0].get_array(), labels.T)


def test_the_map_of_a_model():
    model = shop()
    figure = model.plot({"level": 0.1, "slope": 0.3}, title="my $shop")
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("level", "slope")
    assert axes.get_xlim() == (0.02, 0.2)
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[0.1, 0.3]]]
    assert axes.get_title("left") == r"my \$shop"
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend[0] == "3"
    assert legend[-1].startswith("greedy play can stay")


def test_one_number_is_drawn_as_curves_and_three_as_a_cut():
    one = gb.VectorModel("exp(-slope*arm)", [1.0, 2.0], {"slope": (0.0, 1.0)}, value="arm*mean")
    assert one.plot([0.3]).axes[0].get_xlabel() == "parameter θ"
    three = gb.VectorModel(
        "top*level*exp(-slope*arm)",
        [1.0, 2.0],
        {"level": (0.1, 1.0), "slope": (0.0, 2.0), "top": (0.5, 1.0)},
        value="arm*mean",
    )
    assert three.plot().axes[0].get_title("left") == "(top = 0.75)"
    marked = three.plot({"level": 0.5, "slope": 1.0, "top": 0.6}, title="shop")
    assert marked.axes[0].get_title("left") == "shop (top = 0.6)"


def test_the_marked_vector_is_checked():
    with pytest.raises(ModelError, match="theta must have a number for each of level, slope"):
        shop().plot({"level": 0.1})


def test_a_notebook_shows_the_shares():
    page = shop()._repr_html_()
    assert "best on this share of the box" in page
    assert "VectorModel(7 arms" in page

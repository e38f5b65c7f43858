import re
from importlib.resources import files

import numpy as np

from globalbandits.plots import heat_figure


def test_cells_carry_their_texts_and_gaps_stay_empty():
    table = np.array([[0.0, 2.9], [1.0, np.nan]])
    figure = heat_figure(table, ["a", "b"], ["x", "y"], [["1", "9"], ["3", "–"]], title="t")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["1", "9", "3", "–"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert axes.images[0].get_array().mask[1, 1]


def luminance(colors):
    """Of colours of the shape (n, 3), by the definition of WCAG."""
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def in_the_dark(colors):
    """What the filter of the pages' style makes of colours."""
    style = files("globalbandits.pages").joinpath("page.css").read_text("utf-8")
    turned = float(re.search(r"img \{ filter: invert\(([.\d]+)\) hue-rotate\(180deg\)", style)[1])
    inverted = turned + (1.0 - 2.0 * turned) * colors
    weights = np.array([0.213, 0.715, 0.072])
    return np.clip(2.0 * (inverted @ weights)[:, None] - inverted, 0.0, 1.0)


def test_every_cell_can_be_read_in_the_light_and_in_the_dark():
    table = np.linspace(0.0, 4.0, 41)[None, :]
    axes = heat_figure(table, ["a"], list("x" * 41), [["1"] * 41]).axes[0]
    image = axes.images[0]
    cells = image.cmap(image.norm(table[0]))[:, :3]
    letters = np.zeros((1, 3))
    assert {text.get_color() for text in axes.texts} == {"black"}
    for seen in (lambda colors: colors, in_the_dark):
        cell, letter = luminance(seen(cells)), luminance(seen(letters))
        contrast = (np.maximum(cell, letter) + 0.05) / (np.minimum(cell, letter) + 0.05)
        assert contrast.min() >= 4.5


def test_colours_go_from_little_to_much():
    axes = heat_figure(np.array([[0.0, 1.0, 2.0, 3.0]]), ["a"], list("wxyz"), [["1"] * 4]).axes[0]
    image = axes.images[0]
    lightness = luminance(image.cmap(image.norm(image.get_array()[0]))[:, :3])
    assert (np.diff(lightness) < -0.05).all()

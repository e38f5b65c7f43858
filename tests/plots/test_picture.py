"""Figures show themselves in a notebook, and travel as others do."""

import pickle

import numpy as np
import pytest
from matplotlib.figure import Figure

from globalbandits.plots import evidence_figure, heat_figure, model_figure, share_figure
from globalbandits.plots.style import new_picture

PNG = b"\x89PNG\r\n\x1a\n"
FIGURES = {
    "shares": lambda: share_figure({"WAGP": [0.1, 0.9]}, ["a", "b"]),
    "curves": lambda: model_figure([0.0, 1.0], [[0.1, 0.9], [0.5, 0.4]], [], ["a", "b"]),
    "evidence": lambda: evidence_figure(
        [1, 10], low=[0, 0.2], high=[1, 0.8], log_e_values=[0, 0.1], contenders=[[1], [1]], arms="a"
    ),
    "heat": lambda: heat_figure(np.array([[0.1, 0.2]]), ["row"], ["a", "b"], [["0.1", "0.2"]]),
}


@pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)
def test_a_notebook_shows_a_picture(make):
    figure = make()
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(PNG)


def test_a_picture_survives_a_pickle():
    picture = new_picture(3.0, 2.0)
    picture.subplots().plot([1, 2, 3])
    again = pickle.loads(pickle.dumps(picture))
    assert again._repr_png_() == picture._repr_png_()

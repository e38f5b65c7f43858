import math

import numpy as np

from globalbandits.plots.evidence_over_time import evidence_figure

TIMES = [1, 10, 100, 1000]
DATA = {
    "low": [0.0, 0.1, 0.2, 0.3],
    "high": [1.0, 0.9, 0.6, 0.4],
    "log_e_values": [0.0, -0.5, 1.0, 500.0],
    "contenders": [[1, 1, 1], [1, 1, 1], [0, 1, 1], [0, 1, 0]],
    "arms": ["a", "b", "c"],
}


def test_three_panels_show_interval_e_value_and_race():
    figure = evidence_figure(TIMES, **DATA, truth=0.35, domain=(0.0, 1.0), title="WAGP")
    interval, e_values, race = figure.axes
    assert figure.get_suptitle() == "WAGP"
    labels = [text.get_text() for text in interval.get_legend().get_texts()]
    assert labels == ["interval, 95% at all times at once", "truth"]
    low, high = interval.lines[:2]
    assert np.array_equal(low.get_ydata(), DATA["low"])
    assert np.array_equal(high.get_ydata(), DATA["high"])
    assert interval.get_ylim() == (0.0, 1.0)
    shown = e_values.lines[0].get_ydata()
    np.testing.assert_allclose(shown[:3], np.exp(DATA["log_e_values"][:3]))
    assert shown[3] == 1e12  # what is beyond stays at the edge
    assert math.isclose(e_values.lines[1].get_ydata()[0], 20.0)
    assert e_values.get_yscale() == race.get_xscale() == "log"
    assert [text.get_text() for text in race.get_yticklabels()] == ["a", "b", "c"]
    assert race.get_xlabel() == "observations"


def test_an_arm_is_drawn_as_long_as_it_can_be_best():
    race = evidence_figure(TIMES, **DATA).axes[2]
    ends = [
        max((path.vertices[:, 0].max() for path in bars.get_paths()), default=0.0)
        for bars in race.collections
    ]
    assert ends == [100.0, 1000.0, 1000.0]
    colors = [tuple(bars.get_facecolor()[0]) for bars in race.collections]
    assert colors[0] == colors[2] != colors[1]


def test_a_refutation_is_marked_in_all_panels():
    refuted = evidence_figure(TIMES, **DATA)
    quiet = evidence_figure(TIMES, **DATA | {"log_e_values": [0.0, 0.0, 0.0, 2.9]})
    for one, other in zip(refuted.axes, quiet.axes, strict=True):
        assert len(one.lines) == len(other.lines) + 1
        assert list(one.lines[-1].get_xdata()) == [1000.0, 1000.0]
    assert "without the model" in refuted.axes[2].get_title(loc="left")
    assert "without the model" not in quiet.axes[2].get_title(loc="left")


def test_a_single_moment_and_many_arms_fit():
    many = {
        "low": [0.2],
        "high": [0.4],
        "log_e_values": [0.0],
        "contenders": np.ones((1, 100)),
        "arms": [str(k) for k in range(100)],
    }
    race = evidence_figure([7], **many).axes[2]
    assert race.get_xlim() == (3.5, 14.0)
    assert len(race.get_yticklabels()) <= 16
    assert race.get_xscale() == "linear"

"""Figures of plain arrays, drawn with Matplotlib; nothing here knows a model or a policy.

Matplotlib is loaded when the first figure is drawn. Figures stay outside its global list, so
drawing thousands of them keeps no memory.
"""

from globalbandits.plots.bars import interval_figure, share_figure
from globalbandits.plots.evidence_over_time import evidence_figure
from globalbandits.plots.groups import (
    Cells,
    group_curves_figure,
    group_intervals_figure,
    group_regret_figure,
)
from globalbandits.plots.heat import heat_figure
from globalbandits.plots.lines import Line, band_figure
from globalbandits.plots.model_curves import (
    Band,
    Mark,
    model_figure,
)
from globalbandits.plots.style import (
    check_figure_path,
    save_figure,
)

__all__ = [
    "Band",
    "Cells",
    "Line",
    "Mark",
    "band_figure",
    "check_figure_path",
    "evidence_figure",
    "group_curves_figure",
    "group_intervals_figure",
    "group_regret_figure",
    "heat_figure",
    "interval_figure",
    "model_figure",
    "save_figure",
    "share_figure",
]

"""Figures of plain arrays, drawn with Matplotlib. They do not depend on models or policies.

Matplotlib is imported when the first figure is drawn. Figures are not added to its global list, so
thousands of figures do not fill the memory.
"""

from globalbandits.plots.arm_map import arm_map_figure
from globalbandits.plots.bars import interval_figure, share_figure
from globalbandits.plots.evidence_over_time import evidence_figure
from globalbandits.plots.groups import (
    Cells,
    WorthCells,
    group_curves_figure,
    group_intervals_figure,
    group_regret_figure,
    group_worth_figure,
)
from globalbandits.plots.heat import heat_figure
from globalbandits.plots.lines import Line, band_figure
from globalbandits.plots.model_curves import Band, Mark, model_figure
from globalbandits.plots.style import check_figure_path, save_figure

__all__ = [
    "Band",
    "Cells",
    "Line",
    "Mark",
    "WorthCells",
    "arm_map_figure",
    "band_figure",
    "check_figure_path",
    "evidence_figure",
    "group_curves_figure",
    "group_intervals_figure",
    "group_regret_figure",
    "group_worth_figure",
    "heat_figure",
    "interval_figure",
    "model_figure",
    "save_figure",
    "share_figure",
]

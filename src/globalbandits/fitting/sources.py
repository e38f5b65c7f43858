"""Whatever form a history has: rows, a table, or a file."""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from globalbandits._validation import as_list, require
from globalbandits.errors import FitError
from globalbandits.fitting.aggregation import Wanted, panel_from_table, panels_from_rows
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.reading import Progress, panels_from_file
from globalbandits.fitting.texts import as_named


def read_history(
    history: Any, wanted: Wanted, progress: Progress | None = None
) -> tuple[Panel, Panel | None]:
    """The panel of a history, and that of the last third of the time if it is asked for.

    Args:
        history: A frame, a dict of arrays, or the path of a file.
        wanted: Names of columns, range; without ``reward``, the history is a table with one
            row per group and arm.
        progress: Called with the number of rows read so far, for files read in blocks.
    """
    if isinstance(history, (str, os.PathLike)):
        require(wanted.reward is not None, "reward", "be given for a file", None, FitError)
        return panels_from_file(Path(history), wanted, progress)
    if wanted.reward is None:
        require(
            wanted.time is None, "time", "be left out where rows are aggregated", wanted.time,
            FitError,
        )  # fmt: skip
        table = panel_from_table(
            history, group=wanted.group, arm=wanted.arm, reward_range=wanted.reward_range
        )
        return table, None
    return panels_from_rows(history, wanted)


def leave_out(
    panel: Panel, late: Panel | None, exclude: Collection[Any]
) -> tuple[Panel, Panel | None]:
    """The panels without some groups, and without groups and arms that have no reward.

    A group may also be named by its text, as it stands in a file: "7" for the shop 7.
    """
    groups, left_out = set(panel.groups), set()
    for name in as_list("exclude", exclude, "be a list of groups", FitError):
        group = as_named(name, groups)
        require(group in groups, "exclude", "name groups of the history", name, FitError)
        left_out.add(group)
    wanted = np.array([group not in left_out for group in panel.groups], bool)
    rows = np.flatnonzero(wanted & panel.tried.any(axis=1))
    arms = [panel.arms[place] for place in np.flatnonzero(panel.tried[rows].any(axis=0))]

    def kept(part: Panel) -> Panel:
        return part.take(rows).with_arms(arms)

    return kept(panel), None if late is None else kept(late)

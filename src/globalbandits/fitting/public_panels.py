"""Public panels, read from a file that the user has: no data comes with this package."""

import os
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import AnyArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import FitError
from globalbandits.fitting.columns import check_columns
from globalbandits.fitting.reading import readable

if TYPE_CHECKING:
    import pandas as pd

_WELL = r"(?:L|R)\d+(?:-D\d+)?-S"  # a drug alone
_GDSC = ["SCAN_ID", "CELL_LINE_NAME", "TAG", "DRUG_ID", "CONC", "INTENSITY"]


def read_gdsc(
    path: str | os.PathLike[str], drug: int, *, control: str = "NC-1", blank: str = "B"
) -> dict[str, AnyArray]:
    """Cell lines and doses of one drug, from the raw data of the GDSC project.

    The file is ``GDSC2_public_raw_data_....csv`` (or GDSC1, with ``control="NC-0"``) of
    https://www.cancerrxgene.org/downloads, as it is or zipped. An intensity is put between the
    means of its plate's wells without cells and without drug, and cut to [0, 1], as the project
    does: 1 is a cell line that the dose does not touch.

    Args:
        path: The file.
        drug: Number of the drug, such as 1003 for camptothecin.
        control: Tag of wells without drug.
        blank: Tag of wells without cells.

    Returns:
        The columns group (the cell line), arm (the concentration) and reward (what survives).
    """
    import pandas as pd

    drug = as_integer("drug", drug, 0, FitError)
    rows = _read(path, _GDSC)
    levels = {
        tag: rows[rows["TAG"] == tag].groupby("SCAN_ID")["INTENSITY"].mean()
        for tag in (control, blank)
    }
    for tag, level in levels.items():
        require(len(level) > 0, "TAG", f"have wells {tag!r}", sorted(set(rows["TAG"])), FitError)
    alone = rows["TAG"].astype(str).str.fullmatch(_WELL)
    wells = rows[(pd.to_numeric(rows["DRUG_ID"], errors="coerce") == drug) & alone]
    require(len(wells) > 0, "drug", "be one of the file's DRUG_ID", drug, FitError)
    top, bottom = (
        wells["SCAN_ID"].map(levels[tag]).to_numpy(np.float64) for tag in (control, blank)
    )
    surviving = (wells["INTENSITY"].to_numpy(np.float64) - bottom) / (top - bottom)
    known = np.isfinite(surviving)
    return {
        "group": wells["CELL_LINE_NAME"].to_numpy()[known],
        "arm": wells["CONC"].to_numpy(np.float64)[known],
        "reward": np.clip(surviving[known], 0.0, 1.0),
    }


def read_orange_juice(
    path: str | os.PathLike[str], brand: int, *, levels: int = 6
) -> dict[str, AnyArray]:
    """Stores and prices of one brand of orange juice, from the R package bayesm.

    The file is ``write.csv(orangeJuice$yx, "orange.csv")`` after ``data(orangeJuice)``. Prices are
    put into levels with about the same number of weeks each; an arm is the median price of its
    level, per ounce.

    Args:
        path: The file.
        brand: From 1 to 11; 10 is Dominick's 64 oz.
        levels: How many arms.

    Returns:
        The columns group (the store), arm (the price), reward (units sold, as a share of the
        largest week of all) and time (the week).
    """
    brand = as_integer("brand", brand, 1, FitError, maximum=11)
    levels = as_integer("levels", levels, 2, FitError)
    price = f"price{brand}"
    rows = _read(path, ["store", "brand", "week", "logmove", price])
    rows = rows[rows["brand"] == brand]
    require(len(rows) > 0, "brand", "be one of the file's", brand, FitError)
    prices = rows[price].to_numpy(np.float64)
    edges = np.unique(np.quantile(prices, np.linspace(0, 1, levels + 1)[1:-1]))
    level = np.searchsorted(edges, prices, side="left")
    found, places = np.unique(level, return_inverse=True)
    middles = np.array([np.median(prices[level == each]) for each in found])
    units = np.exp(rows["logmove"].to_numpy(np.float64))
    return {
        "group": rows["store"].to_numpy(),
        "arm": np.round(middles, 5)[places],
        "reward": units / units.max(),
        "time": rows["week"].to_numpy(),
    }


def _read(path: str | os.PathLike[str], columns: list[str]) -> "pd.DataFrame":
    """Some columns of a CSV file."""
    import pandas as pd

    with readable(path):
        header = [str(name) for name in pd.read_csv(path, nrows=0).columns]
        check_columns(columns, header)
        return pd.read_csv(path, usecols=columns, low_memory=False)

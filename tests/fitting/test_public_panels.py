"""Public panels: files as their sources write them, small and made up."""

import numpy as np
import pandas as pd
import pytest

from globalbandits.errors import FitError
from globalbandits.fitting import fit, histories


@pytest.fixture
def screen(tmp_path):
    """Two plates of the GDSC's raw data; plate 2 has other controls."""
    wells = []
    for plate, top, bottom, line in ((1, 1000.0, 100.0, "A549"), (2, 500.0, 0.0, "HT-29")):
        wells += [(plate, line, "NC-1", np.nan, np.nan, top + step) for step in (-10, 10)]
        wells += [(plate, line, "B", np.nan, np.nan, bottom)]
        for dose, share in ((0.1, 0.9), (1.0, 0.5), (10.0, 1.2)):
            intensity = bottom + share * (top - bottom)
            wells.append((plate, line, f"L1-D{dose:g}-S".replace(".", ""), 1003, dose, intensity))
        wells.append((plate, line, "L2-D1-S", 1060, 1.0, 300.0))
        wells.append((plate, line, "L1-D2-C", 1003, 1.0, 7.0))  # a combination
    names = ["SCAN_ID", "CELL_LINE_NAME", "TAG", "DRUG_ID", "CONC", "INTENSITY"]
    frame = pd.DataFrame(wells, columns=names).assign(BARCODE=5)
    frame.to_csv(tmp_path / "raw.csv", index=False)
    return tmp_path / "raw.csv"


def test_a_well_lies_between_the_controls_of_its_plate(screen):
    history = histories.read_gdsc(screen, 1003)
    assert history["group"].tolist() == ["A549"] * 3 + ["HT-29"] * 3
    assert history["arm"].tolist() == [0.1, 1.0, 10.0] * 2
    np.testing.assert_allclose(history["reward"], [0.9, 0.5, 1.0] * 2)


def test_wrong_drugs_and_files_are_refused(screen, tmp_path):
    with pytest.raises(FitError, match="drug must be one of the file's DRUG_ID, got 7"):
        histories.read_gdsc(screen, 7)
    with pytest.raises(FitError, match="TAG must have wells 'NC-0', got"):
        histories.read_gdsc(screen, 1003, control="NC-0")
    pd.DataFrame({"a": [1]}).to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(FitError, match="history must have a column 'SCAN_ID', has: a"):
        histories.read_gdsc(tmp_path / "other.csv", 1003)


@pytest.fixture
def juice(tmp_path):
    """Twelve stores and sixty weeks of two brands, as bayesm has them."""
    rng = np.random.default_rng(0)
    store, week = (index.ravel() for index in np.indices((12, 60)))
    price = rng.choice([0.02, 0.025, 0.03, 0.04], store.size) + rng.normal(0, 1e-4, store.size)
    size = rng.normal(9, 0.5, 12)[store]
    frame = pd.DataFrame({"store": store + 2, "brand": 10, "week": week + 40,
                          "logmove": size - 40 * price + rng.normal(0, 0.1, store.size),
                          "price10": price, "price5": 9.0})  # fmt: skip
    other = frame.assign(brand=5)
    pd.concat([frame, other]).to_csv(tmp_path / "orange.csv")
    return tmp_path / "orange.csv", frame


def test_prices_become_levels_of_equal_size(juice):
    path, frame = juice
    history = histories.read_orange_juice(path, 10, levels=4)
    levels, counts = np.unique(history["arm"], return_counts=True)
    np.testing.assert_allclose(levels, [0.02, 0.025, 0.03, 0.04], atol=2e-3)
    assert counts.min() > 100
    assert history["reward"].max() == 1.0
    ratio = history["reward"] / np.exp(frame["logmove"].to_numpy())
    assert np.ptp(ratio) < 1e-12 * ratio[0] + 1e-15
    assert history["time"].min() == 40


def test_such_a_history_can_be_fitted(juice):
    history = histories.read_orange_juice(juice[0], 10, levels=4)
    found = fit(
        history, group="group", arm="arm", reward="reward", time="time", reward_range=(0, 1),
        value="arm * mean", verdict=False,
    )  # fmt: skip
    assert found.panel.n_groups == 12
    assert found.share > 0.8  # theta is the size of a store


def test_wrong_brands_are_refused(juice):
    with pytest.raises(FitError, match="brand must be at most 11, got 12"):
        histories.read_orange_juice(juice[0], 12)
    with pytest.raises(FitError, match="history must have a column 'price3'"):
        histories.read_orange_juice(juice[0], 3)

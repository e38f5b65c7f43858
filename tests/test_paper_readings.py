"""Readings of the paper: all are shown, none is called reproduced."""

import json

import numpy as np
import pytest
from rich.console import Console

from benchmarks.paper_readings import N_SIMULATIONS, run_readings
from benchmarks.paper_readings.__main__ import main
from benchmarks.paper_readings.lattice import LatticeWAGP, lattice, lattice_distance
from globalbandits.environments import Environment, NoNoise
from globalbandits.lab.paper import Verdict
from globalbandits.lab.paper.experiment_spec import load_model
from globalbandits.lab.report import print_outcomes
from globalbandits.model.tables import choose_in_cell, find_cell
from globalbandits.policies import WAGP, Learner
from globalbandits.simulation import simulate


@pytest.fixture(scope="module")
def model():
    return load_model("pricing")


@pytest.fixture(scope="module")
def outcome():
    return run_readings(runs=3, horizon=40)


@pytest.mark.parametrize(
    ("theta", "printed"), [(0.2, 0.17), (0.1, 0.1), (0.3, 0.07), (0.8, 0.02), (0.5, 0.01)]
)
def test_a_grid_with_the_ends_counted_explains_the_printed_distances(model, theta, printed):
    assert lattice_distance(model, theta, 0.01) == pytest.approx(printed, abs=1e-9)


def test_decisions_of_the_lattice_are_those_at_its_nearest_point(model):
    tables = LatticeWAGP().setup(model).tables
    points = lattice(model, 0.01)
    rng = np.random.default_rng(0)
    differing = 0
    for theta in [0.0, 1.0, *rng.random(2_000)]:
        nearest = points[np.argmin(np.abs(points - theta))]
        arm = choose_in_cell(tables.envelope, find_cell(tables.envelope, theta), rng)
        assert arm in model.best_arms(nearest)
        differing += arm not in model.best_arms(theta)
    assert 20 < differing < 200  # near eleven edges, by up to half a step


def test_the_lattice_changes_decisions_and_nothing_else(model):
    world = Environment(model, theta=0.5, noise=NoNoise())
    result = simulate(world, [WAGP(), LatticeWAGP()], horizon=50, runs=5, seed=1)
    estimates = result.dataset.estimate.values[:, :, -1]
    np.testing.assert_allclose(estimates, 0.5, atol=1e-9)
    learner = Learner(LatticeWAGP(), model, seed=0)
    learner.update(3, float(model.means(0.3597)[3]))
    assert learner.select() in model.best_arms(0.36)


def test_all_readings_are_shown_and_none_is_marked_as_reproduced(outcome):
    shown = [key for grid in outcome.grids for _, keys in grid.rows for key in keys]
    assert sorted(shown) == sorted(outcome.entries)
    printed = [entry for entry in outcome.entries.values() if entry.published is not None]
    exact = [entry for entry in printed if entry.runs == 0]
    assert len(exact) == 10
    assert {entry.verdict for entry in exact} == {Verdict.NOT_IDENTIFIED}
    assert {entry.verdict for entry in printed} <= {Verdict.NOT_IDENTIFIED, Verdict.NOT_STATED}
    assert "8 readings of noise and decisions and" in outcome.notes[-1]
    console = Console(record=True, width=200)
    print_outcomes([outcome], console)
    assert " read in several ways, not identified, " in console.export_text()


def test_ticks_count_what_is_announced():
    done = []
    run_readings(runs=2, horizon=3, tick=done.append)
    assert sum(done) == 2 * N_SIMULATIONS


def test_one_command_writes_a_page(tmp_path, capsys):
    page = main(["--runs", "2", "--horizon", "3", "--seed", "5", "--out", str(tmp_path)])
    assert "Readings of the paper" in page.read_text()
    content = json.loads((tmp_path / "results.json").read_text())
    assert set(content) == {"about", "readings"}
    assert content["about"]["command"].startswith("python -m benchmarks.paper_readings --runs 2")
    assert content["readings"]["distance_0.2_lattice"]["verdict"] == "not identified"
    assert "Readings of the paper" in capsys.readouterr().out

"""One real use of each extra, in an environment that has this extra and nothing else.

python tests/extras/uses.py EXTRA
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SHOP = {
    "model": {"family": "demand.linear_power", "arms": [0.4, 0.6, 0.8]},
    "policy": {"policy": "wagp"},
}
# Parameters that have no default.
REQUIRED = {"nonstationary_wagp": {"half_window": 25}}


def command(extra):
    return f'pip install "globalbandits[{extra}]"'


def assert_missing(use, extra):
    """An error for a missing extra states how to install it."""
    from globalbandits import MissingExtraError

    message = ""
    try:
        use()
    except MissingExtraError as error:
        message = str(error)
    assert message.endswith(f" must be installed: {command(extra)}"), message


def run_program(*arguments):
    code = "from globalbandits.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


def core():
    """Every policy as plain rules; a learner, evidence, theory, formulas, files and the log."""
    import globalbandits as gb
    from globalbandits.service.log import Log
    from globalbandits.service.stores import open_store

    model = gb.RewardModel("arm * (1 - arm * theta) ** 2", [0.2, 0.4, 0.6, 0.8])
    for kind, policy in gb.registered().items():
        if kind == "cohort_design":  # for dose models
            continue
        learner = gb.Learner(policy(**REQUIRED.get(kind, {})), model, seed=3)
        for n in range(6):
            learner.update(learner.select(), 0.1 * (n % 2))
        assert learner.n_observations == 6, kind
    learner = gb.Learner(gb.WAGP(), model, seed=1)
    for n in range(200):
        learner.update(learner.select(), 0.3 * (n % 2))
    again = gb.Learner.restore(gb.WAGP(), model, json.loads(json.dumps(learner.state())))
    assert again.select() == learner.select()
    interval = learner.interval()
    assert 0.0 <= interval.low < interval.high <= 1.0
    assert len(learner.contenders()) >= 1
    assert "arm" in str(learner.explain())
    assert learner.evidence_against_model().e_value >= 0.0
    assert gb.theory.regimes(model, 0.4).bounded_from > 1.0
    assert gb.Environment(gb.dose.emax([1.0, 2.0]), theta=0.5).true_means().shape == (2,)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.json")
        assert gb.load_model(Path(folder) / "model.json").n_arms == 4
    log = Log(open_store(":memory:"))
    log.create("shop", SHOP)
    assert list(log.names()) == ["shop"]
    log.stop()
    assert_missing(lambda: gb.simulate, "lab")
    assert_missing(lambda: gb.league, "lab")
    assert_missing(lambda: gb.fit, "lab")
    assert_missing(lambda: gb.testing, "lab")
    assert_missing(lambda: gb.Learner(gb.WAGP(), model, compiled=True), "lab")
    assert_missing(model.plot, "lab")
    assert_missing(learner.plot_worth, "lab")
    assert_missing(lambda: gb.Client, "client")
    assert_missing(lambda: __import__("globalbandits.adapters.gym"), "gym")
    assert_missing(lambda: __import__("globalbandits.adapters.openfeature"), "openfeature")
    done = run_program("--version")
    assert done.returncode == 2, done
    assert done.stderr == f"error: typer must be installed: {command('lab')}\n", done


def lab():
    """A simulation with its table and figure, a fit, and the command line."""
    import globalbandits as gb

    world = gb.Environment(gb.demand.linear_power([0.4, 0.6, 0.8]), theta=0.4)
    result = gb.simulate(world, [gb.WAGP()], horizon=100, runs=4)
    assert result.summary()["regret_mean"].iloc[0] >= 0.0
    assert result.plot_regret().axes
    history = gb.histories.exponential_demand(groups=20)
    fitted = gb.fit(history, group="group", arm="arm", reward="reward", verdict=False)
    assert fitted.model.n_arms == len(history.arms)
    done = run_program("--version")
    assert done.stdout.startswith("globalbandits "), done
    assert_missing(lambda: gb.simulate(world, [gb.WAGP()], 10, 2, executor="joblib"), "cluster")
    done = run_program("serve")
    assert done.returncode == 2, done
    assert command("serve") in done.stderr, done
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.parquet"
        path.write_bytes(b"PAR1")
        assert_missing(lambda: gb.fit(path, group="group", arm="arm", reward="reward"), "files")


def serve():
    """The server with a compiled bandit."""
    import globalbandits as gb
    from globalbandits.service.server import make_server
    from globalbandits.service.service import Service, ServiceOptions
    from globalbandits.service.stores import open_store

    service = Service(open_store(":memory:"), ServiceOptions())
    service.log.create("shop", SHOP)
    service.log.warm()
    assert make_server(service) is not None
    service.log.stop()
    assert run_program("serve", "--help").returncode == 0
    done = run_program("show", "results")
    assert done.returncode == 2, done
    assert command("lab") in done.stderr, done
    assert not {"pandas", "xarray", "matplotlib"} & sys.modules.keys()
    assert_missing(lambda: gb.simulate, "lab")
    assert_missing(lambda: open_store("postgresql://nobody@127.0.0.1:1/none"), "postgres")


def client():
    """A client of a service that does not answer."""
    import globalbandits as gb

    with gb.Client("http://127.0.0.1:1", total=0.01) as service:
        try:
            service.bandits()
        except gb.StoreUnavailable:
            return
    raise AssertionError("a service answered")


def postgres():
    """A PostgreSQL store that cannot be reached."""
    import globalbandits as gb
    from globalbandits.service.stores import open_store

    try:
        open_store("postgresql://nobody@127.0.0.1:1/none")
    except gb.StoreUnavailable:
        return
    raise AssertionError("a database answered")


def files():
    """Columns of a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    import globalbandits as gb
    from globalbandits.fitting.panel.history_files import panels_from_file
    from globalbandits.fitting.panel.rows import HistoryColumns

    history = gb.histories.exponential_demand(groups=20)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.parquet"
        pyarrow.parquet.write_table(pyarrow.table(dict(history)), path)
        panel, _ = panels_from_file(path, HistoryColumns("group", "arm", "reward"))
    assert panel.counts.shape == (20, len(history.arms))


def cluster():
    """Workers of joblib are opened, and Dask's imported."""
    from distributed import LocalCluster

    from globalbandits.simulation.workers import open_workers

    with open_workers("joblib", 1) as workers:
        assert workers is not None
    assert LocalCluster is not None


def gym():
    """An episode of one decision."""
    import gymnasium

    env = gymnasium.make("globalbandits.adapters.gym:globalbandits/Pricing-v0")
    env.reset(seed=1)
    assert "regret" in env.step(0)[4]


def openfeature():
    """A flag of a service that does not answer has its default value."""
    from openfeature import api
    from openfeature.evaluation_context import EvaluationContext

    import globalbandits as gb
    from globalbandits.adapters.openfeature import GlobalBanditsProvider

    api.set_provider(GlobalBanditsProvider(gb.Client("http://127.0.0.1:9", total=0.0)))
    visitor = EvaluationContext(targeting_key="visitor-17")
    assert api.get_client().get_float_value("shop", 4.99, visitor) == 4.99


_ALL_USES = (core, lab, serve, client, postgres, files, cluster, gym, openfeature)
USES = {use.__name__: use for use in _ALL_USES}

if __name__ == "__main__":
    USES[sys.argv[1]]()
    print(f"{sys.argv[1]} works")

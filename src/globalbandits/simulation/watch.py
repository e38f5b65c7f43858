"""`watch`: one run of some policies, recorded in every round, as a page to step through."""

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from globalbandits import pages
from globalbandits._files import replacing
from globalbandits._random import States
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, require
from globalbandits.compiling.engine import Engine
from globalbandits.environments import Environment
from globalbandits.errors import SimulationError
from globalbandits.evidence.inference import infer_many
from globalbandits.model import RewardModel
from globalbandits.plots.labels import printed_label
from globalbandits.policies.base import Policy
from globalbandits.simulation.play.arena import Arena
from globalbandits.simulation.play.job import Records, empty_records
from globalbandits.simulation.simulation_request import make_request

MAX_ROUNDS = 500
FRAME_HEIGHT_PIXELS = 640
CURVE_POINTS = 121
MAX_CURVES = 40  # more curves would be hard to distinguish


@dataclasses.dataclass(frozen=True, eq=False)
class Watch:
    """One run, round by round. A notebook shows it as a page to step through.

    Args:
        env: the environment.
        names: names of the policies.
        arms: the arm played, shape (policy, round).
        rewards: the reward observed, shape (policy, round).
        estimates: estimate of theta after the round, nan if none, shape (policy, round).
        lows: lower ends of the 95 % interval of theta after the round, shape (policy, round).
        highs: upper ends.
        regrets: regret since the first round, shape (policy, round).
        thetas: the true parameter, shape (round,); nan if the environment has only true means.
    """

    env: Environment
    names: tuple[str, ...]
    arms: IntArray
    rewards: FloatArray
    estimates: FloatArray
    lows: FloatArray
    highs: FloatArray
    regrets: FloatArray
    thetas: FloatArray

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return len(self.thetas)

    def to_html(self) -> str:
        """The run as an HTML page that needs no other file and no network."""
        return page(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the HTML page and return its path. An interrupted write leaves no partial file."""
        target = Path(path)
        html = target.suffix.lower() in (".html", ".htm")
        require(html, "path", "end in .html", str(path), SimulationError)
        with replacing(target) as temporary:
            Path(temporary).write_text(self.to_html(), encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        """The page in a frame, so that its style and script do not affect the notebook."""
        return (
            f'<iframe title="{escape(str(self))}" sandbox="allow-scripts" '
            f'style="width:100%;height:{FRAME_HEIGHT_PIXELS}px;border:0" '
            f'srcdoc="{escape(self.to_html())}"></iframe>'
        )

    def __str__(self) -> str:
        lost = ", ".join(
            f"{name} {regret:.4g}"
            for name, regret in zip(self.names, self.regrets[:, -1], strict=True)
        )
        return f"{self.horizon} rounds; lost: {lost}"

    def __repr__(self) -> str:
        return f"Watch({', '.join(self.names)}; {self.horizon} rounds)"


def watch(
    env: Environment,
    policies: Sequence[Policy] | Mapping[str, Policy],
    horizon: int = 100,
    seed: int = 0,
    *,
    run: int = 0,
) -> Watch:
    """Play one run of some policies to step through, for teaching.

    The run equals the one that `simulate` plays with this seed. It is played in plain Python;
    nothing is compiled.

    Args:
        env: the environment, with a `RewardModel`.
        policies: policies with different labels, or a mapping from names to policies.
        horizon: number of rounds, at most 500.
        seed: seed of all randomness.
        run: number of the run in the simulation.

    >>> import globalbandits as gb
    >>> env = gb.Environment(gb.demand.linear_power([0.4, 0.6, 0.8]), theta=0.4)
    >>> print(watch(env, [gb.WAGP(), gb.UCB1()], horizon=30))
    30 rounds; lost: WAGP 0.09344, UCB1 1.245
    """
    horizon = as_integer("horizon", horizon, 1, SimulationError, maximum=MAX_ROUNDS)
    run = as_integer("run", run, 0, SimulationError)
    if isinstance(env, Environment):
        one = isinstance(env.model, RewardModel)
        require(one, "env", "have a model with one parameter", env.model, SimulationError)
        rule = "have no delay: a page shows the reward of every round"
        require(env.delay is None, "env", rule, env.delay, SimulationError)
    rounds = range(1, horizon + 1)
    job = make_request(env, policies, horizon, 1, seed, checkpoints=rounds, evidence=True).job
    arena = Arena(job, Engine(interpreted=True, quiet=True), States(job.seed, run, 1))
    records = empty_records(job, 1)
    arena.play(run, 1, records, 0, lambda n_steps: True)
    arms, rewards = _plays(env.model, records.histograms[:, 0])
    found = infer_many(env.model, records.histograms[:, 0])
    return Watch(
        env=env,
        names=job.names,
        arms=arms,
        rewards=rewards,
        estimates=records.estimate[:, 0],
        lows=found.low,
        highs=found.high,
        regrets=records.regret[:, 0],
        thetas=_path(env, records, horizon),
    )


def _plays(model: RewardModel, histograms: FloatArray) -> tuple[IntArray, FloatArray]:
    """Arms and rewards, from the differences of histograms (policy, time, arm, knot)."""
    added = np.diff(histograms, axis=1, prepend=0.0)
    knots = np.linspace(0.0, 1.0, histograms.shape[-1])
    low, high = model.reward_range
    arms = added.sum(axis=-1).argmax(axis=-1)
    return arms, low + (high - low) * (added.sum(axis=-2) @ knots)


def _path(env: Environment, records: Records, horizon: int) -> FloatArray:
    """The true parameter in every round."""
    if records.theta.size:
        return np.array(np.broadcast_to(records.theta[0], horizon))
    return np.full(horizon, env.start)


def page(watched: Watch) -> str:
    """The HTML page of a run."""
    script = files(__package__).joinpath("watch.js").read_text("utf-8")
    last = [
        [name, _text(watched.estimates[number, -1]), _text(watched.regrets[number, -1])]
        for number, name in enumerate(watched.names)
    ]
    return pages.fill_page(
        __package__,
        "watch.html",
        title=str(watched),
        # "<" is escaped, so that no text can end the script element.
        data=json.dumps(data(watched), allow_nan=False).replace("<", "\\u003c"),
        script=script,
        table=pages.table(["policy", "estimate", "regret"], last),
    )


def data(watched: Watch) -> dict[str, Any]:
    """The data of the page's script as plain values: nan is None, numbers have five digits."""
    model: RewardModel = watched.env.model
    thetas = np.linspace(*model.domain, CURVE_POINTS)
    worth = model.worth(thetas)
    drawn = np.unique(np.linspace(0, model.n_arms - 1, min(model.n_arms, MAX_CURVES)).astype(int))
    return {
        "domain": list(model.domain),
        "arms": [printed_label(arm) for arm in model.arms],
        "thetas": _plain(thetas),
        "curves": [{"arm": int(arm), "worth": _plain(worth[:, arm])} for arm in drawn],
        "worthLabel": "worth of a decision" if model.valued else "mean reward",
        "regions": [[region.arm, region.low, region.high] for region in model.regions],
        "truth": _plain(watched.thetas),
        "policies": [
            {
                "name": printed_label(name),
                "arms": watched.arms[number].tolist(),
                "rewards": _plain(watched.rewards[number]),
                "estimates": _plain(watched.estimates[number]),
                "lows": _plain(watched.lows[number]),
                "highs": _plain(watched.highs[number]),
                "regrets": _plain(watched.regrets[number]),
            }
            for number, name in enumerate(watched.names)
        ],
    }


def _plain(values: FloatArray) -> list[float | None]:
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]


def _text(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}"

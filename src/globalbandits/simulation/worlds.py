"""Worlds in memory: what happens in a run, block by block, before any policy acts.

Neither noise nor drift nor bias depends on the policies, so a world is made once a run and
played by all of them: they see the same uniform numbers, the same path, the same bias.
"""

from typing import Any, Protocol

import numpy as np

from globalbandits._random import Stream, generator
from globalbandits._types import FloatArray
from globalbandits.compiling.engine import Engine
from globalbandits.simulation.job import Job
from globalbandits.simulation.loops import (
    TOLERANCE,
    FixedWorld,
    MovingWorld,
    Path,
    path_loop,
    shape_loop,
)


class World(Protocol):
    """A world that can be begun anew for every run, and gone through block by block."""

    content: Any  # the NamedTuple that loops read
    path: FloatArray  # (n_checkpoints,) the parameter at the checkpoints; empty if it stays
    bias: FloatArray  # (n_arms,) shifts of this run, in the user's units; empty without bias

    def begin(self, run: int) -> None:
        """Draw what is drawn once a run, and go back to the first step."""

    def next_block(self, start: int, n_steps: int) -> None:
        """Draw the steps start + 1 to start + n_steps."""


def make_world(job: Job, block: int, engine: Engine) -> World:
    """The world of a job, for blocks of up to ``block`` steps."""
    return Fixed(job, block, engine) if job.drift is None else Moving(job, block, engine)


class Fixed:
    """The parameter stays; means change from run to run with the bias only."""

    def __init__(self, job: Job, block: int, engine: Engine) -> None:
        self._job = job
        self.path = np.zeros(0)
        self.bias = np.zeros(0)
        self.content = FixedWorld(
            noise=job.noise_parameters,
            shapes=np.zeros(job.n_arms),
            gaps=np.zeros(job.n_arms),
            nominal_gaps=job.gaps,
            negligible=TOLERANCE * job.scale,
            uniforms=np.zeros(block),
        )
        self._means = np.zeros(job.n_arms)
        data = job.noise_parameters, self._means, self.content.shapes
        loop = shape_loop(job.noise.rules.prepare)
        self._find_shapes = engine.bind(loop, type(job.noise).__name__, data)
        self._set_means(np.zeros(job.n_arms))

    def _set_means(self, shifts: FloatArray) -> None:
        job = self._job
        low, high = job.reward_range
        paid = np.clip(job.means + shifts, low, high)
        # A gap is one of worth; a bias moves what an arm is worth as it moves its mean.
        worth = (paid - job.means) - job.gaps
        self.content.gaps[:] = worth.max() - worth
        self._means[:] = (paid - low) / (high - low)
        self._find_shapes()

    def begin(self, run: int) -> None:
        """Start the run's stream of rewards; draw its bias."""
        self._rewards = generator(Stream.REWARD, self._job.seed, run)
        if self._job.bias is not None:
            self.bias = self._job.bias.shifts(
                self._job.n_arms, generator(Stream.BIAS, self._job.seed, run)
            )
            self._set_means(self.bias)

    def next_block(self, start: int, n_steps: int) -> None:
        """Draw one uniform number a step."""
        self._rewards.random(out=self.content.uniforms[:n_steps])


class Moving:
    """The parameter moves, and the means with it."""

    def __init__(self, job: Job, block: int, engine: Engine) -> None:
        assert job.drift is not None
        self._job = job
        self.path = np.zeros(len(job.times))
        self.bias = np.zeros(0)
        self.content = MovingWorld(
            noise=job.noise_parameters,
            tables=job.tables,
            values_differ=job.tables.worth is not job.tables.mean,
            biased=job.bias is not None,
            shifts=np.zeros(job.n_arms),
            thetas=np.zeros(block),
            best=np.zeros(block),
            nominal_best=np.zeros(block),
            negligible=TOLERANCE,
            uniforms=np.zeros(block),
        )
        self._path = Path(job.track, np.zeros(block), np.zeros(1))
        loop = path_loop(job.drift.rules.move)
        data = self._path, self.content
        self._move = engine.bind(loop, type(job.drift).__name__, data, 0, 0)

    def begin(self, run: int) -> None:
        """Start the run's streams; put the parameter back to its start."""
        job = self._job
        self._rewards = generator(Stream.REWARD, job.seed, run)
        self._steps = generator(Stream.DRIFT, job.seed, run)
        self._path.now[0] = job.theta
        if job.bias is not None:
            self.bias = job.bias.shifts(job.n_arms, generator(Stream.BIAS, job.seed, run))
            self.content.shifts[:] = self.bias / job.scale

    def next_block(self, start: int, n_steps: int) -> None:
        """Draw uniform numbers for the rewards and for the path, and move along it."""
        self._rewards.random(out=self.content.uniforms[:n_steps])
        self._steps.random(out=self._path.uniforms[:n_steps])
        self._move(start, n_steps)
        times = self._job.times
        first, last = np.searchsorted(times, [start, start + n_steps], side="right")
        self.path[first:last] = self.content.thetas[times[first:last] - start - 1]

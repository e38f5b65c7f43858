"""What worlds draw: uniform numbers run after run, biases, parameters of a population."""

import numpy as np

from globalbandits._random import Source, States, Stream
from globalbandits._types import FloatArray
from globalbandits.compiling.engine import Engine
from globalbandits.errors import SimulationError
from globalbandits.simulation.job import Job
from globalbandits.simulation.rewards import Uniforms, fill


class Tap:
    """Uniform numbers of one stream, run after run."""

    def __init__(
        self, stream: Stream, states: States, n_cells: int, n_rows: int, engine: Engine
    ) -> None:
        self._stream = stream
        self._states = states
        self._source = Source()
        self._uniforms = Uniforms(
            rng=self._source.rng,
            streams=np.zeros((n_rows, 4), np.uint64),
            memory=self._source.memory,
            buffered=self._source.buffered,
            numbers=np.zeros(n_cells),
        )
        self.numbers = self._uniforms.numbers
        self._fill = engine.bind(fill, "the simulator", (self._uniforms,), 0, 0)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Go to the start of some runs."""
        states = self._states.of(self._stream, first_run, n_rows)
        self._uniforms.streams[:n_rows] = states
        self._source.set(states[0])

    def draw(self, n_steps: int, n_rows: int) -> None:
        """Draw steps: the next ones of one run, or the first ones of several."""
        if n_rows == 1:
            self._source.rng.random(out=self.numbers[:n_steps])
        else:
            self._fill(n_steps, n_rows)


class Biases:
    """Shifts of the arms' means, drawn for each run."""

    def __init__(self, job: Job, states: States) -> None:
        self._job = job
        self._states = states
        self._source = Source()

    def draw(self, first_run: int, n_rows: int) -> FloatArray:
        """Shifts in the user's units, shape (n_rows, n_arms); no arms without a bias."""
        job = self._job
        if job.bias is None:
            return np.zeros((n_rows, 0))
        shifts = np.zeros((n_rows, job.n_arms))
        for row, state in enumerate(self._states.of(Stream.BIAS, first_run, n_rows)):
            self._source.set(state)
            shifts[row] = job.bias.shifts(job.n_arms, self._source.rng)
        return shifts


class Members:
    """Runs as members of a population: their parameters, and their shifts if they have some."""

    def __init__(self, job: Job, states: States) -> None:
        assert job.population is not None
        self._population = job.population
        self._domain = job.tables.low, job.tables.high
        self._n_arms = job.n_arms
        self._states = states
        self._source = Source()

    def draw(self, first_run: int, n_rows: int) -> tuple[FloatArray, FloatArray]:
        """Parameters, shape (n_rows,), and shifts, shape (n_rows, n_arms) or no arms."""
        shifted = self._population.shifts is not None
        thetas = np.zeros(n_rows)
        shifts = np.zeros((n_rows, self._n_arms if shifted else 0))
        for row, state in enumerate(self._states.of(Stream.POPULATION, first_run, n_rows)):
            self._source.set(state)
            u = self._source.rng.random()
            thetas[row] = self._population.theta_at(u, self._domain)
            if shifted:
                shifts[row] = self._population.shifts_at(u, self._n_arms)
        return thetas, shifts


def check_rewards(job: Job, fault: FloatArray) -> None:
    """Raise if a noise has drawn a reward that lies outside of the reward range."""
    if fault[0] > 0:
        low, high = job.reward_range
        reward = low + (high - low) * float(fault[1])
        raise SimulationError(
            f"{type(job.noise).__name__} must draw rewards in [{low:g}, {high:g}], "
            f"got {reward!r} for arm {int(fault[0]) - 1}"
        )

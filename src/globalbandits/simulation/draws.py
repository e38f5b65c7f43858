"""What a world draws for its runs: uniform numbers, biases, parameters of a population."""

import numpy as np

from globalbandits._random import Source, States, Stream
from globalbandits._types import FloatArray
from globalbandits.compiling.engine import Engine
from globalbandits.simulation.job import Job
from globalbandits.simulation.rewards import UniformBuffers, fill_uniforms


class UniformStream:
    """Uniform numbers of one stream, run after run."""

    def __init__(
        self, stream: Stream, states: States, n_cells: int, n_rows: int, engine: Engine
    ) -> None:
        self._stream = stream
        self._states = states
        self._source = Source()
        self._buffers = UniformBuffers(
            rng=self._source.rng,
            rng_states=np.zeros((n_rows, 4), np.uint64),
            rng_words=self._source.memory,
            rng_buffered=self._source.buffered,
            numbers=np.zeros(n_cells),
        )
        self.numbers = self._buffers.numbers
        self._fill = engine.bind(fill_uniforms, "the simulator", (self._buffers,), 0, 0)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Go to the start of some runs."""
        states = self._states.of(self._stream, first_run, n_rows)
        self._buffers.rng_states[:n_rows] = states
        self._source.set(states[0])

    def draw(self, n_steps: int, n_rows: int) -> None:
        """Draw numbers: for the next steps of one run, or for the first steps of several runs."""
        if n_rows == 1:
            self._source.rng.random(out=self.numbers[:n_steps])
        else:
            self._fill(n_steps, n_rows)


class BiasSampler:
    """Draws the bias of each run."""

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


class PopulationSampler:
    """Draws the parameter of each run from a population, and its shifts if it has some."""

    def __init__(self, job: Job, states: States) -> None:
        assert job.population is not None
        self._population = job.population
        self._domain = job.tables.low, job.tables.high
        self._n_arms = job.n_arms
        self._states = states
        self._source = Source()

    def draw(self, first_run: int, n_rows: int) -> tuple[FloatArray, FloatArray]:
        """Parameters, shape (n_rows,), and shifts, shape (n_rows, n_arms) or no arms."""
        has_shifts = self._population.shifts is not None
        thetas = np.zeros(n_rows)
        shifts = np.zeros((n_rows, self._n_arms if has_shifts else 0))
        for row, state in enumerate(self._states.of(Stream.POPULATION, first_run, n_rows)):
            self._source.set(state)
            u = self._source.rng.random()
            thetas[row] = self._population.theta_at(u, self._domain)
            if has_shifts:
                shifts[row] = self._population.shifts_at(u, self._n_arms)
        return thetas, shifts

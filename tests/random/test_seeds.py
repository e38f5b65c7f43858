"""Streams seeded together are those that NumPy seeds one by one, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from globalbandits._random import Source, States, Stream, generator, source, stream_states
from globalbandits._random.source import as_state
from globalbandits.errors import SimulationError

SEEDS = [0, 1, 7, 2**32 - 1, 2**32, 2**40 + 3, 2**64 - 1, 2**127 + 12345, 2**128 - 1]
RUNS = [0, 1, 2**32 - 3, 2**32, 2**40, 2**64 - 5]


@pytest.mark.parametrize("stream", Stream)
def test_edges_of_seeds_and_runs(stream):
    for seed in SEEDS:
        for first in RUNS:
            states = stream_states(stream, seed, first, 5)
            for row in range(5):
                plain = generator(stream, seed, first + row).bit_generator.state
                assert as_state(states[row]) == plain


@given(
    stream=st.sampled_from(Stream),
    seed=st.integers(0, 2**128 - 1),
    run=st.integers(0, 2**64 - 1),
)
def test_any_seed_and_run(stream, seed, run):
    (state,) = stream_states(stream, seed, run, 1)
    assert as_state(state) == generator(stream, seed, run).bit_generator.state


def test_no_runs_at_all():
    assert stream_states(Stream.BIAS, 3, 4, 0).shape == (0, 4)


def test_runs_beyond_the_last():
    with pytest.raises(SimulationError, match="run must lie in"):
        stream_states(Stream.BIAS, 3, 2**64 - 2, 3)


def test_ranges_across_chunks():
    states = States(5, first_run=100, n_runs=9_000)
    for first, n in [(100, 1), (2_140, 20), (100, 9_000), (9_099, 1), (4_000, 5_000)]:
        expected = stream_states(Stream.DRIFT, 5, first, n)
        assert np.array_equal(states.of(Stream.DRIFT, first, n), expected)


def draws(rng):
    """Numbers of all kinds that rules draw; the last kind holds half a number back."""
    return [
        rng.random(),
        rng.standard_normal(),
        rng.standard_exponential(),
        rng.beta(2.0, 3.0),
        int(rng.integers(2**20, dtype=np.uint32)),
    ]


@pytest.mark.parametrize("known", [True, False], ids=["memory", "state"])
def test_a_source_goes_to_the_start_of_any_stream(monkeypatch, known):
    if known and not source.KNOWN_LAYOUT:
        pytest.skip("the layout of NumPy's memory is another one here")
    monkeypatch.setattr(source, "KNOWN_LAYOUT", known)
    ours = Source()
    for run in (3, 0, 3):
        ours.set(stream_states(Stream.POLICY, 9, run, 1)[0])
        assert draws(ours.rng) == draws(generator(Stream.POLICY, 9, run))


def test_sources_do_not_share_memory():
    one, two = Source(), Source()
    one.set(stream_states(Stream.POLICY, 9, 1, 1)[0])
    two.set(stream_states(Stream.POLICY, 9, 2, 1)[0])
    assert one.rng.random() == generator(Stream.POLICY, 9, 1).random()


def test_another_layout_is_noticed(monkeypatch):
    memory_of = source._memory_of

    def swapped(rng):
        memory, buffered = memory_of(rng)
        return memory[::-1], buffered

    assert source._is_layout_known()
    monkeypatch.setattr(source, "_memory_of", swapped)
    assert not source._is_layout_known()

    def unreadable(rng):
        raise ValueError("no such address")

    monkeypatch.setattr(source, "_memory_of", unreadable)
    assert not source._is_layout_known()

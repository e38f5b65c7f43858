import numpy as np
import pytest

from globalbandits._means import Moments


def test_batches_give_the_moments_of_all_values():
    values = np.random.default_rng(3).normal(1e6, 1.0, size=(1_000, 2, 5))
    moments = Moments()
    for batch in np.array_split(values, [1, 7, 300]):
        moments.add(batch)
    assert moments.runs == 1_000
    np.testing.assert_allclose(moments.mean, values.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(moments.sem, values.std(axis=0, ddof=1) / np.sqrt(1_000), rtol=1e-6)
    np.testing.assert_allclose((moments.high - moments.low) / moments.sem, 2 * 1.96, rtol=1e-4)


def test_one_run_has_no_error():
    moments = Moments()
    moments.add(np.array([3.0]))
    assert (moments.mean, moments.sem) == (pytest.approx(3.0), 0.0)

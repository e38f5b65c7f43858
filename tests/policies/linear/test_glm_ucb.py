"""GLM-UCB's own features, for few arms and for many."""

import numpy as np
import pytest

from globalbandits.policies.linear import glm_ucb


def test_many_arms_have_the_same_features_as_few(monkeypatch):
    thetas, prices = np.linspace(0.05, 0.95, 65)[:, np.newaxis], np.linspace(0.3, 0.9, 90)
    means = prices * (1 - prices * thetas) ** 2
    few = glm_ucb.logit_features(means)
    monkeypatch.setattr(glm_ucb, "_MAX_SVD_ARMS", 10)
    many = glm_ucb.logit_features(means)
    assert few.shape == many.shape
    assert few.shape[1] > 1
    signs = np.sign(np.sum(few * many, axis=0))  # a direction may point either way
    np.testing.assert_allclose(many * signs, few, atol=1e-9 * np.abs(few).max())
    # And they do what they are for.
    logits = np.log(means) - np.log1p(-means)
    fitted = logits @ np.linalg.pinv(many.T) @ many.T
    assert 1 / (1 + np.exp(-fitted)) == pytest.approx(means, abs=0.01)

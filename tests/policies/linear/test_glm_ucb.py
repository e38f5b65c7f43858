"""GLM-UCB's own features, for few arms and for many."""

import numpy as np
import pytest

import globalbandits as gb
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


def test_the_factor_is_that_of_the_paper():
    """Filippi, Cappe, Garivier and Szepesvari (2010): rho(t) before its logarithms of t."""
    model = gb.RewardModel(lambda theta, p: 0.2 + 0.5 * theta * p, [0.2, 0.6, 1.0])
    setup = gb.GLMUCB(features=[[2.0, 0.0], [0.0, 0.5], [1.0, 0.5]], delta=0.1).setup(model)
    chosen = setup.features[setup.design]
    eigenvalue = np.linalg.eigvalsh(chosen.T @ chosen)[0]
    kappa = np.sqrt(3 + 2 * np.log(1 + 2 * 4.0 / eigenvalue))
    slope = 0.2 * 0.8  # of the logistic function, where means are nearest to an end
    assert setup.factor == pytest.approx(2 * 0.25 * kappa / slope * np.sqrt(2 * 2), rel=1e-6)
    assert setup.confidence == pytest.approx(np.log(2 * 2 / 0.1))

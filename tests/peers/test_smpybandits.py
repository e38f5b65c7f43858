"""SMPyBandits: UCB1, KL-UCB, MOSS, IMED and the sliding window.

The package cannot be imported as a whole with a recent SciPy, which has no `btdtri` any more, so
the files needed are loaded one by one. Its clock counts rewards where ours counts rounds, so `t`
is put forward while it chooses.

Where choices differ, and why:

- `UCBVtuned` has no cap of 1/4 on the variance, which UCB1-tuned has: the indices agree where the
  cap does not bind, and are compared there.
- `IMED` takes the place of the minimum, ``max(mean, largest mean)``, for the divergence there;
  with the divergence put in, the choices agree.
- `DiscountedUCB` discounts an arm's statistics only when the arm is played, and plays at once an
  arm whose discounted count is below 1: another policy, not compared (pymab's is).
- `EpsilonGreedy` takes the largest sum of rewards for the best arm, and `Thompson` draws
  with Python's own generator: not compared.
"""

import importlib
import importlib.util
import sys
import types
import warnings

import numpy as np
import pytest

from globalbandits.policies import (
    IMED,
    KLUCB,
    MOSS,
    UCB1,
    SlidingWindowUCB,
    UCBTuned,
)
from tests.peers.together import MEANS, assert_same_choices, model, moderate

N = len(MEANS)


@pytest.fixture(scope="module")
def peers():
    """Load single files, as parts of a package whose own start is not run."""
    spec = importlib.util.find_spec("SMPyBandits")
    if spec is None:
        pytest.skip("SMPyBandits is not installed")
    root = next(iter(spec.submodule_search_locations))
    before = dict(sys.modules)
    for name, folder in (("SMPyBandits", root), ("SMPyBandits.Policies", f"{root}/Policies")):
        package = types.ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    errors = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield lambda name: getattr(
            importlib.import_module(f"SMPyBandits.Policies.{name[0]}"), name[-1]
        )
    np.seterr(**errors)  # its files change NumPy's settings when they are loaded
    for name in set(sys.modules) - set(before):
        del sys.modules[name]


def play(policy, peer, ahead=1):
    peer.startGame()

    def choose():
        if peer.pulls.min() == 0 and not hasattr(peer, "tau"):
            return int(peer.pulls.argmin())  # it would play these at random
        peer.t += ahead
        arm = peer.choice()
        peer.t -= ahead
        return arm

    assert_same_choices(policy, choose, peer.getReward)


def test_ucb1(peers):
    play(UCB1(), peers(["UCB"])(N), ahead=0)


def test_kl_ucb(peers):
    play(KLUCB(), peers(["klUCB"])(N, tolerance=1e-12))


def test_moss(peers):
    play(MOSS(), peers(["MOSSAnytime"])(N))


def test_imed_with_the_divergence_put_in(peers):
    peer = peers(["IMED"])(N)
    kl = peers(["kullback", "klBern"])
    peer.one_Dinf = lambda x, mu: kl(x, mu)
    play(IMED(), peer)


def test_imed_uses_the_argument_of_the_minimum_for_the_divergence(peers):
    kl = peers(["kullback", "klBern"])
    with pytest.warns(RuntimeWarning, match="tolerance"):
        place = peers(["IMED"])(N).one_Dinf(0.2, 0.6)
    assert place == pytest.approx(0.6, abs=1e-3)
    assert kl(0.2, 0.6) == pytest.approx(0.33, abs=0.01)


def test_sliding_window_ucb(peers):
    peer = peers(["SlidingWindowUCB", "SWUCB"])(N, tau=100, alpha=0.6)
    peer.startGame()

    def choose():
        lost = [arm for arm in range(N) if arm not in peer.last_choices]
        if lost:
            return lost[0]  # it would play these at random
        peer.t += 1
        arm = peer.choice()
        peer.t -= 1
        return arm

    assert_same_choices(SlidingWindowUCB(window=100), choose, peer.getReward)


def fill(policy, peer, plays):
    """Give both the same number of rewards of every arm; return the policy's setup and state."""
    setup = policy.setup(model())
    state = policy.rules.init(setup)
    peer.startGame()
    draws = np.random.default_rng(8).random((plays, N))
    for row in draws:
        for arm, u in enumerate(row):
            policy.rules.update(setup, state, arm, moderate(arm, u))
            peer.getReward(arm, moderate(arm, u))
    return setup, state


def test_ucb_tuned_where_the_cap_does_not_bind(peers):
    peer = peers(["UCBVtuned"])(N)
    _, state = fill(UCBTuned(), peer, 1000)
    peer.t += 1
    peer.computeAllIndex()
    np.testing.assert_allclose(state.indices, peer.index, rtol=1e-12)

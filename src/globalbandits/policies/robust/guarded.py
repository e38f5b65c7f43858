"""Guarded: test the model of a structured policy, and change the policy if it is refuted."""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._validation import as_float, as_fraction, as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.paper.wagp import WAGP
from globalbandits.policies.parts.guarding import Setup, State, explores, guard
from globalbandits.policies.parts.nesting import as_policy, label_around
from globalbandits.policies.robust.elastic import Elastic
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

_WAGP, _ELASTIC = WAGP(), Elastic()


@register("guarded")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Guarded(Policy):
    """Play a structured policy, test its model, and switch to a fallback if it is refuted.

    Round t plays a random arm with probability ``exploration * t**(-1/3)``, because rewards of a
    single arm can never refute a model. Over T rounds that is about ``1.5 * exploration *
    T**(2/3)`` plays, each of which costs the mean gap of the arms (`exploration_cost`).

    The test is the spike-and-slab process, with false-alarm rate ``alpha`` over all time. When no
    theta is left that explains all arms, there are two cases. If a change of theta explains the
    rewards better than a wrong model, the inner policy restarts without rewards, at most
    ``restarts`` times. Otherwise the fallback takes over for good, with all rewards since the last
    restart. The model is tested by what is observed. Value: as the two policies use it.

    Use it as an alarm, and for a parameter that jumps. It does not protect against a wrong arm:
    random plays find one late. For that use `Elastic`, or `Safe` around the policy.

    Args:
        inner: the structured policy; may be given by position.
        fallback: a policy that trusts the model less, or does not use it.
        alpha: the probability of ever switching or restarting if the model is right and theta
            does not change.
        exploration: the factor of the exploration probability, at least 0; at 0 the model may
            never become testable.
        restarts: how many changes of theta lead to a restart; 0 for none.

    >>> from globalbandits.policies import WAGP
    >>> Guarded(WAGP()).label
    'Guarded(WAGP)'
    """

    inner: Policy = dataclasses.field(default=_WAGP, kw_only=False)
    fallback: Policy = _ELASTIC
    alpha: float = 0.05
    exploration: float = 0.5
    restarts: int = 3

    def __post_init__(self) -> None:
        for name in ("inner", "fallback"):
            object.__setattr__(self, name, as_policy(name, getattr(self, name)))
        object.__setattr__(self, "alpha", as_fraction("alpha", self.alpha, PolicyError))
        exploration = as_float("exploration", self.exploration, PolicyError)
        require(exploration >= 0.0, "exploration", "be at least 0", exploration, PolicyError)
        object.__setattr__(self, "exploration", exploration)
        restarts = as_integer("restarts", self.restarts, 0, PolicyError)
        object.__setattr__(self, "restarts", restarts)

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The rules of both policies, put together."""
        return guard(self.inner.rules, self.fallback.rules)

    @property
    def compiled(self) -> bool:  # type: ignore[override]
        """Whether the rules of both policies can be."""
        return self.inner.compiled and self.fallback.compiled

    @property
    def ignores_value(self) -> bool:  # type: ignore[override]
        """What the inner policy declares."""
        return self.inner.ignores_value

    def setup(self, model: "RewardModel") -> Setup:
        """The setups of both policies, and alpha divided among the restarts."""
        starts = np.arange(1.0, self.restarts + 2.0)
        shares = 1.0 / (starts * (starts + 1.0)) if self.restarts else np.ones(1)
        return Setup(
            tables=model.tables,
            inner=self.inner.setup(model),
            fallback=self.fallback.setup(model),
            exploration=self.exploration,
            thresholds=-np.log(self.alpha * shares),
        )

    def exploration_cost(self, model: "RewardModel", theta: float, horizon: int) -> float:
        """Expected regret of the random plays in the first ``horizon`` rounds at theta."""
        rounds = np.arange(1.0, horizon + 1.0)
        n_plays = np.minimum(1.0, self.exploration * rounds ** (-1.0 / 3.0)).sum()
        return float(n_plays * model.gaps(theta).mean())

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Which policy plays, and its reason."""
        if state.refuted[0] == 1:
            reason = self.fallback.reason(setup.fallback, state.since, state.fallback)
            return f"model refuted, {reason}"
        return f"model not refuted, {self.inner.reason(setup.inner, state.since, state.inner)}"

    def limit(
        self, setup: Setup, stats: Statistics, state: State, rng: np.random.Generator
    ) -> str | None:
        """Whether this is a random play, or what moved the choice of the inner policy."""
        if state.refuted[0] == 1:
            return self.fallback.limit(setup.fallback, state.since, state.fallback, rng)
        if explores(setup.exploration, state.since.total[0], rng.random()):
            return "any arm, to test the model"
        return self.inner.limit(setup.inner, state.since, state.inner, rng)

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Whether the model is refuted, and the number of restarts."""
        return {"refuted": bool(state.refuted[0]), "restarts": int(state.n_restarts[0])}

    def observed(self, stats: Statistics, state: State) -> Statistics:
        """What the policy that plays decides by: nothing from before the last restart."""
        if state.refuted[0] == 1:
            return self.fallback.observed(state.since, state.fallback)
        return self.inner.observed(state.since, state.inner)

    @property
    def label(self) -> str:
        """The inner policy's label, and the parameters that are not default."""
        return label_around(self)

"""Global bandits: every curve is known, but for one number that all of them share.

Names are loaded when they are first used, so that ``import globalbandits`` stays cheap.

>>> import globalbandits as gb
>>> gb.WAGP()
WAGP()
"""

from importlib import import_module
from typing import TYPE_CHECKING

from globalbandits._version import __version__

if TYPE_CHECKING:
    from globalbandits import theory
    from globalbandits.environments import (
        ArcsineBetaNoise,
        BernoulliNoise,
        BetaNoise,
        Environment,
        FixedBias,
        GivenPath,
        Jumps,
        LinearDrift,
        MirroredBetaNoise,
        NoNoise,
        RandomWalk,
        SaleNoise,
        SinusoidalDrift,
        TruncatedNormalNoise,
        UniformBias,
    )
    from globalbandits.errors import (
        EvidenceError,
        GlobalBanditsError,
        ModelError,
        PolicyError,
        ResultError,
        RewardError,
        ScenarioError,
        SimulationError,
        StateError,
    )
    from globalbandits.evidence import Contenders, Evidence, Interval, ModelEvidence
    from globalbandits.evidence import from_log as evidence
    from globalbandits.model import Holder, Region, RegionalModel, RewardModel, demand, dose
    from globalbandits.policies import (
        BUW,
        GLMUCB,
        IDS,
        IMED,
        KLUCB,
        MOSS,
        OFUL,
        OSSB,
        TSC,
        UCB1,
        UCBC,
        UCBS,
        WAGP,
        ArmReport,
        DiscountedUCB,
        Elastic,
        EpsilonGreedy,
        Explanation,
        ExploreThenCommit,
        GridGreedy,
        GridThompson,
        Guarded,
        IndependentGittins,
        Learner,
        LinearGreedy,
        LinUCB,
        NonStationaryWAGP,
        Policy,
        RandomEffectsThompson,
        RegionalUCB,
        Rules,
        SlidingWindowUCB,
        ThompsonSampling,
        UCBTuned,
        UncertaintyEllipsoid,
        Uniform,
        register,
        registered,
    )
    from globalbandits.simulation import SimulationResult, simulate

__all__ = [
    "BUW",
    "GLMUCB",
    "IDS",
    "IMED",
    "KLUCB",
    "MOSS",
    "OFUL",
    "OSSB",
    "TSC",
    "UCB1",
    "UCBC",
    "UCBS",
    "WAGP",
    "ArcsineBetaNoise",
    "ArmReport",
    "BernoulliNoise",
    "BetaNoise",
    "Contenders",
    "DiscountedUCB",
    "Elastic",
    "Environment",
    "EpsilonGreedy",
    "Evidence",
    "EvidenceError",
    "Explanation",
    "ExploreThenCommit",
    "FixedBias",
    "GivenPath",
    "GlobalBanditsError",
    "GridGreedy",
    "GridThompson",
    "Guarded",
    "Holder",
    "IndependentGittins",
    "Interval",
    "Jumps",
    "Learner",
    "LinUCB",
    "LinearDrift",
    "LinearGreedy",
    "MirroredBetaNoise",
    "ModelError",
    "ModelEvidence",
    "NoNoise",
    "NonStationaryWAGP",
    "Policy",
    "PolicyError",
    "RandomEffectsThompson",
    "RandomWalk",
    "Region",
    "RegionalModel",
    "RegionalUCB",
    "ResultError",
    "RewardError",
    "RewardModel",
    "Rules",
    "SaleNoise",
    "ScenarioError",
    "SimulationError",
    "SimulationResult",
    "SinusoidalDrift",
    "SlidingWindowUCB",
    "StateError",
    "ThompsonSampling",
    "TruncatedNormalNoise",
    "UCBTuned",
    "UncertaintyEllipsoid",
    "Uniform",
    "UniformBias",
    "__version__",
    "demand",
    "dose",
    "evidence",
    "register",
    "registered",
    "simulate",
    "theory",
]

# Where each public name lives.
_HOMES: dict[str, tuple[str, ...]] = {
    "simulation": (
        "SimulationResult",
        "simulate",
    ),
    "evidence": ("Contenders", "Evidence", "Interval", "ModelEvidence"),
    "environments": (
        "ArcsineBetaNoise",
        "BernoulliNoise",
        "BetaNoise",
        "Environment",
        "FixedBias",
        "GivenPath",
        "Jumps",
        "LinearDrift",
        "MirroredBetaNoise",
        "NoNoise",
        "RandomWalk",
        "SaleNoise",
        "SinusoidalDrift",
        "TruncatedNormalNoise",
        "UniformBias",
    ),
    "errors": (
        "EvidenceError",
        "GlobalBanditsError",
        "ModelError",
        "PolicyError",
        "ResultError",
        "RewardError",
        "ScenarioError",
        "SimulationError",
        "StateError",
    ),
    "model": ("Holder", "Region", "RegionalModel", "RewardModel"),
    "policies": (
        "BUW",
        "GLMUCB",
        "IDS",
        "IMED",
        "KLUCB",
        "MOSS",
        "OFUL",
        "OSSB",
        "TSC",
        "UCB1",
        "UCBC",
        "UCBS",
        "WAGP",
        "ArmReport",
        "DiscountedUCB",
        "Elastic",
        "EpsilonGreedy",
        "Explanation",
        "ExploreThenCommit",
        "GridGreedy",
        "GridThompson",
        "Guarded",
        "IndependentGittins",
        "Learner",
        "LinUCB",
        "LinearGreedy",
        "NonStationaryWAGP",
        "Policy",
        "RandomEffectsThompson",
        "RegionalUCB",
        "Rules",
        "SlidingWindowUCB",
        "ThompsonSampling",
        "UCBTuned",
        "UncertaintyEllipsoid",
        "Uniform",
        "register",
        "registered",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = {
    "demand": "model.demand",
    "dose": "model.dose",
    "evidence": "evidence",
    "theory": "theory",
}


if not TYPE_CHECKING:  # a type checker that saw this would take any name for granted

    def __getattr__(name: str) -> object:
        if name in _HOME_OF:
            value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        elif name in _MODULES:
            value = import_module(f"{__name__}.{_MODULES[name]}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value  # the next look-up does not come here
        return value


def __dir__() -> list[str]:
    return sorted(__all__)

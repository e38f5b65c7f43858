"""The bodies of requests and responses. The OpenAPI document publishes these structs."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from globalbandits.service.stores.records import State

MAX_ITEMS = 1_000  # of a batch
MAX_HORIZON = 20_000  # decisions of a what-if, which a user waits for
RequestId = Annotated[
    str, Meta(min_length=1, max_length=200, pattern="^[!-~]+$", description="Yours, for retries.")
]
Unit = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern="^[!-~]+$",
        description="Who the decision is for, such as a visitor. See the setting sticky_seconds.",
    ),
]
Context = Annotated[
    str,
    Meta(min_length=1, max_length=200, description="The context, for a model with contexts."),
]
Count = Annotated[
    int,
    Meta(ge=1, le=1_000_000, description="The number of rewards that the reward is the sum of."),
]
Name = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Id = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[0-9A-Za-z_-]+$")]
Mode = Literal["live", "shadow", "paused"]
Late = Literal["accept", "refuse"]
Arm = str | float | int
Allowed = Annotated[
    list[Arm],
    Meta(
        min_length=1,
        max_length=10_000,
        description="The values of the arms that may be shown, such as those in stock.",
    ),
]


class Incoming(Struct, kw_only=True, forbid_unknown_fields=True):
    """A body of a request."""


class SettingsIn(Incoming, rename=None):
    """Settings to change. The others keep their values."""

    model: dict[str, Any] | UnsetType = UNSET
    policy: dict[str, Any] | UnsetType = UNSET
    mode: Mode | UnsetType = UNSET
    incumbent: Arm | UnsetType | None = UNSET
    held_back: Annotated[float, Meta(ge=0, lt=1)] | UnsetType = UNSET
    limits: tuple[float, float] | UnsetType | None = UNSET
    largest_step: Annotated[int, Meta(ge=1, le=1000)] | UnsetType | None = UNSET
    deadline_seconds: Annotated[float, Meta(gt=0, le=316224000)] | UnsetType | None = UNSET
    default_reward: float | UnsetType | None = UNSET
    late: Late | UnsetType = UNSET
    sticky_seconds: Annotated[float, Meta(gt=0, le=316224000)] | UnsetType | None = UNSET
    delay: dict[str, Any] | UnsetType | None = UNSET
    stop: dict[str, Any] | UnsetType | None = UNSET
    withdrawn: list[Arm] | UnsetType = UNSET
    arms: list[Arm] | UnsetType = UNSET  # those to show from now on: others are withdrawn
    probability_draws: Annotated[int, Meta(ge=1, le=100_000)] | UnsetType | None = UNSET


class BanditIn(SettingsIn):
    """A bandit to create: its model, its policy, and optional settings and seed."""

    model: dict[str, Any]
    policy: dict[str, Any]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | UnsetType = UNSET


class DecisionIn(Incoming):
    """A decision to make. With a request id the request can be repeated."""

    request_id: RequestId | None = None
    unit: Unit | None = None
    context: Context | None = None
    allowed: Allowed | None = None


class RewardIn(Incoming):
    """A reward, in the model's units. If a key occurs twice, its last value counts."""

    reward: float
    count: Count = 1


class DecisionItem(DecisionIn, kw_only=True):
    """One of many decisions to make."""

    bandit: Name


class RewardItem(Incoming):
    """One of many rewards."""

    bandit: Name
    decision_id: Id
    reward: float
    count: Count = 1


class DecisionsIn(Incoming):
    """Decisions to make, stored in one commit."""

    items: Annotated[list[DecisionItem], Meta(min_length=1, max_length=MAX_ITEMS)]


class RewardsIn(Incoming):
    """Rewards, learned in one commit."""

    items: Annotated[list[RewardItem], Meta(min_length=1, max_length=MAX_ITEMS)]


class PastReward(Incoming):
    """A reward from before the bandit, or with a count the sum of that many rewards."""

    value: Arm
    reward: float
    context: Context | None = None
    count: Count = 1


class ImportIn(Incoming):
    """Past rewards, in order, under an id of yours for retries. Learned in one commit."""

    import_id: Annotated[str, Meta(min_length=1, max_length=100, pattern="^[!-~]+$")]
    items: Annotated[list[PastReward], Meta(min_length=1, max_length=MAX_ITEMS)]


class TokenIn(Incoming):
    """A token to create, for the tenant of the caller."""

    role: Literal["read", "write", "admin"]
    label: Annotated[str, Meta(max_length=100, pattern="^[ -~]*$")] = ""
    expires_seconds: Annotated[float, Meta(gt=0, le=316_224_000)] | None = None


class Outgoing(Struct, kw_only=True):
    """A body of an answer."""


class Problem(Outgoing, omit_defaults=True):
    """An error (RFC 9457)."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"
    parameter: str | None = None
    reward: float | None = None  # after a conflict: the reward that was learned
    version: int | None = None


class ArmOut(Outgoing):
    """An arm, in a context if there are contexts: how often it was shown, and what was observed."""

    arm: int
    value: Arm
    shown: int
    pulls: int
    mean: float | None
    worth: float | None = None  # of the mean: the profit, if the model has a cost
    context: str | None = None


class BanditOut(Outgoing):
    """The present state of a bandit."""

    name: str
    version: int
    settings_number: int
    mode: Mode
    policy: str
    estimate: float | dict[str, float] | None
    open: int
    created_at: str
    arms: list[ArmOut]
    settings: dict[str, Any]
    warnings: list[str] = []
    closed: str = ""  # why it makes no new decisions: paused, or stopped and the reason
    contexts: list[str] = []  # their names; `arms` has all arms of the first one first


class BanditsOut(Outgoing):
    """A page of names, sorted. ``next`` is the ``after`` of the next page, if there is one."""

    bandits: list[str]
    next: str | None = None


class DeletedOut(Outgoing):
    """A bandit that was deleted."""

    name: str
    deleted_at: str


class SettingsOut(Outgoing):
    """Settings, and their number."""

    settings_number: int
    settings: dict[str, Any]


class DecisionOut(Outgoing):
    """A decision: show `value`, and send the reward with `decision_id`.

    ``probability`` is that of the shown arm, or null if it was not computed.
    """

    decision_id: str
    bandit: str
    arm: int
    value: Arm
    chosen: int
    chosen_value: Arm
    version: int
    settings_number: int
    decided_at: str
    deadline: str | None
    replayed: bool
    probability: float | None = None
    context: str | None = None


class RewardOut(Outgoing):
    """The outcome of a reward, and the version at which it was learned."""

    status: Literal["learned", "duplicate"]
    reward: float
    version: int


class ImportOut(Outgoing):
    """The outcome of an import, the number of its rewards, and the bandit's version."""

    status: Literal["learned", "duplicate"]
    rewards: int
    version: int


class PastOut(Outgoing):
    """A stored decision and its state, and its reasons if they were requested."""

    decision: DecisionOut
    state: State
    reward: float | None
    why: dict[str, Any] | None = None


class DecisionAnswer(Outgoing):
    """The answer for one of many decisions, the same as for a single one."""

    status: int
    decision: DecisionOut | None = None
    problem: Problem | None = None


class RewardAnswer(Outgoing):
    """The answer for one of many rewards, the same as for a single one."""

    status: int
    reward: RewardOut | None = None
    problem: Problem | None = None


class DecisionsOut(Outgoing):
    """Answers in the order of the items."""

    items: list[DecisionAnswer]


class RewardsOut(Outgoing):
    """Answers in the order of the items."""

    items: list[RewardAnswer]


class ExplanationOut(Outgoing):
    """The explanation of the choice that the policy would make now."""

    version: int
    explanation: dict[str, Any]


class EvidenceOut(Outgoing):
    """The evidence in the rewards, at a version that may be older than the bandit's."""

    as_of: int
    version: int
    age_seconds: float
    evidence: dict[str, Any]


class WeightOut(Outgoing):
    """An arm, and the probability that it is shown next."""

    arm: int
    value: Arm
    probability: float


class WeightsOut(Outgoing):
    """The probabilities of the arms now; exact, or shares of that many draws."""

    version: int
    settings_number: int
    exact: bool
    draws: int
    weights: list[WeightOut]


class WhatIfIn(Incoming):
    """Policies to compare in markets that the rewards allow. The first one is the baseline.

    Repeat the request until its answer is there.
    """

    always: Annotated[list[Arm], Meta(max_length=6)] = []  # values of arms that are always shown
    policies: Annotated[list[dict[str, Any]], Meta(max_length=6)] = []
    horizon: Annotated[int, Meta(ge=1, le=MAX_HORIZON)] | None = None


class WhatIfRow(Outgoing):
    """What a policy would earn, and its gain over the first one, with 95 % intervals."""

    policy: str
    earned: float
    low: float
    high: float
    per_decision: float
    gain: float
    gain_low: float
    gain_high: float
    beats_first: float  # the probability to earn more than the first one


class WhatIfOut(Outgoing):
    """What the policies would earn in ``horizon`` decisions, given the rewards until now."""

    horizon: int
    n_rewards: int
    policies: list[WhatIfRow]
    notes: list[str]


class WaitOut(Outgoing):
    """The answer is being computed. Repeat the request."""

    detail: str


class TokenOut(Outgoing):
    """A token without its secret."""

    id: str
    role: str
    label: str
    created_at: str
    expires_at: str | None


class NewTokenOut(TokenOut):
    """A token with its secret, which is shown only now."""

    token: str


class TokensOut(Outgoing):
    """The tenant's tokens."""

    tokens: list[TokenOut]


class HealthOut(Outgoing):
    """The state of the service."""

    status: str
    version: str
    detail: str = ""


# Messages of the page


class PreviewIn(Incoming):
    """A model to be drawn; nothing is stored."""

    model: dict[str, Any]


class RegionOut(Outgoing):
    """Where an arm is best."""

    arm: int
    low: float
    high: float


class CurvesOut(Outgoing):
    """Means and worths by arm over values of the parameter.

    If several numbers are unknown, ``parameter`` is the one that changes, and ``fixed`` has the
    values of the others, the middles of their intervals. With contexts the curves are those of
    ``context``.
    """

    values: list[Arm]
    thetas: list[float]
    means: list[list[float | None]]
    worths: list[list[float | None]]
    valued: bool
    regions: list[RegionOut]
    reward_range: list[float]
    parameter: str = "theta"
    fixed: dict[str, float] = {}
    context: str | None = None


class PointOut(Outgoing):
    """The evidence at one version of the log."""

    version: int
    theta: float | dict[str, float] | None
    low: float | None
    high: float | None
    log_e_value: float | None


class HistoryOut(Outgoing):
    """The evidence at versions, in order; the last one may be older than the bandit's."""

    version: int
    points: list[PointOut]


class LatestDecision(Outgoing):
    """A decision and its state."""

    decision: DecisionOut
    state: State
    reward: float | None


class LatestOut(Outgoing):
    """The latest decisions, the newest first."""

    decisions: list[LatestDecision]


class FamilyOut(Outgoing):
    """A family of models and its parameters, apart from the arms."""

    family: str
    summary: str
    parameters: list[str]


class AdviceOut(Outgoing):
    """A recommended policy, a short label, and when to take it."""

    policy: dict[str, Any]
    label: str
    text: str


class CatalogueOut(Outgoing):
    """The families of models and the policies, and the recommended policies, best first."""

    families: list[FamilyOut]
    policies: list[str]
    advice: list[AdviceOut]

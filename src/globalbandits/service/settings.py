"""What an operator sets about a bandit. A change is a new row of the log, never a reset."""

import dataclasses
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from globalbandits._rewards import as_unit
from globalbandits._validation import (
    as_float,
    as_integer,
    as_positive,
    require,
    require_known,
    show,
)
from globalbandits.errors import ServiceError
from globalbandits.model import RewardModel
from globalbandits.model.limits import MOST_ARMS
from globalbandits.policies.base import Policy
from globalbandits.service.texts import plain_json

MODES = ("live", "shadow", "paused")
LATE = ("accept", "refuse")
LONGEST_DEADLINE = 10 * 366 * 86_400.0  # seconds


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything about a bandit that may change while it learns.

    Args:
        model: the reward model as a dict. A change must keep arms and curves: a cost may differ.
        policy: the policy as a dict.
        mode: ``live`` shows what is chosen; ``shadow`` shows the incumbent; ``paused`` decides
            nothing, but rewards are learned.
        incumbent: the value of the arm that was in use before.
        held_back: share of the decisions for which the incumbent is shown in ``live`` mode, so
            that it stays comparable.
        limits: lowest and highest value of an arm that may be shown.
        largest_step: how many arms a shown one may be away from the arm last learned from; before
            any reward, from the incumbent.
        deadline_seconds: how long a decision waits for its reward.
        default_reward: what is learned when none has come by then.
        late: what becomes of a reward after the deadline where no default was learned:
            ``accept`` or ``refuse``.
    """

    model: Mapping[str, Any]
    policy: Mapping[str, Any]
    mode: str = "live"
    incumbent: Any = None
    held_back: float = 0.0
    limits: tuple[float, float] | None = None
    largest_step: int | None = None
    deadline_seconds: float | None = None
    default_reward: float | None = None
    late: str = "accept"

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> "Settings":
        """The settings a plain dict describes, checked."""
        names = [field.name for field in dataclasses.fields(Settings)]
        for key in given:
            require_known("setting", key, names, ServiceError)
        for key in ("model", "policy"):
            is_dict = isinstance(given.get(key), Mapping)
            require(is_dict, key, "be a dict", given.get(key), ServiceError)
        settings = Settings(**given)
        settings.check()
        return settings

    @staticmethod
    def from_log(body: str) -> "Settings":
        """Settings as the log has them; they were checked before they were stored."""
        return Settings(**json.loads(body))

    def to_dict(self) -> dict[str, Any]:
        """The settings as a plain dict."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def changed(self, changes: Mapping[str, Any]) -> "Settings":
        """These settings with some of them replaced, checked."""
        require(isinstance(changes, Mapping), "changes", "be a dict", changes, ServiceError)
        return Settings.from_dict(self.to_dict() | dict(changes))

    def build(self) -> tuple[RewardModel, Policy]:
        """The model and the policy; the same objects for the same settings."""
        return build_model(plain_json(self.model)), Policy.from_dict(self.policy)

    def check(self) -> None:
        """Refuse settings that make no sense, alone or together.

        Raises:
            GlobalBanditsError: with the parameter, the rule and the value.
        """
        model, policy = self.build()
        policy.setup(model)
        for name, allowed in (("mode", MODES), ("late", LATE)):
            require_known(name, getattr(self, name), allowed, ServiceError)
        share = as_float("held_back", self.held_back, ServiceError)
        require(0.0 <= share < 1.0, "held_back", "lie in [0, 1)", self.held_back, ServiceError)
        needed = self.mode == "shadow" or share > 0.0
        rule = "be an arm in shadow mode and where decisions are held back"
        require(not needed or self.incumbent is not None, "incumbent", rule, None, ServiceError)
        index_of(model, self.incumbent)
        allowed_arms(model, self.limits)
        if self.largest_step is not None:
            as_integer("largest_step", self.largest_step, 1, ServiceError, maximum=MOST_ARMS)
        if self.deadline_seconds is not None:
            as_positive("deadline_seconds", self.deadline_seconds, ServiceError)
            rule = f"be at most {LONGEST_DEADLINE:.0f}"
            within = self.deadline_seconds <= LONGEST_DEADLINE
            require(within, "deadline_seconds", rule, self.deadline_seconds, ServiceError)
        if self.default_reward is not None:
            as_unit("default_reward", self.default_reward, model.reward_range)
            rule = "be given where there is a default_reward"
            has_deadline = self.deadline_seconds is not None
            require(has_deadline, "deadline_seconds", rule, None, ServiceError)


def index_of(model: RewardModel, value: Any) -> int | None:
    """The arm with this value; None for no value."""
    if value is None:
        return None
    is_plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    found = [arm for arm in range(model.n_arms) if is_plain and model.arms[arm] == value]
    arms = show([plain_arm(arm) for arm in model.arms])
    require(len(found) > 0, "incumbent", f"be one of the arms {arms}", value, ServiceError)
    return found[0]


def allowed_arms(model: RewardModel, limits: Any) -> list[int] | None:
    """The arms within limits of their values; None for no limits."""
    if limits is None:
        return None
    is_pair = isinstance(limits, (list, tuple)) and len(limits) == 2
    require(is_pair, "limits", "be a pair [lowest, highest]", limits, ServiceError)
    low, high = (as_float("limits", end, ServiceError) for end in limits)
    values = [plain_arm(arm) for arm in model.arms]
    if any(isinstance(value, str) for value in values):
        raise ServiceError(f"limits need arms that are numbers, got {show(values)}")
    found = [arm for arm, value in enumerate(values) if low <= value <= high]
    require(len(found) > 0, "limits", f"leave one of the arms {show(values)}", limits, ServiceError)
    return found


def plain_arm(arm: Any) -> Any:
    """An arm's value as JSON has it: a number or a text."""
    if isinstance(arm, str):
        return arm
    try:
        return float(arm)
    except (TypeError, ValueError, OverflowError):
        return repr(arm)


@lru_cache(maxsize=64)
def build_model(spec: str) -> RewardModel:
    """The model of a spec in JSON, analysed once for all bandits that share it."""
    return RewardModel.from_dict(json.loads(spec))

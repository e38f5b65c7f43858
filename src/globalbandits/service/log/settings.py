"""The settings of a bandit. A change is a new row of the log, never a reset."""

import dataclasses
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from globalbandits._rewards import as_unit
from globalbandits._validation import (
    as_float,
    as_integer,
    as_list,
    as_positive,
    require,
    require_known,
    show,
)
from globalbandits.environments import Delay
from globalbandits.errors import ServiceError
from globalbandits.model import AnyModel, ContextModel, VectorModel
from globalbandits.model.description import MAX_ARMS
from globalbandits.model.files import build_model as model_from_data
from globalbandits.policies.base import Policy, require_masks
from globalbandits.policies.learner import StopWhen

MODES = ("live", "shadow", "paused")
LATE_RULES = ("accept", "refuse")
MAX_CONTEXT_CHARACTERS = 200  # of a name
MAX_PROBABILITY_DRAWS = 100_000
MAX_DEADLINE_SECONDS = 10 * 366 * 86_400.0


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and finite numbers, so that equal values are equal texts.

    >>> canonical_json({"b": 1, "a": [0.5]})
    '{"a":[0.5],"b":1}'
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ServiceError("settings must be plain JSON with finite numbers") from None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything about a bandit that may change while it learns.

    Args:
        model: the reward model as a dict. A change must keep the arms and the curves; a cost may
            change, arms may be added behind the others, and contexts may be added.
        policy: the policy as a dict.
        mode: ``live`` shows the chosen arm; ``shadow`` shows the incumbent; ``paused`` makes no new
            decisions but still learns rewards.
        incumbent: the value of the arm that was in use before the bandit.
        held_back: the share of decisions in the control group: they show the incumbent in ``live``
            mode, so that the two can be compared.
        limits: the lowest and the highest value of an arm that may be shown.
        largest_step: the largest distance, in arms, between the shown arm and the arm of the last
            learned reward; before the first reward, the incumbent.
        deadline_seconds: how long a decision waits for its reward.
        default_reward: the reward that is learned if none was reported by the deadline.
        late: whether a reward after the deadline is learned (``accept``) or refused (``refuse``)
            if no default was learned.
        sticky_seconds: how long a unit, such as a visitor, is shown the arm of its first decision.
            Then the arm is chosen anew. None to choose it for every request.
        delay: the law of the delay of rewards, in seconds, such as ``{"kind": "geometric", "mean":
            7200}``. Decisions then use open decisions as evidence, by their age. It needs
            `Elastic`, `DoseEscalation` or a grid policy, rewards that are 0 or 1, and
            ``deadline_seconds``.
        stop: a stopping rule as a dict, see `StopWhen`. Once it applies, no new decisions are made,
            but rewards are still learned and can be corrected.
        withdrawn: the values of the arms that are no longer shown. Their rewards remain as
            evidence, and late rewards are learned.
        probability_draws: how often to draw from a policy whose probabilities are not exact, once
            per version; None logs only exact ones.
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
    sticky_seconds: float | None = None
    delay: Mapping[str, Any] | None = None
    stop: Mapping[str, Any] | None = None
    withdrawn: tuple[Any, ...] = ()
    probability_draws: int | None = None

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> "Settings":
        """Build settings from a plain dict and check them.

        Raises:
            GlobalBanditsError: if a setting is missing, unknown or wrong.
        """
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
        """Build settings from a row of the log. They were checked before they were stored."""
        return Settings(**json.loads(body))

    def to_dict(self) -> dict[str, Any]:
        """The settings as a plain dict; ``withdrawn`` only if some arm is."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if not self.withdrawn:
            del found["withdrawn"]
        return found

    def changed(self, changes: Mapping[str, Any]) -> "Settings":
        """Replace some settings and check the result.

        ``arms`` is a short form: the values of the arms to show from now on. New ones are added
        behind the others, and those that are missing are withdrawn.
        """
        require(isinstance(changes, Mapping), "changes", "be a dict", changes, ServiceError)
        given = dict(changes)
        if "arms" in given:
            for key in ("model", "withdrawn"):
                rule = "be left out where arms is given"
                require(key not in given, key, rule, given.get(key), ServiceError)
            given |= self._with_arms(given.pop("arms"))
        return Settings.from_dict(self.to_dict() | given)

    def _with_arms(self, arms: Any) -> dict[str, Any]:
        """The model and the withdrawn arms if these arms are shown from now on."""
        model, _ = self.build()
        listed = as_list("arms", arms, "be a list of the arms' values", ServiceError)
        require(len(listed) > 0, "arms", "have at least one value", arms, ServiceError)
        old = [plain_arm(arm) for arm in model.arms]
        new = [value for value in listed if value not in old]
        gone = [value for value in old if value not in listed]
        changed = dict(self.model) | ({"arms": old + new} if new else {})
        if "family" in changed and model_from_data(changed).domain != model.domain:
            # The default ranges of a family depend on its arms. Those of the bandit stay.
            several = isinstance(model, VectorModel)
            changed = (dict(model.domain) if several else {"domain": model.domain}) | changed
        return {"model": changed, "withdrawn": gone}

    def _check_delay(self, model: Any, policy: Policy) -> None:
        given = isinstance(self.delay, Mapping)
        require(given, "delay", "be a dict with the key 'kind'", self.delay, ServiceError)
        self.delay_law.parameters(model.n_arms)  # type: ignore[union-attr]
        rules = policy.rules_of(policy.setup(cells_of(model)))
        rule = (
            "come with Elastic without a drift, DoseEscalation, or a grid policy with Bernoulli "
            "likelihood (GridGreedy, GridPlugIn, GridThompson, IDS)"
        )
        require(rules.pend is not None, "delay", rule, policy.label, ServiceError)
        rule = "be given where there is a delay"
        has_deadline = self.deadline_seconds is not None
        require(has_deadline, "deadline_seconds", rule, None, ServiceError)

    @cached_property
    def delay_law(self) -> Delay | None:
        """The law of the delay, in seconds; None if there is none."""
        return None if self.delay is None else Delay.from_dict(self.delay)

    def build(self) -> tuple[Any, Policy]:
        """The model and the policy. Equal models are the same object."""
        return build_model(canonical_json(self.model)), Policy.from_dict(self.policy)

    def check(self) -> None:
        """Check every setting and their combinations.

        Raises:
            GlobalBanditsError: naming the parameter, the rule and the value.
        """
        model, policy = self.build()
        setup = policy.setup(cells_of(model))
        if isinstance(model, ContextModel):
            require_masks(policy, policy.rules_of(setup))
            for name in model.contexts:
                valid = name.isprintable() and len(name) <= MAX_CONTEXT_CHARACTERS
                rule = f"be at most {MAX_CONTEXT_CHARACTERS} printable characters"
                require(valid, "contexts", rule, name, ServiceError)
        if self.stop is not None:
            StopWhen.from_dict(self.stop).setup(model)
        for name, allowed in (("mode", MODES), ("late", LATE_RULES)):
            require_known(name, getattr(self, name), allowed, ServiceError)
        share = as_float("held_back", self.held_back, ServiceError)
        require(0.0 <= share < 1.0, "held_back", "lie in [0, 1)", self.held_back, ServiceError)
        needed = self.mode == "shadow" or share > 0.0
        rule = "be an arm in shadow mode and where decisions are held back"
        require(not needed or self.incumbent is not None, "incumbent", rule, None, ServiceError)
        gone = withdrawn_arms(model, self.withdrawn)
        if gone:
            require_masks(policy, policy.rules_of(setup))
        incumbent = arm_index(model, self.incumbent)
        rule = "be an arm that is not withdrawn"
        require(incumbent not in gone, "incumbent", rule, self.incumbent, ServiceError)
        shown = allowed_arms(model, self.limits)
        left = shown is None or not set(shown) <= gone
        require(left, "limits", "leave an arm that is not withdrawn", self.limits, ServiceError)
        if self.largest_step is not None:
            as_integer("largest_step", self.largest_step, 1, ServiceError, maximum=MAX_ARMS)
        if self.probability_draws is not None:
            draws, most = self.probability_draws, MAX_PROBABILITY_DRAWS
            as_integer("probability_draws", draws, 1, ServiceError, maximum=most)
        if self.deadline_seconds is not None:
            as_positive("deadline_seconds", self.deadline_seconds, ServiceError)
            rule = f"be at most {MAX_DEADLINE_SECONDS:.0f}"
            within = self.deadline_seconds <= MAX_DEADLINE_SECONDS
            require(within, "deadline_seconds", rule, self.deadline_seconds, ServiceError)
        if self.sticky_seconds is not None:
            as_positive("sticky_seconds", self.sticky_seconds, ServiceError)
            rule = f"be at most {MAX_DEADLINE_SECONDS:.0f}"
            within = self.sticky_seconds <= MAX_DEADLINE_SECONDS
            require(within, "sticky_seconds", rule, self.sticky_seconds, ServiceError)
        if self.delay is not None:
            self._check_delay(model, policy)
        if self.default_reward is not None:
            as_unit("default_reward", self.default_reward, model.reward_range)
            rule = "be given where there is a default_reward"
            has_deadline = self.deadline_seconds is not None
            require(has_deadline, "deadline_seconds", rule, None, ServiceError)


def cells_of(model: Any) -> AnyModel:
    """The model of the cells if there are contexts; the model itself otherwise."""
    found: AnyModel = model.cells if isinstance(model, ContextModel) else model
    return found


def arm_index(model: AnyModel, value: Any, name: str = "incumbent") -> int | None:
    """The index of the arm with this value; None for None."""
    if value is None:
        return None
    is_plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    found = [arm for arm in range(model.n_arms) if is_plain and model.arms[arm] == value]
    arms = show([plain_arm(arm) for arm in model.arms])
    require(len(found) > 0, name, f"be one of the arms {arms}", value, ServiceError)
    return found[0]


def allowed_arms(model: AnyModel, limits: Any) -> list[int] | None:
    """The indices of the arms whose values are within the limits; None without limits."""
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


def withdrawn_arms(model: AnyModel, values: Any) -> set[int]:
    """The indices of the arms that are no longer shown; some arm must be left."""
    listed = as_list("withdrawn", values, "be a list of the arms' values", ServiceError)
    found = {arm_index(model, value, "withdrawn") for value in listed}
    gone = {arm for arm in found if arm is not None}
    require(len(gone) < model.n_arms, "withdrawn", "leave an arm to show", values, ServiceError)
    return gone


def plain_arm(arm: Any) -> Any:
    """An arm's value as a JSON value: a number or a text."""
    if isinstance(arm, str):
        return arm
    try:
        return float(arm)
    except (TypeError, ValueError, OverflowError):
        return repr(arm)


class ModelCache:
    """Builds models of JSON specifications; equal specifications share one model.

    Building a model takes tens of milliseconds, most of the time of a bandit that is not in memory.
    A model takes about 8 kB of memory per arm, so the models kept are limited by their arms.

    Args:
        max_arms: the number of arms of all models that are kept together. The least recently used
            models are dropped first.
    """

    def __init__(self, max_arms: int) -> None:
        self._max_arms = max_arms
        self._lock = threading.Lock()
        self._models: OrderedDict[str, AnyModel] = OrderedDict()
        self._n_arms = 0

    def __call__(self, spec: str) -> AnyModel:
        """The model of a JSON specification."""
        with self._lock:
            model = self._models.get(spec)
            if model is not None:
                self._models.move_to_end(spec)
                return model
        built = model_from_data(json.loads(spec))
        with self._lock:
            # Another thread may have built it meanwhile.
            model = self._models.setdefault(spec, built)
            self._n_arms += cells_of(model).n_arms if model is built else 0
            while self._n_arms > self._max_arms and len(self._models) > 1:
                _, oldest = self._models.popitem(last=False)
                self._n_arms -= cells_of(oldest).n_arms
        return model

    def clear(self) -> None:
        """Forget all models."""
        with self._lock:
            self._models.clear()
            self._n_arms = 0


build_model = ModelCache(max_arms=100_000)

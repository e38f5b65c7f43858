"""A provider of OpenFeature: flags whose values are decisions of the service.

The key of a flag is the name of a bandit. The targeting key is the unit that decides, such as a
visitor: the same unit gets the same decision. `track` reports the reward of the unit's decision.

    from openfeature import api
    api.set_provider(GlobalBanditsProvider(gb.Client("http://127.0.0.1:8000")))
    flags = api.get_client()
    visitor = EvaluationContext(targeting_key="visitor-17")
    price = flags.get_float_value("shop", 4.99, visitor)
    flags.track("shop", visitor, TrackingEventDetails(value=1.0))
"""

import hashlib
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from globalbandits._extras import needs_extra
from globalbandits._validation import as_integer, require
from globalbandits.errors import GlobalBanditsError, ServiceError, UnknownError

with needs_extra("openfeature"):
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.exception import (
        FlagNotFoundError,
        GeneralError,
        TargetingKeyMissingError,
        TypeMismatchError,
    )
    from openfeature.flag_evaluation import FlagResolutionDetails, Reason
    from openfeature.provider import AbstractProvider, Metadata
    from openfeature.track import TrackingEventDetails

MAX_REMEMBERED = 10_000
_REQUEST_ID = re.compile(r"[!-~]{1,190}")
_LOGGER = logging.getLogger("globalbandits.openfeature")


class DecisionClient(Protocol):
    """The calls of `globalbandits.Client` that the provider needs."""

    def decide(self, name: str, request_id: str | None = None) -> Any:
        """Make a decision, or return the earlier one of this request id."""

    def reward(self, name: str, decision_id: str, value: float) -> Any:
        """Report the reward of a decision."""


class GlobalBanditsProvider(AbstractProvider):  # type: ignore[misc]
    """Flags whose values are decisions of a service. Threads may share it.

    Args:
        client: a `globalbandits.Client`.
        events: the bandits whose decisions an event rewards, by the name of the event. An event
            that is not listed rewards the bandit of its own name.
        remembered: how many decisions are kept in memory, so that `track` needs one request
            instead of two.
    """

    def __init__(
        self,
        client: DecisionClient,
        *,
        events: Mapping[str, Sequence[str]] | None = None,
        remembered: int = MAX_REMEMBERED,
    ) -> None:
        super().__init__()
        for name in ("decide", "reward"):
            callable_ = callable(getattr(client, name, None))
            require(callable_, "client", "be a globalbandits.Client", client, ServiceError)
        self._client = client
        self._events = {event: list(names) for event, names in (events or {}).items()}
        self._remembered = as_integer("remembered", remembered, 0, ServiceError)
        self._decisions: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = threading.Lock()

    def get_metadata(self) -> Metadata:
        """The name of the provider."""
        return Metadata(name="globalbandits")

    def resolve_float_details(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """Decide on a number, such as a price."""
        return self._decide(flag_key, evaluation_context, float)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Decide on an arm that is a whole number."""
        return self._decide(flag_key, evaluation_context, int)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Decide on an arm that is a text."""
        return self._decide(flag_key, evaluation_context, str)

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Refuse: no arm is a boolean."""
        raise TypeMismatchError(f"{flag_key} has arms that are numbers or texts")

    def resolve_object_details(
        self, flag_key: str, default_value: Any, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[Any]:
        """Refuse: no arm is an object."""
        raise TypeMismatchError(f"{flag_key} has arms that are numbers or texts")

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Report the value of an event as the reward of the unit's decision; 1 without a value.

        An error is logged and not raised, because tracking must not stop an application.
        """
        value = None if tracking_event_details is None else tracking_event_details.value
        reward = 1.0 if value is None else float(value)
        for name in self._events.get(tracking_event_name, [tracking_event_name]):
            try:
                decision_id = self._decision_id(name, _unit(evaluation_context))
                if decision_id is None:
                    _LOGGER.warning("%s has no decision for this unit: no reward is sent", name)
                else:
                    self._client.reward(name, decision_id, reward)
            except (GlobalBanditsError, TargetingKeyMissingError) as error:
                _LOGGER.warning("the reward of %s was not learned: %s", name, error)

    def _decide(
        self, name: str, context: EvaluationContext | None, kind: type[Any]
    ) -> FlagResolutionDetails[Any]:
        unit = _unit(context)
        try:
            decision = self._client.decide(name, request_id(unit))
        except UnknownError as error:
            raise FlagNotFoundError(str(error)) from None
        except GlobalBanditsError as error:
            # OpenFeature then returns the default value.
            raise GeneralError(str(error)) from None
        self._remember(name, unit, decision.decision_id)
        value = decision.value
        if kind is str:
            fits = isinstance(value, str)
        else:
            fits = not isinstance(value, str) and kind(value) == value
        if not fits:
            raise TypeMismatchError(f"{name} has arms such as {value!r}")
        return FlagResolutionDetails(
            value=kind(value),
            reason=Reason.SPLIT,
            variant=str(decision.arm),
            flag_metadata=_metadata(decision),
        )

    def _remember(self, name: str, unit: str, decision_id: str) -> None:
        with self._lock:
            self._decisions[name, unit] = decision_id
            self._decisions.move_to_end((name, unit))
            while len(self._decisions) > self._remembered:
                self._decisions.popitem(last=False)

    def _decision_id(self, name: str, unit: str) -> str | None:
        """The unit's decision; None if it had none, in which case no arm was shown to it."""
        with self._lock:
            known = self._decisions.get((name, unit))
        if known is not None:
            return known
        # Another process may have decided. The same request id returns its decision.
        found = self._client.decide(name, request_id(unit))
        return str(found.decision_id) if found.replayed else None


def request_id(unit: str) -> str:
    """The request id of a unit: its targeting key, or a hash of it if it cannot be one.

    >>> request_id("visitor-17"), request_id("two words")[:12]
    ('unit:visitor-17', 'hash:0a74d9f')
    """
    if _REQUEST_ID.fullmatch(unit):
        return f"unit:{unit}"
    return f"hash:{hashlib.blake2b(unit.encode(), digest_size=16).hexdigest()}"


def _unit(context: EvaluationContext | None) -> str:
    if context is None or not context.targeting_key:
        raise TargetingKeyMissingError("targeting_key must name the unit that decides")
    return str(context.targeting_key)


def _metadata(decision: Any) -> dict[str, Any]:
    """What OpenFeature's hooks and logs see of a decision: texts and numbers."""
    found = {"decision_id": decision.decision_id, "version": decision.version}
    if decision.probability is not None:
        found["probability"] = decision.probability
    return found

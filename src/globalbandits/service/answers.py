"""From the log's rows to the bodies of answers."""

import dataclasses
import math
from typing import Any

from globalbandits.policies.learner import Explanation
from globalbandits.service.evidence_reader import plain
from globalbandits.service.log.append import DecisionResult, EventResult, Outcome
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.clock import as_text
from globalbandits.service.log.replay import Redecision
from globalbandits.service.log.settings import plain_arm
from globalbandits.service.messages import (
    ArmOut,
    BanditOut,
    DecisionOut,
    RewardOut,
    SettingsOut,
    TokenOut,
)
from globalbandits.service.stores.records import Decision, TokenRow
from globalbandits.service.web import Refused


def decision_out(bandit: Bandit, decision: Decision, replayed: bool) -> DecisionOut:
    """A decision."""
    arms = bandit.values
    return DecisionOut(
        decision_id=decision.id,
        bandit=bandit.row.name,
        arm=decision.shown,
        value=arms[decision.shown],
        chosen=decision.chosen,
        chosen_value=arms[decision.chosen],
        version=decision.version,
        settings_number=decision.settings,
        decided_at=as_text(decision.at),
        deadline=None if decision.deadline is None else as_text(decision.deadline),
        replayed=replayed,
    )


def decided_out(bandit: Bandit, decided: DecisionResult) -> tuple[int, DecisionOut]:
    """A decision and its status: 201 for a new one, 200 for one that was there."""
    out = decision_out(bandit, decided.decision, decided.replayed)
    return (200 if decided.replayed else 201), out


def told_out(decision_id: str, told: EventResult, *, retracting: bool = False) -> RewardOut:
    """What became of a reward, or of a retraction.

    Raises:
        Refused: 404, 409 or 410.
    """
    if told.outcome is Outcome.UNKNOWN:
        rule = "be a decision of this bandit" + (" that was learned from" if retracting else "")
        text = f"decision_id must {rule}, got {decision_id!r}"
        raise Refused(404, text, parameter="decision_id")
    if told.outcome is Outcome.CONFLICT:
        if retracting:
            raise Refused(409, "the policy cannot forget: the order of rewards matters to it")
        raise Refused(
            409,
            f"decision {decision_id} has the reward {told.value!r} already",
            reward=told.value,
            version=told.version,
        )
    if told.outcome is Outcome.LATE:
        raise Refused(410, f"the reward of {decision_id} came after its deadline")
    learned = told.outcome is Outcome.LEARNED
    return RewardOut(
        status="learned" if learned else "duplicate", reward=told.value, version=told.version
    )


def settings_out(bandit: Bandit) -> SettingsOut:
    """The settings that hold now."""
    return SettingsOut(settings_number=bandit.number, settings=bandit.settings.to_dict())


def bandit_out(bandit: Bandit) -> BanditOut:
    """A bandit now."""
    with bandit.lock:
        learner, version, number = bandit.learner, bandit.version, bandit.number
        settings = bandit.settings
        pulls, means = learner.pulls.tolist(), learner.means.tolist()
        estimate, shown, n_open = learner.estimate, list(bandit.shown), bandit.n_open
    return BanditOut(
        name=bandit.row.name,
        version=version,
        settings_number=number,
        mode=settings.mode,  # type: ignore[arg-type]
        policy=learner.policy.label,
        estimate=estimate,
        open=n_open,
        created_at=as_text(bandit.row.at),
        arms=[
            ArmOut(
                arm=arm,
                value=value,
                shown=shown[arm],
                pulls=pulls[arm],
                mean=None if math.isnan(means[arm]) else means[arm],
            )
            for arm, value in enumerate(bandit.values)
        ],
        settings=settings.to_dict(),
    )


def explanation_out(explanation: Explanation) -> dict[str, Any]:
    """An explanation as plain data, with the text a person reads."""
    said: dict[str, Any] = plain(dataclasses.asdict(explanation))
    for row, arm in zip(said["arms"], explanation.arms, strict=True):
        row["value"] = plain_arm(arm.value)
    return said | {"text": str(explanation)}


def why_out(past: Redecision) -> dict[str, Any]:
    """Why a past decision was made."""
    return {
        "shown_because": past.choice.why,
        "agrees": (past.choice.chosen, past.choice.shown)
        == (past.decision.chosen, past.decision.shown),
        "explanation": explanation_out(past.explanation),
        "settings": past.settings.to_dict(),
    }


def token_out(row: TokenRow) -> TokenOut:
    """A token without its secret."""
    return TokenOut(**token_fields(row))


def token_fields(row: TokenRow) -> dict[str, Any]:
    """What may be told about a token."""
    return {
        "id": row.id,
        "role": row.role,
        "label": row.label,
        "created_at": as_text(row.at),
        "expires_at": None if row.expires_at is None else as_text(row.expires_at),
    }

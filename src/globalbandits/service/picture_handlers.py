"""What the page asks for, beside what everybody asks for."""

import asyncio
from typing import Any

from globalbandits.model import RewardModel
from globalbandits.model.catalogue import families, parameters_of
from globalbandits.policies.base import registered
from globalbandits.service.answers import decision_out
from globalbandits.service.log.settings import build_model, canonical_json, plain_arm
from globalbandits.service.messages import WaitOut
from globalbandits.service.picture_messages import (
    CatalogueOut,
    CurvesOut,
    FamilyOut,
    HistoryOut,
    LatestDecision,
    LatestOut,
    PointOut,
    RegionOut,
)
from globalbandits.service.pictures import curves
from globalbandits.service.service import Service
from globalbandits.service.stores.records import decision_state, learned_event
from globalbandits.service.web import Answer, Request, as_number

MOST_DECISIONS = 100
_RETRY = ((b"retry-after", b"1"),)


async def show_curves(service: Service, request: Request) -> Answer:
    """The curves of a bandit's model."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    return Answer(200, await asyncio.to_thread(_curves, bandit.learner.model))


async def preview(service: Service, request: Request) -> Answer:
    """The curves of a model that nobody has stored."""

    def build() -> CurvesOut:
        return _curves(build_model(canonical_json(request.body.model)))

    return Answer(200, await asyncio.to_thread(build))


def _curves(model: RewardModel) -> CurvesOut:
    drawn: dict[str, Any] = curves(model)
    regions = [RegionOut(**region) for region in drawn.pop("regions")]
    return CurvesOut(values=[plain_arm(arm) for arm in model.arms], regions=regions, **drawn)


async def show_history(service: Service, request: Request) -> Answer:
    """How the evidence came about."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    points = await asyncio.to_thread(service.histories.ask, bandit)
    if points is None:
        return Answer(202, WaitOut(detail="the history is being computed"), _RETRY)
    return Answer(
        200, HistoryOut(version=bandit.version, points=[PointOut(**point) for point in points])
    )


async def list_decisions(service: Service, request: Request) -> Answer:
    """The latest decisions."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    limit = as_number(request.query, "limit", 20, MOST_DECISIONS)
    store = service.log.store

    def read() -> list[LatestDecision]:
        found = []
        for row in store.latest(bandit.row.id, limit):
            held = store.stored_events(row.id)
            learned = learned_event(held)
            found.append(
                LatestDecision(
                    decision=decision_out(bandit, row, True),
                    state=decision_state(held),
                    reward=None if learned is None else learned.value,
                )
            )
        return found

    return Answer(200, LatestOut(decisions=await asyncio.to_thread(read)))


async def show_catalogue(service: Service, request: Request) -> Answer:
    """The families of models and the policies there are."""
    described = [
        FamilyOut(
            family=name,
            summary=(family.__doc__ or "").strip().split("\n")[0],
            parameters=list(parameters_of(name)),
        )
        for name, family in families().items()
    ]
    return Answer(200, CatalogueOut(families=described, policies=sorted(registered())))

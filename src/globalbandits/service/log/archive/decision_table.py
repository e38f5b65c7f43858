"""The log as one flat table for analyses: a row for each decision, with its reward.

The table cannot be imported again; `transfer` exports everything.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from globalbandits._extras import needs_extra
from globalbandits.service.log.settings import Settings
from globalbandits.service.stores.records import (
    BanditRow,
    Decision,
    State,
    StoredEvent,
    decision_state,
    learned_event,
)
from globalbandits.service.stores.store import Store

_ROWS_PER_TABLE = 50_000


def decision_tables(store: Store, bandits: Sequence[BanditRow]) -> Iterator[Any]:
    """The decisions of some bandits as tables of PyArrow; the first one is always there.

    The columns are ``tenant``, ``bandit``, ``decision`` (its id), ``request_id``, ``arm`` (the
    value of the shown arm), ``shown`` and ``chosen`` (indices of arms), ``probability`` (of the
    shown arm, missing if it was not computed), ``version``, ``settings``,
    ``decided_at``, ``deadline``, ``state`` (open, rewarded, defaulted or retracted), ``reward``,
    ``reported_at``, ``unit``, ``count`` (of how many rewards ``reward`` is the sum), ``context``,
    and ``allowed`` (a JSON list of the arms that the request allowed, by index). Reward, time and
    count are missing unless the state is rewarded or defaulted. Arms are numbers if those
    of all bandits are, and texts otherwise.

    The events of one bandit are in memory at a time.
    """
    with needs_extra("files"):
        import pyarrow as pa

    arms = {row.id: _arms(store, row) for row in bandits}
    are_numbers = all(isinstance(arm, int | float) for values in arms.values() for arm in values)
    time = pa.timestamp("us", "UTC")
    schema = pa.schema(
        {
            "tenant": pa.string(),
            "bandit": pa.string(),
            "decision": pa.string(),
            "request_id": pa.string(),
            "arm": pa.float64() if are_numbers else pa.string(),
            "shown": pa.int32(),
            "chosen": pa.int32(),
            "probability": pa.float64(),
            "version": pa.int64(),
            "settings": pa.int32(),
            "decided_at": time,
            "deadline": time,
            "state": pa.string(),
            "reward": pa.float64(),
            "reported_at": time,
            "unit": pa.string(),
            "count": pa.int64(),
            "context": pa.string(),
            "allowed": pa.string(),
        }
    )
    yield schema.empty_table()
    for row in bandits:
        values = [arm if are_numbers else str(arm) for arm in arms[row.id]]
        events, times = _events(store, row)
        decisions = store.decisions(row.id)
        while rows := list(islice(decisions, _ROWS_PER_TABLE)):
            yield pa.Table.from_pylist(
                [
                    {"tenant": row.tenant, "bandit": row.name, "arm": values[decision.shown]}
                    | _columns(decision, events.get(decision.id, ()), times)
                    for decision in rows
                ],
                schema,
            )


def _columns(
    decision: Decision, events: Sequence[StoredEvent], times: Mapping[int, int]
) -> dict[str, Any]:
    state = decision_state(events)
    learned = learned_event(events) if state in (State.REWARDED, State.DEFAULTED) else None
    return {
        "decision": decision.id,
        "request_id": decision.request_id,
        "shown": decision.shown,
        "chosen": decision.chosen,
        "probability": decision.probability,
        "version": decision.version,
        "settings": decision.settings,
        "decided_at": decision.at,
        "deadline": decision.deadline,
        "state": state.value,
        "reward": None if learned is None else learned.value,
        "reported_at": None if learned is None else times[learned.seq],
        "unit": decision.unit,
        "count": None if learned is None else learned.n_rewards,
        "context": decision.context,
        "allowed": decision.allowed,
    }


def _arms(store: Store, row: BanditRow) -> Sequence[Any]:
    """The values of a bandit's arms by its newest settings."""
    model, _ = Settings.from_log(store.settings(row.id)[-1].body).build()
    return tuple(model.arms)


def _events(store: Store, row: BanditRow) -> tuple[dict[str, list[StoredEvent]], dict[int, int]]:
    """A bandit's events by decision, in order, and their times by number."""
    events: dict[str, list[StoredEvent]] = {}
    times = {}
    for event in store.events(row.id, upto=row.version):
        stored = StoredEvent(event.kind, event.value, event.seq, event.n_rewards)
        events.setdefault(event.decision, []).append(stored)
        times[event.seq] = event.at
    return events, times

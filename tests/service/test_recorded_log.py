"""The log of scripted sessions is the recorded one: decisions, outcomes, counts and snapshots.

Each session uses other settings, and all of them meet rewards, sums of rewards, retractions,
corrections, defaults, changes and restarts. A change that is meant to change decisions records
them again: ``python -m tests.service.test_recorded_log``.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from globalbandits.errors import GlobalBanditsError
from globalbandits.service.log import Log
from globalbandits.service.log.archive.retention import prune
from globalbandits.service.log.load import load
from globalbandits.service.log.replay import replay
from globalbandits.service.log.sweeper import Sweeper
from globalbandits.service.log.writer import Change
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import ARMS, MODEL, SECOND, HandClock

RECORD = Path(__file__).with_name("recorded_log.json")
RECORDED = json.loads(RECORD.read_text()) if RECORD.exists() else {}
START = HandClock().now()

SHOP = {"family": "demand.exponential", "arms": ARMS, "cost": 0.1, "domain": [0.2, 3.0]}
SEGMENTS = {
    "mean": "expit(1 + context - arm*theta)",
    "value": "arm * mean",
    "arms": ARMS,
    "domain": [0.5, 3.0],
    "contexts": {"weekday": 0.0, "weekend": 1.0},
}
THOMPSON = {"policy": "thompson_sampling"}
DUE = {"deadline_seconds": 3_000, "default_reward": 0.0}

# The settings of a bandit, and changes after a number of decisions.
SESSIONS = {
    "limits": (
        {"model": MODEL, "policy": THOMPSON, "largest_step": 1, "incumbent": 0.6}
        | {"held_back": 0.2, "probability_draws": 40, "limits": [0.4, 0.7]},
        {15: {"limits": [0.5, 0.8]}, 25: {"largest_step": 2, "held_back": 0.0}},
    ),
    "shadow": (
        {"model": MODEL, "policy": {"policy": "uniform"}, "mode": "shadow", "incumbent": 0.5},
        {10: {"mode": "live"}, 20: {"mode": "paused"}, 22: {"mode": "live", "incumbent": None}},
    ),
    "units": (
        {"model": MODEL, "policy": {"policy": "epsilon_greedy"}, "sticky_seconds": 4_000.0}
        | {"late": "refuse"}
        | DUE,
        {12: {"late": "accept"}, 20: {"sticky_seconds": 900.0, "default_reward": None}},
    ),
    "arms": (
        {"model": MODEL, "policy": {"policy": "wagp"}},
        {8: {"arms": [*ARMS, 0.45]}, 16: {"arms": [0.5, 0.6, 0.45]}, 24: {"model": None}},
    ),
    "delays": (
        {"model": SHOP, "policy": {"policy": "grid_thompson", "cells": 40}}
        | {"delay": {"kind": "geometric", "mean": 1_200}}
        | DUE,
        {20: {"delay": None}, 26: {"delay": {"kind": "fixed", "rounds": 600}}},
    ),
    "held": (
        {"model": MODEL, "policy": {"policy": "hold", "inner": THOMPSON, "every": 4, "start": 2}}
        | {"incumbent": 0.8, "held_back": 0.3, "sticky_seconds": 2_000.0},
        {18: {"held_back": 0.1}},
    ),
    "limited": (
        {"model": MODEL, "policy": {"policy": "limited", "largest_step": 1}, "limits": [0.5, 0.8]},
        {14: {"limits": None}},
    ),
    "stopped": (
        {"model": MODEL, "policy": THOMPSON, "stop": {"decisions": 14}},
        {},
    ),
    "contexts": (
        {"model": SEGMENTS, "policy": THOMPSON, "largest_step": 1, "probability_draws": 30},
        {
            12: {"model": SEGMENTS | {"contexts": {"weekday": 0.0, "weekend": 1.0, "feast": 0.5}}},
            20: {"withdrawn": [0.4], "incumbent": 0.7},
        },
    ),
    "late contexts": (
        {"model": SEGMENTS, "policy": {"policy": "grid_greedy", "cells": 40}}
        | {"delay": {"kind": "geometric", "mean": 1_200}}
        | DUE,
        {},
    ),
    "imported": ({"model": MODEL, "policy": THOMPSON}, {5: {"policy": {"policy": "ucb1"}}}),
}
N_STEPS = 32


def text(value):
    """A value as a short text; floats have six digits."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return "[" + " ".join(text(part) for part in value) + "]"
    if isinstance(value, dict):
        return text([[key, part] for key, part in sorted(value.items(), key=str)])
    return str(value)


class Session:
    """One bandit in a log of its own, and lines about all that happened."""

    def __init__(self, name):
        self.name, self.lines, self.ids = name, [], {}
        self.settings, self.changes = SESSIONS[name]
        self.clock, self.rng = HandClock(), np.random.default_rng(len(name))
        self.store = SQLiteStore(":memory:")
        self.open()
        self.log.create("shop", self.settings | {"seed": 5})

    def open(self):
        self.log = Log(self.store, clock=self.clock, compiled=False, snapshot_events=7)
        self.sweeper = Sweeper(self.log)

    def note(self, *parts):
        self.lines.append(" ".join(text(part) for part in parts))

    def attempt(self, what, act, *given, **named):
        """Note the answer, or the beginning of the error."""
        try:
            answer = act("shop", *given, **named)
        except GlobalBanditsError as error:
            self.note(what, "error", str(error)[:60])
            return None
        if answer is not None and what != "decide":
            self.note(what, *(answer if isinstance(answer, tuple) else [answer]))
        return answer

    def decide(self, step):
        contexts = self.log.bandit("shop").contexts
        context = contexts[int(self.rng.integers(len(contexts)))]
        some = [arm for arm in ARMS if self.rng.random() < 0.7]
        unit = f"u{self.rng.integers(4)}" if self.rng.random() < 0.8 else None
        request = {"unit": unit, "context": context}
        request["allowed"] = some if some and self.rng.random() < 0.3 else None
        found = self.attempt("decide", self.log.decide, f"r{step}", **request)
        if found is not None:
            row = found.decision
            self.ids[row.id] = f"r{step}"
            self.note(
                *("decide", row.chosen, row.shown, row.version, row.settings),
                (row.at - START) // SECOND,
                None if row.deadline is None else (row.deadline - row.at) // SECOND,
                *(self.ids.get(row.follows), row.probability, row.context, row.allowed),
            )

    def report(self):
        """A reward, a sum of rewards, a retraction, or a repeated report, of a random decision."""
        ids, draw = list(self.ids), self.rng.random()
        if not ids or draw < 0.2:
            return
        id = ids[-1] if draw < 0.7 else ids[int(self.rng.integers(len(ids)))]
        value = float(self.rng.random() < 0.4)
        if draw > 0.85:
            self.attempt("retract", self.log.retract, id)
        elif draw > 0.78:
            self.attempt("sum", self.log.reward, id, 3.0 * value, count=4)
        else:
            self.attempt("reward", self.log.reward, id, value)

    def look(self):
        """The state in memory and in the store, and a choice that is not stored."""
        bandit = self.log.bandit("shop")
        oldest = None if bandit.oldest_open is None else (bandit.oldest_open - START) // SECOND
        last = None if bandit.last_event_at is None else (bandit.last_event_at - START) // SECOND
        self.note("memory", bandit.version, bandit.number, bandit.shown, bandit.n_open)
        self.note("times", oldest, last, bandit.closed(), bandit.anchors, bandit.counts_decisions)
        for context in bandit.contexts:
            choices = [
                bandit.choose(f"look {number}", self.clock.now(), context=context)
                for number in range(3)
            ]
            self.note("choices", [(one.chosen, one.shown, one.why) for one in choices])
            found, _, _ = bandit.probabilities(25, context)
            self.note("chances", [float(chance) for chance in found], found.exact)

    def run(self):
        if self.name == "imported":
            past = [(ARMS[place % 5], float(place % 3 == 0)) for place in range(12)]
            past.append((0.5, 6.0, None, 9))
            for rewards in (past, past, past[:-1]):
                self.attempt("import", self.log.import_rewards, "past", rewards)
        for step in range(N_STEPS):
            self.clock.pass_seconds(float(self.rng.integers(20, 500)))
            if step in self.changes:
                self.attempt("change", self.log.change, self.changes[step])
            self.decide(step)
            self.report()
            if step % 6 == 5:
                self.note("swept", self.sweeper.sweep())
            if step % 11 == 10:
                self.look()
            if step == 20:
                self.log.stop()
                self.open()
        self.look()
        self.archive()
        self.log.close()
        return self.lines

    def archive(self):
        """The rows of the store, and what replay, explanations and pruning make of them."""
        log, store = self.log, self.store
        (row,) = store.bandits()
        # Snapshots are stored later than the answers that made them due.
        log.writer.submit(Change(lambda rows: None, lambda written: written)).result()
        for event in store.events(row.id):
            fields = (event.arm, event.value, event.n_rewards, event.context)
            self.note("event", event.seq, event.kind, self.ids.get(event.decision, "past"), *fields)
        self.note("settings", [(found.number, found.from_version) for found in store.settings(1)])
        self.note("refusals", [(found.reason, found.value) for found in store.refusals(1)])
        self.note("snapshots", [(found.version, found.settings) for found in store.snapshots(1)])
        for id in list(self.ids)[::9]:
            found = log.explain("shop", id)
            self.note("explained", found.choice, found.explanation.n_observations)
        report = replay(store, row, compiled=False, probability_draws=20)
        self.note("replay", report.version, report.decisions, report.agree, report.snapshots)
        assert report.good, report.wrong
        log.stop()
        self.note("pruned", prune(store, row, START + 6_000 * SECOND)[1:])
        report = replay(store, row, compiled=False)
        self.note("replay", report.base, report.decisions, report.agree, report.gone)
        assert report.good, report.wrong
        again = load(store, row, compiled=False)
        self.note("loaded", again.version, again.number, again.learner.pulls.tolist())


@pytest.mark.parametrize("name", SESSIONS)
def test_the_log_is_the_recorded_one(name):
    assert Session(name).run() == RECORDED[name]


if __name__ == "__main__":
    found = {name: Session(name).run() for name in SESSIONS}
    RECORD.write_text(json.dumps(found, indent=1) + "\n")

"""Acknowledged requests compared with the log: nothing lost, nothing twice, all recomputed."""

from collections import Counter, defaultdict

from globalbandits.service.log.load import load
from globalbandits.service.log.replay import replay
from tests.service.driver import bandit_of, reward_of


def read(path):
    """The ledger: decisions and rewards by (client, number)."""
    decisions, rewards = {}, {}
    with open(path) as file:
        for line in file:
            kind, client, n, id, *rest = line.split()
            table = decisions if kind == "D" else rewards
            table[int(client), int(n)] = (id, *rest)
    return decisions, rewards


def check_decisions(store, decisions):
    """Every acknowledged decision is stored unchanged, and no other."""
    rows = {row.id: row for bandit in store.bandits() for row in store.decisions(bandit.id)}
    assert len(decisions) == len(rows)  # none lost, none made twice
    for (client, n), (id, shown) in decisions.items():
        assert rows[id].request_id == f"{client}-{n}"
        assert rows[id].shown == int(shown)


def check_rewards(store, rewards):
    """Every acknowledged reward is there once, with its bits and in its place, and no other."""
    events = defaultdict(list)
    for bandit in store.bandits():
        found = list(store.events(bandit.id))
        assert [event.seq for event in found] == list(range(1, bandit.version + 1))
        for event in found:
            events[event.decision].append(event)
    assert sum(len(found) for found in events.values()) == len(rewards)
    for (client, n), (id, version) in rewards.items():
        (event,) = events[id]
        assert (event.value, event.seq) == (reward_of(client, n), int(version))


def check_memory(store, decisions, rewards):
    """What was learned is the sum of the ledger, in the log's order, bit by bit."""
    for row in store.bandits():
        learner = load(store, row, compiled=False).learner
        pulls = Counter(int(decisions[key][1]) for key in rewards if bandit_of(key[0]) == row.name)
        assert learner.pulls.tolist() == [pulls[arm] for arm in range(learner.model.n_arms)]
        low, high = learner.model.reward_range
        sums = [0.0] * learner.model.n_arms
        for event in store.events(row.id):
            sums[event.arm] += (event.value - low) / (high - low)
        assert learner.parts[2].sums.tolist() == sums


def check_replay(store, decisions):
    """Every decision is recomputed; snapshots taken in between equal the states of the log."""
    found = [replay(store, row, compiled=False) for row in store.bandits()]
    assert [report.wrong for report in found] == [[]] * len(found)
    assert sum(report.agree for report in found) == len(decisions)
    assert all(report.snapshots > 0 for report in found)


class WithoutSnapshots:
    """A store whose cache is gone."""

    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    def snapshot(self, bandit, upto=None, limit=None):
        return []

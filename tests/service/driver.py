"""A program that decides and learns as fast as it can, to be killed at any time.

    python -m tests.service.driver STORE LEDGER PAIRS
    python -m tests.service.driver STORE LEDGER STOP REPLICA STATE

Each of its clients resumes at the last pair in the ledger. A line is written to the ledger only
after the log has acknowledged the decision or reward. The second form is one of several replicas:
it continues until there is a file STOP, then waits until there is a file STATE.go, and writes the
states in its memory to STATE once they are as new as the store.
"""

import json
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from globalbandits.errors import StoreUnavailable
from globalbandits.service.log import Log
from globalbandits.service.log.replay import comparable_state
from globalbandits.service.stores import open_store
from tests.service.worlds import THOMPSON, WAGP

N_CLIENTS = 8
BANDITS = {"greedy": WAGP, "random": THOMPSON}
_PAUSE = 0.02  # seconds between pairs of a replica's client: its days are long


def bandit_of(client):
    return sorted(BANDITS)[client % len(BANDITS)]


def reward_of(client, n):
    """Numbers without a short binary form, so that sums show every bit that is lost."""
    return (1 + (client * 7919 + n * 104729) % 997) / 3000


def retry_until_available(call, *arguments):
    """Repeat a call while the store is unavailable."""
    while True:
        try:
            return call(*arguments)
        except StoreUnavailable:
            time.sleep(0.02)


def main(store, ledger, until, replica="0", state=None):
    paper = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def note(*words):
        os.write(paper, f"{' '.join(str(word) for word in words)}\n".encode())

    with open(ledger) as file:
        done = Counter(int(line.split()[1]) for line in file if line.startswith("R"))
    # The only process of a store has room for one of its two bandits: they keep leaving memory.
    room = 1 if state is None else len(BANDITS)
    log = retry_until_available(
        lambda: Log(open_store(store), compiled=False, snapshot_events=40, max_loaded=room)
    )
    for name, spec in BANDITS.items():
        retry_until_available(log.create, name, spec)

    def has_work(client, n):
        if state is None:
            return n < int(until)
        time.sleep(_PAUSE)
        # What was begun before a kill is ended first.
        return n == done[client] or not os.path.exists(until)

    def play(client):
        name = bandit_of(client)
        n = done[client]
        while has_work(client, n):
            decided = retry_until_available(log.decide, name, f"{client}-{n}")
            note("D", client, n, decided.decision.id, decided.decision.shown)
            value = reward_of(client, n)
            told = retry_until_available(log.reward, name, decided.decision.id, value)
            assert told.value == value
            note("R", client, n, decided.decision.id, told.version)
            if n % 5 == 0:
                again = retry_until_available(log.reward, name, decided.decision.id, value)
                assert (again.outcome, again.version) == ("duplicate", told.version)
            n += 1

    mine = range(int(replica) * N_CLIENTS, (int(replica) + 1) * N_CLIENTS)
    threads = [threading.Thread(target=play, args=(client,)) for client in mine]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if state is not None:
        write_states(log, Path(state))
    log.close()


def write_states(log, path):
    """What this replica's memory holds, once the others have stopped and it has caught up."""
    path.with_name(f"{path.name}.stopped").touch()
    while not path.with_name(f"{path.name}.go").exists():
        time.sleep(0.02)
    bandits = [log.bandit(name) for name in sorted(BANDITS)]
    heads = log.store.heads()
    while any(bandit.version < heads[bandit.row.id][0] for bandit in bandits):
        time.sleep(0.02)
    states = {bandit.row.name: comparable_state(bandit.state()) for bandit in bandits}
    path.write_text(json.dumps(states))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A program that decides and learns as fast as it can, to be killed at any time.

    python -m tests.service.driver STORE LEDGER PAIRS

Each of its clients goes on where the ledger says it was. A line is written to the ledger only
after the log has acknowledged what it says.
"""

import os
import sys
import threading
from collections import defaultdict

from globalbandits.service.log import Log
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import THOMPSON, WAGP

N_CLIENTS = 8
BANDITS = {"greedy": WAGP, "random": THOMPSON}


def bandit_of(client):
    return sorted(BANDITS)[client % len(BANDITS)]


def reward_of(client, n):
    """Numbers without a short binary form, so that sums show every bit that is lost."""
    return (1 + (client * 7919 + n * 104729) % 997) / 3000


def read(path):
    """The ledger: decisions and rewards by (client, number)."""
    decisions, rewards = {}, {}
    with open(path) as file:
        for line in file:
            kind, client, n, id, *rest = line.split()
            table = decisions if kind == "D" else rewards
            table[int(client), int(n)] = (id, *rest)
    return decisions, rewards


def main(store, ledger, n_pairs):
    paper = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def note(*words):
        os.write(paper, f"{' '.join(str(word) for word in words)}\n".encode())

    _, rewards = read(ledger)
    done = defaultdict(int)
    for client, _ in rewards:
        done[client] += 1
    log = Log(SQLiteStore(store), compiled=False, every=40)
    for name, spec in BANDITS.items():
        log.create(name, spec)

    def play(client):
        name = bandit_of(client)
        for n in range(done[client], n_pairs):
            decided = log.decide(name, f"{client}-{n}")
            note("D", client, n, decided.decision.id, decided.decision.shown)
            value = reward_of(client, n)
            told = log.reward(name, decided.decision.id, value)
            assert told.value == value
            note("R", client, n, decided.decision.id, told.version)
            if n % 5 == 0:
                again = log.reward(name, decided.decision.id, value)
                assert (again.outcome, again.version) == ("duplicate", told.version)

    threads = [threading.Thread(target=play, args=(client,)) for client in range(N_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

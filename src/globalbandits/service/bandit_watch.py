"""Watch the bandits in memory: count their open decisions, read their evidence, report refutations.

Without a watch, evidence is computed only when a client requests it, and a refuted model would go
unnoticed until the page is opened.
"""

import json
import logging
import threading
import time
import urllib.request

from globalbandits.service.evidence_reader import EvidenceReader, EvidenceReading
from globalbandits.service.log import Log
from globalbandits.service.log.bandit import Bandit

_LOGGER = logging.getLogger("globalbandits.service")
_READING_SECONDS = 60.0  # limit for one reading
_PAUSE_PER_READING = 9.0  # the watch uses at most a tenth of one processor
_WEBHOOK_SECONDS = 10.0


class Watch:
    """Visits bandits that have changed, one at a time.

    Args:
        log: the log.
        reading_seconds: between two readings of a bandit.
        webhook: an address that gets a POST when a model is refuted.
    """

    def __init__(self, log: Log, reading_seconds: float, webhook: str | None = None) -> None:
        self.readings = EvidenceReader(reading_seconds, observe=self.notice)
        self._log = log
        self._webhook = webhook
        self._visited: dict[int, tuple[int, int, int]] = {}  # state at the last visit
        self._refuted: set[int] = set()

    def visit(self, bandit: Bandit) -> float:
        """Count and read one bandit if it has changed; return the seconds to pause."""
        # A decision made during a count may be missing from it. It changes `n_counted`, so that
        # the next visit counts again.
        now = bandit.version, bandit.number, bandit.n_counted
        if now[0] == 0 or self._visited.get(bandit.row.id) == now:
            return 0.0
        self._visited[bandit.row.id] = now
        self._log.recount(bandit)
        begun = time.monotonic()
        self.readings.ask(bandit)
        self.readings.wait(bandit, _READING_SECONDS)
        return _PAUSE_PER_READING * (time.monotonic() - begun)

    def notice(self, bandit: Bandit, reading: EvidenceReading) -> None:
        """Report a model that was refuted since the last reading."""
        id, model = bandit.row.id, reading.evidence["model"]
        if not model["refuted"]:
            self._refuted.discard(id)
            return
        if id in self._refuted:
            return
        self._refuted.add(id)
        event = {
            "event": "refuted",
            "tenant": bandit.row.tenant,
            "bandit": bandit.row.name,
            "version": reading.version,
            "text": model["text"],
        }
        _LOGGER.warning("model refuted: %s", json.dumps(event), extra={"event": event})
        if self._webhook is not None:
            threading.Thread(target=_post, args=(self._webhook, event), daemon=True).start()


def _post(address: str, event: dict[str, object]) -> None:
    body, headers = json.dumps(event).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request(address, body, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=_WEBHOOK_SECONDS):
            pass
    except OSError as error:
        _LOGGER.error("the webhook cannot be called: %s", error)

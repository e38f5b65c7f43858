"""The log: every decision and every reward, and the bandits that learn from them.

`Log` is the public face. A bandit in memory is always a prefix of its log, so that every state and
every decision can be recomputed from the store.
"""

from globalbandits.service.log.log import MAX_LOADED, OPEN_SECONDS, SNAPSHOT_EVENTS, TENANT, Log

__all__ = ["MAX_LOADED", "OPEN_SECONDS", "SNAPSHOT_EVENTS", "TENANT", "Log"]

"""The decision service: a log that rebuilds every decision, its stores, and what serves it.

Nothing is imported here, so that a client or a reader of a log loads only what it uses.
"""

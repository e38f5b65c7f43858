"""The decision service: a log from which every decision can be recomputed, its stores and a server.

This module imports nothing, so that clients and readers of a log load only the modules they use.
"""

"""Plain functions compiled as they stand, and kept on disk: see docs/compiling.md.

Nothing here knows bandits. The learner and the simulator hand in plain functions over
NamedTuples of arrays and get compiled ones back.
"""

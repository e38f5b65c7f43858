"""The compiled part of a simulation: worlds, the play loop of a policy, and scores."""

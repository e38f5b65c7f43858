"""The compiled game: worlds, the loop of a policy, and its scores."""

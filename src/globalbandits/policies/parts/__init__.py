"""Pieces that policies are built from; none of them imports a policy."""

"""Noises: how a reward is drawn around its mean."""

"""Policies that forget, for means that change."""

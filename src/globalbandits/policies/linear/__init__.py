"""Policies that take means, or their logits, to be linear in features of the arms."""

"""Policies that assume means, or their logits, linear in features of the arms."""

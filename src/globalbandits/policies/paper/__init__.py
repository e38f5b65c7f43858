"""The policies of the paper."""

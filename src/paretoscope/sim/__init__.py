"""Worlds with a known truth, and runs of policies in them."""

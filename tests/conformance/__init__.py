"""Ours against the reference wheel itself, over seeded random inputs of every family (CONTRACTS 16).

``python -m conformance`` runs it; the reference lives in an environment of its own in the per-user cache.
"""

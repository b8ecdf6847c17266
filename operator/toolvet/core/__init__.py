"""Records, digests, differences, approvals and the decision: pure functions over values.

Nothing here does I/O, reads a clock, logs, or knows Kubernetes; an import contract holds it.
"""

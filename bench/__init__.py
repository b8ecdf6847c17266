"""What the gate costs, measured beside kopf's own webhook server on a real control plane: ``make bench``."""

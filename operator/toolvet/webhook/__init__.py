"""The gate: a stateless TLS server that reads current state and decides (DESIGN 2)."""

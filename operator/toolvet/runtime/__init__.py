"""What agent processes import: a registry of their tools, bound to a reviewed catalog."""

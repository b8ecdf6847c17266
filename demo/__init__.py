"""The product on an embedded control plane: a told story, and a sandbox to play in."""

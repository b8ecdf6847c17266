"""Reading the tools of a Model Context Protocol server, and what to record about them."""

"""The collector: what live MCP servers serve, as inventories and recorded changes."""

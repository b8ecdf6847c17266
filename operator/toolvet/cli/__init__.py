"""The commands: offline ones on documents and servers, and those that talk to a cluster."""

"""The controller: watches, judges again, writes statuses, history, Events and the gate's certificates."""

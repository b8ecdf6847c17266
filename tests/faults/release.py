"""The installed chart, its Service, and the processes that a test wants behind it."""

from collections.abc import Iterator
from contextlib import contextmanager

from controlplane.bed import ControlPlane
from controlplane.installation import Installation
from controlplane.ports import free_port
from controlplane.processes import Process
from faults.forwarder import Forwarder


class Release:
    """Processes are started here and end with the block that wanted them."""

    def __init__(self, installed: Installation, service: Forwarder) -> None:
        self.installed = installed
        self.service = service
        self.bed: ControlPlane = installed.bed
        self.namespace = installed.namespace

    @contextmanager
    def gates(self, number: int = 1, *, api_port: int | None = None) -> Iterator[list[Process]]:
        """Run so many gates behind the Service, and the controller that keeps their certificates."""
        with self.controller():
            ports = [free_port() for _ in range(number)]
            try:
                gates = [self.installed.start_gate(port=port, api_port=api_port) for port in ports]
                self.service.lead_to(ports)
                yield gates
                assert [gate.poll() for gate in gates] == [None] * number, "a gate ended"
            finally:
                self.service.lead_to([])
                for gate in self.installed.gates:
                    gate.stop()
                self.installed.gates.clear()

    @contextmanager
    def controller(self, *arguments: str, api_port: int | None = None) -> Iterator[Process]:
        """Run a controller."""
        process = self.installed.start_controller(*arguments, api_port=api_port)
        try:
            yield process
        finally:
            process.stop()
            self.installed.controllers.remove(process)

"""The product running with an empty enforce namespace, until it is stopped: a playground."""

import signal
import sys
from pathlib import Path

from controlplane.bed import ControlPlane
from controlplane.commands import run
from controlplane.installation import Installation
from controlplane.people import invite

NAMESPACE = "playground"


def play() -> None:
    """Start everything, say how to use it, and wait for Ctrl-C or SIGTERM."""
    with ControlPlane(audit=True) as bed, Installation(bed) as product:
        bed.kubectl("create", "namespace", NAMESPACE)
        people = invite(bed, product.chart.fullname, NAMESPACE)
        admin = bed.kubeconfig()
        environment = bed.command_environment()
        toolvet = Path(sys.executable).parent / "toolvet"
        run([toolvet, "namespace", "enforce", NAMESPACE, "--kubeconfig", admin], environment)
        print(
            f"""
Toolvet runs on an embedded control plane; namespace {NAMESPACE} is enforced and empty.

  export KUBECONFIG={admin}
  export PATH={toolvet.parent}:{environment["PATH"].split(":", 1)[0]}:$PATH

  kubectl get toolvet -n {NAMESPACE}
  kubectl toolvet --help

Kubeconfigs with fewer rights than the administrator's:
  engineer   {people.engineer}
  producer   {people.producer}
  reviewer   {people.reviewer}
  developer  {people.developer}

Logs: {product.gates[0].log}
      {product.controllers[0].log}
Audit log: {bed.audit_log}

Press Ctrl-C here, or send SIGTERM, to stop; nothing stays behind.""",
            flush=True,
        )
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
        print("stopping", flush=True)

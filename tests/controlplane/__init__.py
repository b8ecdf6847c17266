"""A real Kubernetes control plane for tests and demos: etcd, API server, controller manager, no node.

``build``     makes the programs once per user (``cd tests && python -m controlplane build``)
``bed``       starts and ends a control plane: ``with ControlPlane() as bed: bed.kubectl("get", "ns")``
``fixtures``  the same for pytest

This module imports nothing, so that ``build`` runs on a bare Python.
"""

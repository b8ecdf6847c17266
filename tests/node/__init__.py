"""A real single node for tests: kubelet, containerd, kube-proxy and DNS beside the control plane, Pods run.

``bed``       starts and ends it: ``with Node() as bed: bed.kubectl("get", "nodes")``
``keeper``    the process that owns it and leaves nothing behind
``__main__``  ``make node-up`` and ``make node-down``

This module imports nothing: ``keeper`` runs on a bare Python.
"""

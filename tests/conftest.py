from controlplane.fixtures import controlplane, namespace, pytest_collection_finish

__all__ = ["controlplane", "namespace", "pytest_collection_finish"]

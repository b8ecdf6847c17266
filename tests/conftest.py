from controlplane.fixtures import controlplane, namespace, product, pytest_collection_finish

__all__ = ["controlplane", "namespace", "product", "pytest_collection_finish"]

"""Toolvet: approve exactly which tools an AI agent may call, and stop the next rollout when they change."""

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: its reader is half of what an agent would import."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version  # noqa: PLC0415  # that is the point

    return version("toolvet")

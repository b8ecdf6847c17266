"""Toolvet: approve exactly which tools an AI agent may call, and stop the next rollout when they change."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("toolvet")

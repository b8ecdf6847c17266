from story.conftest import team

__all__ = ["team"]

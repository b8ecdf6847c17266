import shutil
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from image.archive import Archive, Entry
from image.build import BuiltImage, built_image
from image.container import Container
from image.programs import ImageError


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make the image before the first test: from nothing it takes longer than any test may."""
    needed = any("image" in getattr(item, "fixturenames", ()) for item in session.items)
    if needed and not session.config.option.collectonly:
        capture = session.config.pluginmanager.getplugin("capturemanager")
        shown = capture.global_and_fixture_disabled() if capture else nullcontext()
        with shown, suppress(ImageError):  # the fixture meets it again and fails each test that needs it
            built_image()


@pytest.fixture(scope="session")
def image() -> BuiltImage:
    return built_image()


@pytest.fixture(scope="session")
def archive(image: BuiltImage) -> Archive:
    return Archive(image.archive)


@pytest.fixture(scope="session")
def first_own_layer(image: BuiltImage, archive: Archive) -> int:
    below = Archive(image.base).diff_ids
    assert archive.diff_ids[: len(below)] == below
    return len(below)


@pytest.fixture(scope="session")
def entries(archive: Archive, first_own_layer: int) -> list[Entry]:
    return archive.entries_from(first_own_layer)


@pytest.fixture(scope="session")
def container(archive: Archive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    root: Path = tmp_path_factory.mktemp("root")
    root.chmod(0o755)
    for parent in root.parents:  # pytest's folders are its user's alone
        if parent.name.startswith("pytest-"):
            parent.chmod(0o755)
    archive.unpack(root)
    yield Container(root, archive.config)
    shutil.rmtree(root)


@pytest.fixture
def roomy(tmp_path: Path) -> Iterator[Path]:
    """A folder that is gone after the test: pytest keeps those of three runs, and here they are large."""
    folder = tmp_path / "roomy"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)

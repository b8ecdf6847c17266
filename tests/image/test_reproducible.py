"""The same commit gives the same bytes: anybody can build a release again and compare."""

from pathlib import Path

import pytest

from controlplane.progress import Progress
from image.archive import Archive
from image.build import BuiltImage, build, read_source


@pytest.mark.timeout(600)  # packages may have to be fetched
def test_a_second_build_gives_the_same_layers_and_list(
    image: BuiltImage, archive: Archive, first_own_layer: int, roomy: Path
) -> None:
    source = read_source()
    with Progress("image, again") as progress:
        again = build(roomy, image.base, source, progress)
    other = Archive(again.archive)
    first, second = archive.entries_from(first_own_layer), other.entries_from(first_own_layer)
    # Names, modes, owners, times, contents: this says where they differ, the digest only that they do.
    assert [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]] == []
    assert archive.diff_ids == other.diff_ids
    assert {entry.time for entry in first} == {float(source.epoch)}
    assert image.sbom.read_bytes() == again.sbom.read_bytes()

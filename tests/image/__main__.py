"""``python -m image``: build the image of this folder into dist/, with the list of what is in it."""

import json
import shutil
import sys

from image.archive import Archive
from image.build import ROOT, built_image
from image.programs import ImageError


def main() -> int:
    """Return the exit code: 0 done, 1 the image cannot be made."""
    try:
        image = built_image()
    except ImageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    stem = f"toolvet-{image.reference.rpartition(':')[2]}"
    archive = dist / f"{stem}.image.tar"
    listing = dist / f"{stem}.cdx.json"
    shutil.copyfile(image.archive, archive)
    shutil.copyfile(image.sbom, listing)
    facts = {
        "reference": image.reference,
        "archive": str(archive.relative_to(ROOT)),
        "sbom": str(listing.relative_to(ROOT)),
        "layers": Archive(archive).diff_ids,
    }
    print(json.dumps(facts, indent=2))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

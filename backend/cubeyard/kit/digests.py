"""Digests of sources: two builds are the same only if theirs are."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def own_digest() -> str:
    """This package, as it was when it was first read."""
    return digest_of(Path(__file__).parents[1])


def digest_of(package: Path) -> str:
    """A short digest of the Python sources below a folder, by relative name."""
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(package)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]

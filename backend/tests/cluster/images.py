"""Images for the cluster's nodes, as archives that `ctr images import` takes: a few files on
nothing."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import orjson

Json = dict[str, Any]


def archive(target: Path, name: str, files: dict[str, Path], folders: tuple[str, ...], entry: list[str]) -> None:
    """An image `name:1` in Docker's format: `files` by their path inside, empty folders, and what
    it runs."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as layer:
        for folder in folders:
            item = tarfile.TarInfo(folder)
            item.type, item.mode = tarfile.DIRTYPE, 0o755
            layer.addfile(item)
        for place, source in files.items():
            item = tarfile.TarInfo(place)
            item.size, item.mode = source.stat().st_size, 0o755
            with source.open("rb") as content:
                layer.addfile(item, content)
    content = held.getvalue()
    config: Json = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": entry, "User": "65534"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]},
    }
    described = orjson.dumps(config)
    identity = f"{hashlib.sha256(described).hexdigest()}.json"
    manifest = [{"Config": identity, "RepoTags": [f"{name}:1"], "Layers": ["layer.tar"]}]
    with tarfile.open(target, "w") as whole:
        for place, bytes_ in (("layer.tar", content), (identity, described), ("manifest.json", orjson.dumps(manifest))):
            item = tarfile.TarInfo(place)
            item.size = len(bytes_)
            whole.addfile(item, io.BytesIO(bytes_))

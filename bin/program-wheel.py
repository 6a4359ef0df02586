"""Packs cubeyard-fabric and cubeyard-node into a wheel: `program-wheel.py PROGRAMS DIST`. They are
static, so they run with any C library; pip puts them next to the command `cubeyard`."""

from __future__ import annotations

import base64
import hashlib
import platform
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("cubeyard-fabric", "cubeyard-node")
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The same programs give the same bytes."""
METADATA = """Metadata-Version: 2.4
Name: cubeyard-programs
Version: {version}
Summary: The static programs that Cubeyard's emulation starts
License-Expression: {license}
Requires-Python: >=3.11
"""
WHEEL = """Wheel-Version: 1.0
Generator: bin/program-wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""


def pack(programs: Path, target: Path) -> Path:
    """The path of the wheel."""
    project = tomllib.loads((ROOT / "backend/pyproject.toml").read_text())["project"]
    machine = platform.machine()
    tags = f"manylinux_2_17_{machine}", f"musllinux_1_1_{machine}"
    name = f"cubeyard_programs-{project['version']}"
    info = f"{name}.dist-info"
    files = {f"{name}.data/scripts/{program}": (programs / program).read_bytes() for program in PROGRAMS}
    files[f"{info}/METADATA"] = METADATA.format(**project).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag="\nTag: ".join(f"py3-none-{tag}" for tag in tags)).encode()
    digests = {path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()) for path, data in files.items()}
    lines = [f"{path},sha256={digests[path].decode().rstrip('=')},{len(data)}" for path, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    wheel = target / f"{name}-py3-none-{'.'.join(tags)}.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.external_attr = (0o100755 if "/scripts/" in path else 0o100644) << 16
            packed.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return wheel


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))

"""The programs of Kubernetes and Helm, in the cache folder where `bin/cluster` builds them; or the
reason why they are missing."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent
NEEDED = {
    "etcd": "etcd-server",
    "containerd": "containerd (or docker.io)",
    "ctr": "containerd (or docker.io)",
    "runc": "runc (or docker.io)",
    "openssl": "openssl",
    "ip": "iproute2",
}
"""Programs of the system, each with the package that has it."""
PLUGINS = Path("/usr/lib/cni")


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "cubeyard" / "cluster"


def built(name: str) -> Path:
    """Where a program of the Go module is, built; its name has the digest of what it is built
    from."""
    folder = HERE / "go"
    sources = [folder / "go.sum", *sorted(folder.glob("*.go")), folder / f"{name}.ldflags"]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    return cache() / f"{name}-{digest.hexdigest()[:16]}"


def missing() -> str:
    """Why there can be no cluster on this machine; empty if there can be one."""
    if os.geteuid() != 0:
        return "a cluster's nodes are network namespaces, which takes root"
    lacking = [f"{name} (package {package})" for name, package in NEEDED.items() if shutil.which(name) is None]
    if not (PLUGINS / "bridge").exists():
        lacking.append(f"{PLUGINS}/bridge (package containernetworking-plugins)")
    if lacking:
        return f"these are not installed: {', '.join(lacking)}"
    if not built("kubernetes").exists():
        return f"there is no {built('kubernetes')}: `bin/cluster build` builds it, in 8 minutes of a processor"
    return ""

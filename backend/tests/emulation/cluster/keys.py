"""Keys as the chart makes them: one authority, one certificate for the relays and one for the
workers."""

from __future__ import annotations

import subprocess
from pathlib import Path


def _run(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=30)


def authority(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    _run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(folder / "ca.key"))
    names = ("-subj", "/CN=cubeyard", "-addext", "basicConstraints=critical,CA:TRUE")
    _run("req", "-x509", "-new", "-key", str(folder / "ca.key"), "-days", "2", "-out", str(folder / "ca.crt"), *names)
    return folder


def signed(ca: Path, name: str, folder: Path) -> Path:
    """A folder with what one side has: `ca.crt`, `tls.crt` of this name, `tls.key`."""
    folder.mkdir(parents=True, exist_ok=True)
    key, request, reported = folder / "tls.key", folder / "asked.csr", folder / "extensions"
    _run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(key))
    _run("req", "-new", "-key", str(key), "-subj", f"/CN={name}", "-out", str(request))
    reported.write_text(f"subjectAltName=DNS:{name}\nextendedKeyUsage=serverAuth,clientAuth\n")
    _run(
        "x509", "-req", "-in", str(request), "-CA", str(ca / "ca.crt"), "-CAkey", str(ca / "ca.key"), "-CAcreateserial",
        "-days", "2", "-extfile", str(reported), "-out", str(folder / "tls.crt"),
    )  # fmt: skip
    (folder / "ca.crt").write_bytes((ca / "ca.crt").read_bytes())
    return folder

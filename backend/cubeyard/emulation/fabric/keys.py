"""Keys for relays and their callers: an authority, and a certificate signed by it for each side.
Made with openssl for `cubeyard keys`; the Helm chart makes the same by its own means."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from cubeyard.emulation.fabric.client import CALLER_NAME, RELAY_NAME, WATCHER_NAME

DAYS = 365
SIDES = {"relay": RELAY_NAME, "worker": CALLER_NAME, "api": WATCHER_NAME}
"""The sides by folder, each with the name in its certificate."""
OPENSSL_SECS = 30


def run_openssl(*words: str) -> None:
    """Raises OSError with the program's own words."""
    program = shutil.which("openssl")
    if program is None:
        raise OSError("the program openssl is missing; install it (package openssl)")
    done = subprocess.run([program, *words], check=False, capture_output=True, text=True, timeout=OPENSSL_SECS)
    if done.returncode != 0:
        raise OSError(f"openssl {words[0]}: {' '.join(done.stderr.split())[-300:]}")


def _key(path: Path) -> None:
    """Creates a file that only its owner can read, from the first byte on."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    path.chmod(0o600)
    run_openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(path))


def authority(folder: Path, days: int = DAYS) -> Path:
    """Creates the authority's folder with `ca.key` and `ca.crt`. An existing authority is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "ca.crt").exists():
        _key(folder / "ca.key")
        names = ("-subj", "/CN=cubeyard", "-addext", "basicConstraints=critical,CA:TRUE")
        words = ("-x509", "-new", "-key", str(folder / "ca.key"), "-days", str(days), "-out", str(folder / "ca.crt"))
        run_openssl("req", *words, *names)
    return folder


def signed(ca: Path, name: str, folder: Path, days: int = DAYS) -> Path:
    """Creates a folder for one side: `ca.crt`, `tls.crt` with this name, `tls.key`. Calling it
    again renews them."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        request, extensions = Path(made) / "request", Path(made) / "extensions"
        _key(folder / "tls.key")
        run_openssl("req", "-new", "-key", str(folder / "tls.key"), "-subj", f"/CN={name}", "-out", str(request))
        extensions.write_text(f"subjectAltName=DNS:{name}\nextendedKeyUsage=serverAuth,clientAuth\n")
        run_openssl(
            "x509", "-req", "-in", str(request), "-CA", str(ca / "ca.crt"), "-CAkey", str(ca / "ca.key"),
            "-set_serial", f"0x{os.urandom(16).hex()}", "-days", str(days), "-extfile", str(extensions), "-out", str(folder / "tls.crt"),
        )  # fmt: skip
    (folder / "ca.crt").write_bytes((ca / "ca.crt").read_bytes())
    return folder


def make_all(folder: Path, days: int = DAYS) -> list[Path]:
    """Creates a folder for each of SIDES, signed by the authority in `folder`, which is created if
    it is missing. Raises OSError."""
    ca = authority(folder, 10 * days)
    return [signed(ca, name, folder / side, days) for side, name in SIDES.items()]

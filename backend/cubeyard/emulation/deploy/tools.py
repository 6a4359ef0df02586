"""The programs of this machine for a shell in a server's container: BusyBox, which is one static
program with many names, and ping.

A server's image contains only the node. These programs add a shell of about 6 MB, with the same
rights as the container. A machine without them makes images without a shell, and reports what to
install.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

SHELL = "/bin/sh"
SETTINGS = "/etc/shellrc"
"""The startup file of an interactive shell."""
MISSING = "Servers have no shell: install Debian's busybox-static where workers run, and start another run."
FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WITHOUT = frozenset({"busybox", "ping", "ping6", "init", "linuxrc"})
"""Names that BusyBox does not get. Its ping needs a raw socket, which most containers may not open;
that of iputils does not."""
LIST_SECS = 10


@dataclass(frozen=True)
class Tools:
    """Files for an image: content by path, and the names of BusyBox's programs."""

    files: dict[str, bytes]
    names: tuple[str, ...]

    @classmethod
    def of_machine(cls) -> Tools | None:
        """The tools of this machine; None without a static BusyBox."""
        busybox = shutil.which("busybox", path=FOLDERS)
        if busybox is None or _libraries(busybox):
            return None
        listed = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=False, timeout=LIST_SECS)
        names = tuple(sorted(set(listed.stdout.split()) - WITHOUT))
        if "sh" not in names:
            return None
        files = {"bin/busybox": Path(busybox).read_bytes()}
        if (ping := shutil.which("ping", path=FOLDERS)) is not None and Path(ping).resolve().name != "busybox":
            files["bin/ping"] = Path(ping).read_bytes()
            # BusyBox's shell prefers its own ping to one on PATH, so an alias is needed.
            files[SETTINGS[1:]] = b"alias ping=/bin/ping\n"
            files |= {path[1:]: Path(path).read_bytes() for path in _libraries(ping)}
        return cls(files, names)

    def put(self, tar: tarfile.TarFile) -> None:
        """Adds the files, the names and their folders to an archive."""
        folders = {str(parent) for path in self.files for parent in Path(path).parents} - {"."}
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for path, content in sorted(self.files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
        for name in self.names:
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)


def _libraries(program: str) -> list[str]:
    """The files that a program loads, including the loader; none for a static program."""
    ldd = shutil.which("ldd", path=FOLDERS)
    if ldd is None:
        return []
    done = subprocess.run([ldd, program], capture_output=True, text=True, check=False, timeout=LIST_SECS)
    return sorted(set(re.findall(r"(/\S+) \(0x", done.stdout)))

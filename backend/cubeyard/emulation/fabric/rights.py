"""The root capabilities that a fabric needs, which ordinary containers do not have."""

from __future__ import annotations

from pathlib import Path

STATUS = Path("/proc/self/status")
NEEDED = {"NET_ADMIN": 12, "SYS_ADMIN": 21}
"""The capabilities with their numbers in Linux: for network devices, and for namespaces and
eBPF."""


def lacking_rights() -> str:
    """The capabilities that this process lacks, with the flags that grant them; empty if none is
    missing. Only meaningful for a process of root."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines() if ":" in line)
    effective = int(lines["CapEff"], 16)
    lacking = [name for name, bit in NEEDED.items() if not effective >> bit & 1]
    if not lacking:
        return ""
    flags = " ".join(f"--cap-add {name}" for name in lacking)
    return (
        f"cubeyard-fabric needs {' and '.join(f'CAP_{name}' for name in lacking)}, which root lacks here, as in an ordinary "
        f"container. Start the container with {flags} --security-opt apparmor=unconfined."
    )

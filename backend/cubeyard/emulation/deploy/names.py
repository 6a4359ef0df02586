"""What a server is called and labelled on its machine, and how to get into it."""

from __future__ import annotations

import shlex

RUN, SERVER, PLACE = "cubeyard.run", "cubeyard.server", "cubeyard.place"
"""Labels of containers and pods: which run, which of its servers, and whose."""
MEMORY_BYTES = 256 * 1024 * 1024
"""At most, a server."""


def container_name(run_id: str, server_name: str) -> str:
    """As `docker ps` shows it."""
    plain = "".join(letter if letter.isalnum() or letter in "_.-" else "-" for letter in server_name)
    return f"cubeyard-{run_id[:8]}-{plain}"


def namespace_name(run_id: str, server: int) -> str:
    """Of a server without a container, as `ip netns` shows it."""
    return f"cy-{run_id[:8]}-{server}"


def shell_command(run_id: str, server: int, name: str, mode: str) -> str:
    """A command that opens a shell in a server's network, on the machine that has it. Containers hold no shell of their own:
    the machine's is used, and its tools (`ping`, `ss`, `tcpdump`) with it.
    """
    if mode == "namespaces":
        return f"sudo ip netns exec {namespace_name(run_id, server)} bash"
    container = shlex.quote(container_name(run_id, name))
    return f"sudo nsenter --net --target \"$(docker inspect --format '{{{{.State.Pid}}}}' {container})\" bash"

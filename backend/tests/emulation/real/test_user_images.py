"""Users' images on servers, with a real engine: an HTTP server that responds over BCube, the effect
of faults on it, and the report of a program that does not run. The image is BusyBox of this
machine; no registry is used."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cubeyard.emulation.deploy import docker_disk
from cubeyard.emulation.deploy.docker_containers import DockerContainers
from cubeyard.settings import Settings
from tests.deployment.engine import Docker
from tests.emulation.real.conftest import Command
from tests.emulation.real.images import image_of
from tests.emulation.real.inside import busy_servers, capabilities, enter, wait_for

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]
NAME = "cubeyard-test-user"
TINY = ("--spec", '{"family":"bcube","n":2,"k":1}', "--link-rate", "20M", "--settle", "1", "--calibrate", "0.5")
PAGE = "server $CUBEYARD_SERVER at $CUBEYARD_ADDRESS, $GREETING"
SERVE = f"""busybox sh -c 'echo "{PAGE}" > /tmp/index.html; exec busybox httpd -f -p 8080 -h /tmp'"""
WEB = ("--image", NAME, "--image-command", SERVE, "--image-env", "GREETING=good day", "--image-servers", "11")


@pytest.fixture(scope="module")
def image(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> str:
    return image_of(docker, tmp_path_factory.mktemp("image"), "busybox", name=NAME)


def beside(docker: Docker) -> list[Json]:
    """The containers of users' programs, as the engine describes them."""
    listed = docker.run("ps", "--all", "--quiet", "--filter", "label=cubeyard.beside").stdout.split()
    return json.loads(docker.run("inspect", *listed).stdout) if listed else []


def fetch(file: str, address: str) -> str:
    """Requests a page with an unmodified client in the network of another server. Empty without an
    answer."""
    words = ("curl", "--silent", "--max-time", "3", f"http://{address}:8080/")
    return enter(file, *words, check=False).stdout.strip()


def address_of(container: Json) -> str:
    reported = dict(item.split("=", 1) for item in container["Config"]["Env"])
    return reported["CUBEYARD_ADDRESS"]


@pytest.mark.usefixtures("image")
def test_an_http_server_in_an_image_answers_to_another_server_over_the_network(
    emulate: Command, docker: Docker, nothing_left: Left
) -> None:
    process = emulate.start(*TINY, "--seconds", "12", *WEB)
    files = [file for _, file in wait_for(lambda: busy_servers(docker, 4))]
    (result,) = beside(docker)
    address = address_of(result)
    assert wait_for(lambda: fetch(files[0], address) or None) == f"server 11 at {address}, good day"
    kept, host = result["Config"], result["HostConfig"]
    assert host["NetworkMode"].startswith("container:")
    assert host["CapDrop"] == ["ALL"]
    assert host["ReadonlyRootfs"] is True
    assert (host["Memory"], host["PidsLimit"], host["RestartPolicy"]["Name"]) == (256 * 1024 * 1024, 256, "no")
    assert kept["User"] == "65534:65534"
    assert result["Mounts"] == []
    assert capabilities(f"/proc/{result['State']['Pid']}/ns/net") == 0
    report = emulate.finish(process)
    (reported,) = report["images"]
    assert (reported["image"], reported["servers"], reported["ended"]) == (NAME, ["11"], [])
    assert reported["identities"] == [docker.run("inspect", "--format", "{{.Id}}", NAME).stdout.strip()]
    assert report["timings"]["kept"] == []


@pytest.mark.long
@pytest.mark.usefixtures("image")
def test_it_is_frozen_killed_and_back_with_its_server(emulate: Command, docker: Docker, nothing_left: Left) -> None:
    faults = ("--fault", "server-frozen=11@2-6", "--fault", "server-killed=11@9-13")
    process = emulate.start(*TINY, "--seconds", "20", *WEB, *faults)
    files = [file for _, file in wait_for(lambda: busy_servers(docker, 4))]
    address = address_of(beside(docker)[0])

    def state() -> str:
        return str(beside(docker)[0]["State"]["Status"])

    for wanted in ("paused", "running", "exited", "running"):
        wait_for(lambda wanted=wanted: state() == wanted or None)
        if wanted == "running":
            assert wait_for(lambda: fetch(files[0], address) or None).startswith("server 11 at")
        else:
            assert fetch(files[0], address) == ""
    report = emulate.finish(process)
    assert report["images"][0]["ended"] == [], "a fault ended it, not itself"
    assert "program-ended" not in {event["kind"] for event in report["events"]}


@pytest.mark.long
@pytest.mark.usefixtures("image")
def test_one_that_ends_later_is_an_event_with_its_last_words(
    emulate: Command, docker: Docker, nothing_left: Left
) -> None:
    command = "busybox sh -c 'sleep 6; echo no more room; exit 3'"
    report = emulate.run(*TINY, "--seconds", "10", "--image", NAME, "--image-command", command, "--image-servers", "01")
    (event,) = [item for item in report["events"] if item["kind"] == "program-ended"]
    assert (event["status"], event["message"], event["image"]) == (3, "no more room", NAME)
    (ended,) = report["images"][0]["ended"]
    assert (ended["server"], ended["status"], ended["message"]) == ("01", 3, "no more room")
    assert min(flow["goodput_bits_per_sec"] for flow in report["per_flow"]) > 0, "the server itself continues"


@pytest.mark.long
@pytest.mark.usefixtures("image")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--image", "127.0.0.1:1/none/such:1"), "An image from the registry 127.0.0.1:1 is not allowed here."),
        (("--image", NAME), f"Image {NAME} has no command."),
        (("--image", NAME, "--image-command", "no-such-program"), f"Server 01: image {NAME} does not start: "),
        (
            ("--image", NAME, "--image-command", "busybox sh -c 'echo no port; exit 7'"),
            f"Server 01: image {NAME} ended with status 7: no port.",
        ),
    ],
)
def test_a_program_that_does_not_run_is_reported_by_server_and_image_before_the_start(
    emulate: Command, docker: Docker, nothing_left: Left, words: tuple[str, ...], said: str
) -> None:
    only = ("--image-servers", "01") if NAME in words else ()
    result = emulate.run(*TINY, "--seconds", "20", *words, *only, code=2)["said"]
    assert said in " ".join(result.split()), result


@pytest.mark.long
@pytest.mark.usefixtures("image")
def test_a_writable_root_can_be_written_and_the_other_cannot(
    emulate: Command, docker: Docker, nothing_left: Left, tmp_path: Path
) -> None:
    write = ["busybox", "sh", "-c", "echo x > /here || exit 9; sleep 100"]
    item = {"image": NAME, "command": write, "servers": ["00"]}
    result = emulate.run(*TINY, "--seconds", "2", "--set", f"images={json.dumps([item])}", code=2)["said"]
    assert "Read-only file system" in " ".join(result.split()), result
    # The folder belongs to root, and the program runs as nobody: `writable` makes the layer
    # writable, but does not change the permissions in the image.
    item |= {"writable": True, "command": ["busybox", "sh", "-c", "echo x > /tmp/here || exit 9; sleep 100"]}
    report = emulate.run(*TINY, "--seconds", "2", "--set", f"images={json.dumps([item])}")
    assert report["images"][0]["ended"] == []


@pytest.mark.long
@pytest.mark.usefixtures("image")
def test_a_volume_of_an_image_is_memory_and_not_the_engines_disk(
    emulate: Command, docker: Docker, nothing_left: Left
) -> None:
    """The engine would otherwise create a folder for it on its disk, writable and without a
    limit."""
    name = f"{NAME}-volume"
    made = docker.run("create", NAME, "busybox").stdout.strip()
    docker.run("commit", "--change", "VOLUME /data", made, name)
    docker.run("rm", made)
    fill = "busybox dd if=/dev/zero of=/data/x bs=1M count=17; busybox stat -c %s /data/x; exit 3"
    item = {"image": name, "command": ["busybox", "sh", "-c", fill], "servers": ["00"]}
    try:
        result = emulate.run(*TINY, "--seconds", "2", "--set", f"images={json.dumps([item])}", code=2)["said"]
        assert "16777216" in " ".join(result.split()), result
        assert docker.run("volume", "ls", "--quiet").stdout == ""
    finally:
        docker.run("rmi", name)


@pytest.mark.long
def test_the_disk_of_an_engine_elsewhere_is_measured_by_a_container_of_it(
    docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The local engine, as if no folder of it were visible."""
    for name, value in docker.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(docker_disk, "_seen", lambda _: None)
    root = docker.run("info", "--format", "{{.DockerRootDir}}").stdout.strip()
    containers = DockerContainers(Settings(), "disk-test")
    image = containers.image()
    with docker_disk.free_space(containers.api, "disk-test", "0" * 14, image) as free:
        measured = wait_for(free)
        assert measured == pytest.approx(shutil.disk_usage(root).free, rel=0.2)
    containers.close()
    assert docker.run("ps", "--all", "--quiet", "--filter", "label=cubeyard.place=disk-test").stdout == ""

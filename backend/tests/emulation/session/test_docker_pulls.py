"""Users' images on a scripted engine: limits, errors by kind, and removal after a run."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, ImageNotFound, NotFound

from cubeyard.emulation.deploy import docker_beside, docker_disk
from cubeyard.emulation.deploy.beside import KINDS, ImageRefusedError
from cubeyard.emulation.deploy.docker_containers import DockerContainers
from cubeyard.emulation.deploy.docker_pulls import HELD, Image, forget, have_all
from cubeyard.emulation.setup.user_images import Beside
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import MEBIBYTE, Settings

Json = dict[str, Any]
SECRET = "the service at 10.0.0.7 is called payroll"


class Engine:
    """The parts of a Docker engine's API that concern images."""

    def __init__(self, news: list[Json] | None = None, size: int = 10) -> None:
        self.images_by_name: dict[str, Json] = {}
        self.used: set[str] = set()
        self.killed: list[str] = []
        self._news = news or []
        self._size = size

    def has(self, name: str, size: int = 10) -> Json:
        new = {"Id": f"sha256:{len(self.images_by_name):012}{'0' * 52}", "Size": size}
        return self.images_by_name.setdefault(name, new)

    def info(self) -> Json:
        return {"DockerRootDir": "/nowhere"}

    def create_host_config(self, **given: Any) -> Json:
        return given

    def create_container(self, image: str, **given: Any) -> Json:
        raise APIError(f"{image} has no shell for {sorted(given)}")

    def inspect_container(self, container: str) -> Json:
        raise NotFound(f"no such container: {container}")

    def inspect_image(self, name: str) -> Json:
        for known, image in self.images_by_name.items():
            if name in (known, image["Id"]):
                return {**image, "RepoTags": self.names(image["Id"])}
        raise ImageNotFound("no such image")

    def names(self, identity: str) -> list[str]:
        return [name for name, image in self.images_by_name.items() if image["Id"] == identity]

    def pull(self, name: str, **_: Any) -> Iterator[Json]:
        yield from self._news
        self.has(name, self._size)

    def tag(self, identity: str, repository: str, tag: str) -> None:
        image = next(image for image in self.images_by_name.values() if image["Id"] == identity)
        self.images_by_name[f"{repository}:{tag}"] = image

    def images(self, filters: Json) -> list[Json]:
        """Lists only the images whose names match, as engines do."""
        matching = {image["Id"]: image for name, image in self.images_by_name.items() if self._matches(name, filters)}
        return [
            {**image, "RepoTags": [name for name in self.names(identity) if self._matches(name, filters)]}
            for identity, image in matching.items()
        ]

    def _matches(self, name: str, filters: Json) -> bool:
        return name.startswith(f"{filters['reference']}:")

    def containers(self, filters: Json, **_: Any) -> list[Json]:
        return [{"Id": "c"}] if filters.get("ancestor") in self.used else []

    def remove_image(self, name: str) -> None:
        """Removes one name; an image is removed with its last name."""
        if name not in self.images_by_name:
            raise ImageNotFound("no such image")
        del self.images_by_name[name]


def pulled(engine: Engine, settings: Settings, image: str = "web", run: str = "r1") -> Image:
    return have_all(settings, engine, run, {image: "00"}, lambda: None)[image]


def test_only_pulled_images_are_removed_after_their_run_and_none_in_use() -> None:
    engine, settings = Engine(), Settings()
    engine.has("mine")
    pulled(engine, settings, "mine")
    pulled(engine, settings)
    identity = engine.images_by_name["web"]["Id"]
    engine.used = {identity}
    forget(settings, engine, "r1")
    assert "web" in engine.images_by_name
    engine.used = set()
    forget(settings.model_copy(update={"image_keep_bytes": 10}), engine, "r1")
    assert "web" in engine.images_by_name, "kept by choice"
    forget(settings, engine, "r1")
    assert set(engine.images_by_name) == {"mine"}


def test_an_image_that_another_run_is_about_to_start_stays() -> None:
    """The image was pulled, but its container does not exist yet."""
    engine, settings = Engine(), Settings()
    image = pulled(engine, settings, run="r1")
    assert pulled(engine, settings, run="r10") == image
    forget(settings, engine, "r1")
    forget(settings, engine, "r2")
    assert "web" in engine.images_by_name
    forget(settings, engine, "r10")
    assert engine.images_by_name == {}


def test_an_image_that_a_run_takes_while_it_is_removed_stays_by_its_id() -> None:
    class Late(Engine):
        def remove_image(self, name: str) -> None:
            super().remove_image(name)
            if name == "web":
                self.tag(identity, HELD, f"r2-{identity[7:19]}")

    engine, settings = Late(), Settings()
    identity = pulled(engine, settings).identity
    forget(settings, engine, "r1")
    assert engine.inspect_image(identity)["Id"] == identity
    forget(settings, engine, "r2")
    assert engine.images_by_name == {}


def containers(engine: Engine) -> DockerContainers:
    result = DockerContainers(Settings(), "owner")
    result._local.api = engine
    return result


@pytest.mark.parametrize("fails", ["missing", "cancelled"])
def test_images_of_a_run_that_ends_before_its_first_program_are_removed(fails: str) -> None:
    class Partly(Engine):
        def pull(self, name: str, **_: Any) -> Iterator[Json]:
            if name == "missing":
                yield {"error": "manifest unknown"}
            else:
                self.has(name)
                yield {"status": "Pull complete"}

    def check(_: int) -> None:
        if fails == "cancelled" and "web" in engine.images_by_name:
            raise TimeoutError

    engine = Partly()
    run = containers(engine)
    beside = {1: Beside("missing"), 2: Beside("web")}  # the last is pulled first
    with pytest.raises((ImageRefusedError, TimeoutError)):
        run.create(
            "r1",
            {1: "00", 2: "01"},
            "node",
            {},
            host_names={},
            raw_sockets=False,
            beside=beside,
            check=check,
            came=lambda _: None,
        )
    assert "web" in engine.images_by_name
    run.remove("r1")
    assert engine.images_by_name == {}


def test_without_local_an_image_of_the_engine_is_asked_of_its_registry() -> None:
    settings = Settings(image_registries=["docker.io"])
    engine = Engine([{"error": "pull access denied for web, repository does not exist"}])
    engine.has("web")
    with pytest.raises(ImageRefusedError, match="web cannot be had"):
        pulled(engine, settings)
    pulled(engine, Settings())


@pytest.mark.parametrize(
    "news",
    [
        [{"status": "Downloading", "id": str(layer), "progressDetail": {"total": MEBIBYTE}} for layer in range(3)],
        [{"status": "Downloading", "id": "endless", "progressDetail": {"current": 3 * MEBIBYTE, "total": -1}}],
    ],
)
def test_a_pull_ends_at_the_limit_that_its_manifest_announces_or_its_layers_reach(news: list[Json]) -> None:
    engine = Engine(news)
    with pytest.raises(ImageRefusedError, match="larger than 2 MiB, the limit here"):
        pulled(engine, Settings(image_bytes=2 * MEBIBYTE))
    assert engine.images_by_name == {}


@pytest.mark.parametrize("unpacked", [False, True])
def test_the_limit_is_for_all_images_of_a_run(unpacked: bool) -> None:
    class Two(Engine):
        def pull(self, name: str, **_: Any) -> Iterator[Json]:
            if not unpacked:
                yield {"status": "Downloading", "id": name, "progressDetail": {"total": 1.5 * MEBIBYTE}}
            self.has(name, int(1.5 * MEBIBYTE) if unpacked else 10)

    engine, settings = Two(), Settings(image_bytes=2 * MEBIBYTE)
    with pytest.raises(ImageRefusedError, match="Server 01: image b makes the run's images larger than 2 MiB"):
        have_all(settings, engine, "r1", {"a": "00", "b": "01"}, lambda: None)
    forget(settings, engine, "r1")
    assert engine.images_by_name == {}
    pulled(engine, settings, "a", run="r2")


class Bomb(Engine):
    """An engine with a layer that unpacks without end. `sees` is how its free space can be read."""

    def __init__(self, sees: str, folder: Path) -> None:
        super().__init__()
        self._sees, self._folder = sees, folder
        self.free_bytes = 100 * MEBIBYTE
        self.made: list[Json] = []

    def info(self) -> Json:
        memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        name = socket.gethostname() if self._sees == "folder" else "far"
        return {"DockerRootDir": str(self._folder), "Name": name, "MemTotal": memory_bytes}

    def inspect_container(self, container: str) -> Json:
        return {"Id": container} if self._sees == "own root" else super().inspect_container(container)

    def create_container(self, image: str, **given: Any) -> Json:
        if self._sees == "nothing":
            return super().create_container(image, **given)
        self.made.append({"image": image, **given})
        return {"Id": "df"}

    def start(self, container: str) -> None:
        assert container == "df"

    def logs(self, container: str, tail: int) -> bytes:
        assert (container, tail) == ("df", 1)
        return f"overlay 999 1 {self.free_bytes // 1024} 1% /\n".encode()

    def remove_container(self, container: str, *, force: bool) -> None:
        assert (container, force) == ("df", True)
        assert self.made.pop()["labels"] == {"cubeyard.run": "r1", "cubeyard.place": "owner"}

    def pull(self, name: str, **given: Any) -> Iterator[Json]:
        del given
        for _ in range(8):
            self.free_bytes -= MEBIBYTE
            yield {"status": "Extracting", "id": "bomb", "progressDetail": {"current": 1, "total": 1}}
        self.has(name)


@pytest.mark.parametrize("sees", ["folder", "own root", "container", "nothing"])
def test_a_layer_that_unpacks_without_end_ends_with_the_disk_that_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sees: str
) -> None:
    """The free space is read from the engine's disk if this process sees it (in a container of the
    engine, its root). For an engine of another machine, a container there reads it, if images have
    a shell."""
    looked: set[Path] = set()
    engine, settings = Bomb(sees, tmp_path), Settings(image_bytes=2 * MEBIBYTE)

    def usage(folder: Path) -> SimpleNamespace:
        looked.add(folder)
        return SimpleNamespace(free=engine.free_bytes)

    (tmp_path / "mounts").write_text(f"1 2 0:3 /docker/containers/{'ab' * 32}/hostname /etc/hostname rw - ext4 x rw\n")
    monkeypatch.setattr(docker_disk, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(docker_disk, "LOOK_SECS", 0.0)
    monkeypatch.setattr("shutil.disk_usage", usage)

    def create() -> None:
        with docker_disk.free_space(engine, "owner", "r1", "node") as space:
            have_all(settings, engine, "r1", {"web": "00"}, lambda: None, space)

    if sees == "nothing":
        create()
        return
    with pytest.raises(ImageRefusedError, match="larger than 2 MiB, the limit here"):
        create()
    assert engine.free_bytes == 95 * MEBIBYTE, "it ends at twice the limit"
    assert looked == {"folder": {tmp_path}, "own root": {Path("/")}, "container": set()}[sees]
    assert engine.made == []


def test_an_image_that_unpacks_to_more_than_the_limit_is_removed() -> None:
    engine, settings = Engine(size=5 * MEBIBYTE), Settings(image_keep_bytes=10 * MEBIBYTE)
    pulled(engine, settings, "kept", run="r0")
    forget(settings, engine, "r0")
    names = set(engine.images_by_name)
    with pytest.raises(ImageRefusedError, match="larger than 2 MiB"):
        pulled(engine, settings.model_copy(update={"image_bytes": 2 * MEBIBYTE}))
    assert set(engine.images_by_name) == names, "an image that is kept by choice stays"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (f"received unexpected HTTP status: {SECRET}", "its registry does not answer"),
        (f"manifest unknown: {SECRET}", "has no such image or tag"),
        (f"unauthorized: {SECRET}", "requires a login"),
        ("toomanyrequests: You have reached your pull rate limit", "limits pulls"),
        (SECRET, "it cannot be pulled"),
        (f"no way to httpd: {SECRET}", "it cannot be pulled"),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
def test_errors_are_told_by_kind_without_the_words_of_a_service(words: str, kind: str, streamed: bool) -> None:
    class Failing(Engine):
        def pull(self, *_: Any, **__: Any) -> Iterator[Json]:
            if not streamed:
                raise APIError("500", explanation=words)
            yield {"error": words}

    with pytest.raises(ImageRefusedError) as refused:
        pulled(Failing(), Settings(), "library/httpd:2")
    assert kind in refused.value.detail
    assert "payroll" not in refused.value.detail


def test_an_image_without_a_command_is_an_error_of_the_field() -> None:
    class Commandless(Engine):
        def create_container(self, *_: Any, **__: Any) -> Json:
            raise APIError("400", explanation="No command specified")

    with pytest.raises(ProblemError, match="Image web has no command") as refused:
        docker_beside.start(Commandless(), "owner", "run", (0, "00"), "c", Beside("web", at=3), Image("i"))
    (error,) = refused.value.errors
    assert error.field == "body.emulation.images.3.command"


def test_folders_that_an_image_declares_as_volumes_are_memory_of_a_limited_size() -> None:
    class Starting(Engine):
        tmpfs: Json = {}

        def inspect_image(self, name: str) -> Json:
            return {**super().inspect_image(name), "Config": {"Volumes": {"/data": {}, "/var/lib/x/": {}, "/tmp": {}}}}

        def create_container(self, image: str, *, host_config: Json, **_: Any) -> Json:
            assert image == self.inspect_image("web")["Id"]
            self.tmpfs = host_config["tmpfs"]
            return {"Id": "made"}

        def start(self, container: str) -> None:
            assert container == "made"

    engine = Starting()
    for settings in (Settings(), Settings(image_registries=["docker.io"])):
        image = pulled(engine, settings)
        docker_beside.start(engine, "owner", "run", (0, "00"), "c", Beside("web", writable=True), image)
        assert set(engine.tmpfs) == {"/tmp", "/data", "/var/lib/x"}
        assert all("size=16777216" in options for options in engine.tmpfs.values())


def test_a_program_that_writes_more_than_it_may_is_ended() -> None:
    class Full(Engine):
        def containers(self, filters: Json, **_: Any) -> list[Json]:
            row = {"Id": "c", "ImageID": "i", "State": "exited" if self.killed else "running", "Labels": {"cubeyard.beside": "4"}}  # fmt: skip
            return [{**row, "SizeRw": 2**30 if filters else 0}]

        def kill(self, container: str) -> None:
            self.killed.append(container)

        def inspect_container(self, container: str) -> Json:
            assert container == "c"
            return {"State": {"ExitCode": 137}}

        def logs(self, _: str, **__: Any) -> bytes:
            return b""

    (state,) = docker_beside.states(Full(), "owner", "run").values()
    assert (state.ended, state.said) == (137, "it wrote more than 256 MiB")


def test_every_kind_has_words_of_its_own() -> None:
    signs = [sign for every, _, _ in KINDS for sign in every]
    assert len(signs) == len(set(signs))

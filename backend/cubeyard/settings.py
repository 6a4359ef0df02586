"""Every setting of the program, read from `CUBEYARD_*` (and `DATABASE_URL`) in the environment, or
from files of these names in the folder `CUBEYARD_SECRETS_DIR`."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

MEBIBYTE = 1024 * 1024
SOCKET_PATH_BYTES = 107
"""A Unix socket's path may not be longer."""
MAX_HOSTS = 64
LEAST_TOKEN_CHARACTERS = 16
OWN_PATHS = frozenset({"api", "assets", "c", "healthz", "livez", "login", "logout", "metrics"})
"""First parts of paths that are not the page's."""
HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(\.(?!-)[A-Za-z0-9-]{1,63})*")
_ROOT_PATH = re.compile(r"(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+")
LOCAL_IMAGES = "local"
IMAGE_REGISTRIES = ("docker.io", "ghcr.io", "quay.io", LOCAL_IMAGES)
NAMESPACE = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"


FabricAddress = Annotated[str, Field(pattern=r"^tls://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$")]
RELAY_PORT = 7117


def _port_of(address: str) -> int:
    try:
        return urlsplit(address).port or RELAY_PORT
    except ValueError as error:
        raise ValueError(f"{address} has no port from 1 to 65535; leave it out for {RELAY_PORT}") from error


class EmulationHost(BaseModel):
    """A machine that takes a part of each emulation: a Docker engine and a cubeyard-fabric."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")
    """What people call it: lower-case letters, digits and hyphens."""
    fabric: FabricAddress | Path
    """Its cubeyard-fabric as it is reached from here: `tls://HOST:PORT` of a `cubeyard relay`, or
    the path of a socket, for another machine one that `ssh -L` forwards."""
    keys: Path | None = None
    """For `tls://`: a folder with `ca.crt`, `tls.crt` and `tls.key` of a worker."""
    underlay: IPv4Address
    """Its address on the network between the hosts, which their fabrics' tunnels use."""
    docker: str = ""
    """Its engine: a URL, or the name of a Docker context; that of this machine if empty."""
    share: float = Field(default=1.0, gt=0, le=1000)
    """How large a part it takes, beside the others' shares."""

    @field_validator("fabric")
    @classmethod
    def _reachable(cls, path: str | Path) -> str | Path:
        if isinstance(path, str):
            _port_of(path)
        elif not path.is_absolute() or len(str(path)) > SOCKET_PATH_BYTES:
            raise ValueError(
                f"must be tls://HOST:PORT, or an absolute path of at most {SOCKET_PATH_BYTES} bytes; forward it to a shorter one"
            )
        return path

    @model_validator(mode="after")
    def _keys_where_needed(self) -> Self:
        if isinstance(self.fabric, str) != (self.keys is not None):
            raise ValueError("`keys` belongs to a `fabric` of tls://: give both, or a socket's path alone")
        return self

    @property
    def relay(self) -> tuple[str, int] | None:
        """Host and port of its relay; None for a socket."""
        return (urlsplit(self.fabric).hostname or "", _port_of(self.fabric)) if isinstance(self.fabric, str) else None


class EmulationCluster(BaseModel):
    """A Kubernetes cluster whose nodes take a part of each emulation: servers are pods, the fabric
    is a DaemonSet's pods."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    namespace: str = Field(pattern=NAMESPACE)
    """Where the servers' pods are made; it may enforce Pod Security `restricted`."""
    fabrics: str = Field(pattern=NAMESPACE)
    """Where the DaemonSet's pods are."""
    keys: Path
    """A folder with `ca.crt`, `tls.crt` and `tls.key`, by which fabrics know this process and are
    known."""
    image: str = Field(min_length=1, max_length=500)
    """The servers' image, which holds `program`."""
    program: str = "/app/.setup/programs/cubeyard-node"
    port: int = Field(default=RELAY_PORT, ge=1, le=65535)
    """Where the relay of each fabric listens."""
    underlay: Literal["pod", "node"] = "pod"
    """Whose addresses the tunnels between nodes use: the fabrics' pods', or the nodes' own."""
    deadline_secs: int = Field(default=6 * 3600, ge=60)
    """A server's pod ends after so long, whatever became of the worker."""
    start_secs: float = Field(default=120.0, gt=0)
    """How long all pods of a run may take to run."""
    kubeconfig: Path | None = None
    """How the API server is reached from outside of the cluster; inside, the pod's service account
    says it."""


SYSTEM_HOME = Path("/var/lib/cubeyard")
"""For root's data. Its parents let everybody pass: PostgreSQL runs as another user."""


def user_home() -> Path:
    return Path(platformdirs.user_data_dir("cubeyard", appauthor=False))


def default_home() -> Path:
    """The user's folder; for root the system's folder, unless an earlier version left data in
    root's own."""
    kept = user_home()
    if os.geteuid() != 0:
        return kept
    is_roots = has_data(kept) and (kept / "postgres").stat().st_uid == 0
    return kept if is_roots and not has_data(SYSTEM_HOME) else SYSTEM_HOME


def has_data(home: Path) -> bool:
    return (home / "postgres" / "data").is_dir()


def files_of_server(name: str, in_checkout: str) -> Path:
    """A folder that the server needs in addition to this package: packed into the wheel by
    `bin/wheels`, otherwise in the checkout."""
    package = Path(__file__).resolve().parent
    packed = package.with_name("cubeyard_files") / name
    return packed if packed.is_dir() else package.parents[1] / in_checkout


def _default_frontend() -> Path:
    return files_of_server("page", "frontend/dist")


def _default_docs() -> Path:
    return files_of_server("docs", "dist/docs")


def _secrets(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_file()]
    except OSError as error:
        raise ValueError(f"the folder CUBEYARD_SECRETS_DIR cannot be read: {error.strerror}: {folder}") from error


class Settings(BaseModel):
    """Limits and places. A value from the command line wins over the environment."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True, validate_default=True)

    database_url: str | None = Field(default=None, validation_alias="DATABASE_URL")
    """A PostgreSQL to use; without it an embedded one lives under `home`."""
    database_password: SecretStr | None = Field(default=None, validation_alias="DATABASE_PASSWORD")
    """For a `DATABASE_URL` without a password; no character of it needs escaping."""
    home: Path = Field(default_factory=default_home)
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    token: SecretStr | None = None
    """One token given by configuration, beside those in the database."""
    allowed_hosts: list[str] = Field(default_factory=list)
    """Host names of this server in addition to the loopback names (comma separated)."""
    allowed_origins: list[str] = Field(default_factory=list)
    """Origins, like http://portal.example:3000, whose pages may call the API and read its answers
    (comma separated)."""
    trusted_proxies: list[str] = Field(default_factory=list)
    """Addresses or networks of reverse proxies (comma separated). Their X-Forwarded-For and -Proto
    name the caller and https; others' are ignored."""
    root_path: str = ""
    """The path that a reverse proxy serves page and API under, such as /cubeyard. The proxy may
    remove it from requests or keep it."""
    frontend_dir: Path = Field(default_factory=_default_frontend)
    docs_dir: Path = Field(default_factory=_default_docs)
    """The built documentation, served under /docs."""

    max_body_bytes: int = Field(default=4 * MEBIBYTE, ge=1024)
    """Of JSON: the largest custom topology, 32,768 links with their ports, has 3 MiB."""
    max_table_bytes: int = Field(default=64 * MEBIBYTE, ge=1024)
    """Of a workbook or CSV file with prices, and of a list of cables from the floor."""
    head_secs: float = Field(default=20.0, gt=0)
    """How long a client may take to send a request's line and headers."""
    body_secs: float = Field(default=30.0, gt=0)
    """A body that brings almost nothing for this long ends its request; one that makes progress may
    take any time."""
    reader_secs: float = Field(default=20.0, gt=0)
    """How long reading a file may take that somebody sends: a network, a list of cables, a bill
    with prices."""
    reader_bytes: int = Field(default=1024 * MEBIBYTE, ge=16 * MEBIBYTE)
    """How much memory it may take."""
    max_connections: int = Field(default=512, ge=4)
    """At a time, with streams and WebSockets. Most systems give a process 1,024 open files."""
    max_links: int = Field(default=2_000_000, ge=1)
    """A plan with more links than this is refused with an estimate instead of computed."""
    engine_concurrency: int = Field(default_factory=lambda: max(1, os.cpu_count() or 1), ge=1)
    engine_wait_secs: float = Field(default=20.0, gt=0)
    """How long a request waits for its turn at the engine before it is told to come back."""
    plan_cache_entries: int = Field(default=16, ge=1)
    plan_cache_links: int = Field(default=4_000_000, ge=1)
    """The cache also forgets its oldest plans when all of them together hold more links than
    this."""

    fabric_dir: Path | None = None
    """Where cubeyard-fabric listens and keeps its journal; one of the home's own under
    /run/cubeyard if unset."""
    fabric_start: bool = True
    """Whether to start cubeyard-fabric when it is needed, does not run, and this process is
    root."""
    fabric_sudo: bool = False
    """Whether to start it with sudo where this process is not root. sudo is never let ask for a
    password."""
    programs_dir: Path | None = None
    """The folder of cubeyard-fabric and cubeyard-node. By default they are searched where `make
    setup` and the wheel cubeyard-programs put them, and on PATH."""

    hosts: tuple[EmulationHost, ...] = ()
    """The machines that emulations are spread over: a JSON list, or the path of a file that holds
    one. Empty: this machine."""

    cluster: EmulationCluster | None = None
    """The Kubernetes cluster that emulations are spread over: a JSON object, or the path of a file
    that holds one."""

    user_images: bool = True
    """Whether runs may have programs of users in images beside their servers, without rights."""
    image_registries: list[str] = Field(default_factory=lambda: list(IMAGE_REGISTRIES))
    """Registries that images of users may come from, by host name and port (comma separated).
    `local` allows the images that the engine has already, whoever made them. By default others than
    this machine's users cannot use them: not over the network, nor by a database that servers and
    workers share."""
    image_bytes: int = Field(default=2048 * MEBIBYTE, ge=MEBIBYTE)
    """Most bytes of the images of a run in all, as pulled and as unpacked."""
    image_keep_bytes: int = Field(default=0, ge=0)
    """Images that runs pulled are removed after them, except for up to this many bytes."""
    terminals: bool = True
    """Whether people may open shells in the containers of runs from the page. They have the
    containers' rights and no others."""
    terminal_limit: int = Field(default=8, ge=1, le=64)
    """Terminals that are open at a time."""
    terminal_idle_secs: float = Field(default=900.0, ge=5, le=86_400)
    """A terminal that nobody types into for this long is closed."""

    webhook_hosts: list[str] = Field(default_factory=list)
    """Hosts that webhooks may call (comma separated): names, and addresses or networks, which also
    allow private addresses. Empty: no webhooks. A worker sends them if it has the setting."""
    webhook_secs: float = Field(default=10.0, gt=0, le=300)
    """How long an attempt of a webhook may take."""
    webhook_retry_secs: float = Field(default=10.0, gt=0, le=3600)
    """The wait after the first failed attempt; each further wait is four times longer, at most six
    hours."""
    webhook_attempts: int = Field(default=8, ge=1, le=20)
    """After this number of failed attempts a delivery has failed."""

    database_pool_size: int = Field(default=10, ge=1)
    database_wait_secs: float = Field(default=0.0, ge=0)
    """How long a start waits for a PostgreSQL that does not answer."""
    session_hours: float = Field(default=12.0, gt=0)
    worker_concurrency: int = Field(default=1, ge=1)
    run_concurrency: int = Field(default=1, ge=1)
    """Runs of the long lane that a worker does at the same time, in addition to exports. Each uses
    all cores if it can."""
    quick_run_concurrency: int = Field(default=1, ge=1)
    """Runs of the quick lane that a worker does at the same time, in addition to those of the long
    lane."""
    predict_secs: float = Field(default=10.0, gt=0)
    """The longest time of a prediction without a run."""
    job_lease_secs: float = Field(default=30.0, gt=0.5)
    """A worker that has not been heard of for this long is dead, and its jobs go to another."""
    job_attempts: int = Field(default=3, ge=1)
    job_keep_hours: float = Field(default=24.0, gt=0)
    run_keep_days: float | None = Field(default=None, gt=0)
    """How long runs are kept after they ended; for good if not set. A figure's latest result stays
    in any case."""
    log_level: str = "info"
    log_format: str = "json"

    @model_validator(mode="before")
    @classmethod
    def _with_environment(cls, given: Any) -> Any:
        """Arguments win over the environment, and this over files: a process's environment can be
        read by other processes of its user."""
        folder = os.environ.get("CUBEYARD_SECRETS_DIR")
        files = {path.name.upper(): path for path in (_secrets(Path(folder)) if folder else ())}
        values = {name.upper(): value for name, value in os.environ.items()}
        result = dict(given)
        for name, field in cls.model_fields.items():
            alias = field.validation_alias
            key, variable = (alias, alias) if isinstance(alias, str) else (name, f"CUBEYARD_{name.upper()}")
            if name in given or key in given:
                continue
            if variable in values:
                result[key] = values[variable]
            elif variable in files:
                result[key] = files[variable].read_text().strip()
        return result

    @field_validator(
        "allowed_hosts", "allowed_origins", "trusted_proxies", "image_registries", "webhook_hosts", mode="before"
    )
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("token")
    @classmethod
    def _long_enough(cls, token: SecretStr | None) -> SecretStr | None:
        length = len(token.get_secret_value()) if token is not None else 0
        if 0 < length < LEAST_TOKEN_CHARACTERS:
            raise ValueError(
                f"the token has {length} characters; it must have at least {LEAST_TOKEN_CHARACTERS}. For a new one: openssl rand -hex 24"
            )
        return token

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, proxies: list[str]) -> list[str]:
        for proxy in proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError as error:
                raise ValueError(f"{error}; give addresses or networks like 10.0.0.0/8, comma separated") from None
        return proxies

    @field_validator("webhook_hosts")
    @classmethod
    def _names_or_networks(cls, hosts: list[str]) -> list[str]:
        for host in hosts:
            if network_of(host) is None and HOST_NAME.fullmatch(host) is None:
                raise ValueError(
                    f"{host[:80]!r} is no host; give names like hooks.example.org, or addresses or networks like 10.0.0.0/8"
                )
        return hosts

    @field_validator("root_path")
    @classmethod
    def _path_of_its_own(cls, given: str) -> str:
        path = given.strip().rstrip("/")
        first = path.partition("/")[2].partition("/")[0]
        if path and not _ROOT_PATH.fullmatch(path):
            raise ValueError(
                f"the root path is {given[:80]!r}; give a path of letters, digits, dots, hyphens and _, such as /cubeyard"
            )
        if first in OWN_PATHS:
            raise ValueError(
                f"the root path begins with /{first}, which this server answers itself; choose another, such as /cubeyard"
            )
        return path

    @field_validator("hosts", mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        text = value.strip()
        try:
            if text.startswith("/"):
                text = Path(text).read_text()
            return json.loads(text) if text else ()
        except (OSError, ValueError) as error:
            raise ValueError(
                f"CUBEYARD_HOSTS is {value[:80]!r}; it must be a JSON list of hosts, or the path of a file that holds one"
                f" ({error})"
            ) from error

    @field_validator("cluster", mode="before")
    @classmethod
    def _cluster_from_text(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        text = value.strip()
        try:
            if text.startswith("/"):
                text = Path(text).read_text()
            return json.loads(text) if text else None
        except (OSError, ValueError) as error:
            raise ValueError(
                f"CUBEYARD_CLUSTER is {value[:80]!r}; it must be a JSON object, or the path of a file that holds one ({error})"
            ) from error

    @model_validator(mode="after")
    def _one_source_of_hosts(self) -> Settings:
        if self.hosts and self.cluster is not None:
            raise ValueError("CUBEYARD_HOSTS and CUBEYARD_CLUSTER are both set; unset one of them")
        return self

    @property
    def spread(self) -> bool:
        """Whether emulations go to other machines, whose fabrics somebody else starts."""
        return bool(self.hosts) or self.cluster is not None

    @property
    def most_hosts(self) -> int:
        """How many they are; of a cluster as many as there may be: each is asked for its memory
        before servers are made there."""
        return len(self.hosts) if self.cluster is None else MAX_HOSTS

    @field_validator("hosts")
    @classmethod
    def _unlike(cls, hosts: tuple[EmulationHost, ...]) -> tuple[EmulationHost, ...]:
        if len(hosts) > MAX_HOSTS:
            raise ValueError(f"CUBEYARD_HOSTS has {len(hosts)} hosts; it may have at most {MAX_HOSTS}")
        for field in ("name", "fabric", "underlay"):
            values = [str(getattr(host, field)) for host in hosts]
            for i, value in enumerate(values):
                if value in values[:i]:
                    raise ValueError(f"hosts.{i}.{field} is {value}, as another host's; give each host one of its own")
        return hosts

    @field_validator("database_url", mode="before")
    @classmethod
    def _blank_is_unset(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        if value.strip() and not value.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
            raise ValueError("the URL must begin with postgresql://")
        try:
            _ = urlsplit(value).port
        except ValueError as error:
            raise ValueError(f"the URL has no valid host and port: {error}") from None
        return value if value.strip() else None

    @property
    def registries(self) -> frozenset[str]:
        """The registries of users' images, in lower case, with `local` where that is allowed."""
        names = {name.lower() for name in self.image_registries}
        is_default = "image_registries" not in self.model_fields_set
        shared = self.exposed or self.database_url is not None
        return frozenset(names - {LOCAL_IMAGES} if is_default and shared else names)

    @property
    def exposed(self) -> bool:
        """Whether anyone but this machine can reach the server, itself or through a proxy."""
        return not is_loopback(self.host) or bool(self.trusted_proxies)


def secret(name: str) -> str:
    """From the environment, or from a file of this name as settings are; empty if in neither."""
    folder = os.environ.get("CUBEYARD_SECRETS_DIR")
    file = Path(folder, name) if folder else None
    return os.environ.get(name) or (file.read_text().strip() if file is not None and file.is_file() else "")


def network_of(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """An address or a network; None for any other text."""
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether a bind address or a peer address is this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback

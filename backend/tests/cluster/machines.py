"""A Kubernetes cluster on this machine: a control plane and two nodes, each in separate network,
mount and host-name namespaces, joined by a bridge; pods have the network of the CNI's bridge
plug-in, with routes between the nodes.

Workarounds for capabilities that such a machine can lack: containerd's `restrict_oom_score_adj`
where CAP_SYS_RESOURCE is missing, `failCgroupV1: false` for control groups of version 1, and decoy
files over the machine-wide settings that a kubelet writes. Every started process is ended by its
process id, also after a failure.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client, config

from cubeyard.emulation.fabric.process import NODE, program
from cubeyard.settings import Settings
from tests.cluster.images import archive
from tests.cluster.programs import PLUGINS, built
from tests.deployment.service_image import copied

Json = dict[str, Any]

MTU = 9100
START_SECS = 90
STOP_SECS = 20
API = "10.88.0.1"
OUTSIDE = "10.88.0.254"
"""This machine's own address on the cluster's network: the worker of the tests runs there."""
PAUSE = "cubeyard.test/pause"
OURS = "cubeyard.test/kubelet"
"""A label of the two nodes, which nodes without a kubelet lack."""
SERVICES = "10.96.0.0/16"
"""Addresses of Services: kube-proxy forwards their packets to pods. This machine sends them through
node-a."""
DECOYS = {
    "vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}  # fmt: skip
USERS = {
    "admin": ("admin", "system:masters"),
    "controllers": ("system:kube-controller-manager", "system:masters"),
    "scheduler": ("system:kube-scheduler", "system:masters"),
    "proxy": ("system:kube-proxy", "system:masters"),
    "node-a": ("system:node:node-a", "system:nodes"),
    "node-b": ("system:node:node-b", "system:nodes"),
}
"""Token, which is the name here, to user and group."""
APART = (
    *("unshare", "--net", "--mount", "--uts", "sh", "-c"),
    "mount -t tmpfs tmpfs /run && ip link set lo up && exec sleep 1000000",
)


class ClusterFailedError(AssertionError):
    """The cluster does not start; with the last output of the failed programs."""


@dataclass
class Machine:
    """One of the three machines. The processes on it were started here."""

    name: str
    address: str
    folder: Path
    holder: subprocess.Popen[bytes]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def inside(self, *command: str) -> list[str]:
        return ["nsenter", "--net", "--mount", "--uts", f"--target={self.holder.pid}", *command]

    def output(self, *command: str, secs: float = 60) -> str:
        done = subprocess.run(self.inside(*command), capture_output=True, text=True, check=False, timeout=secs)
        if done.returncode != 0:
            raise ClusterFailedError(f"{' '.join(command)} on {self.name}: {done.stderr.strip()[-600:]}")
        return done.stdout

    def start(self, what: str, *command: str, **environment: str) -> None:
        with (self.folder / f"{what}.log").open("ab") as log:
            self.running[what] = subprocess.Popen(
                self.inside(*command), env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True,
            )  # fmt: skip

    def said(self, what: str) -> str:
        return "\n".join((self.folder / f"{what}.log").read_text(errors="replace").splitlines()[-12:])

    def kill(self, what: str) -> None:
        process = self.running.pop(what)
        process.kill()
        process.wait(STOP_SECS)

    def stop(self) -> None:
        for process in (*reversed(self.running.values()), self.holder):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_SECS)
        self.running.clear()


@dataclass
class Node(Machine):
    """A machine with containerd and a kubelet."""

    pods: str = ""
    """Its pods' network, without the last number."""

    @property
    def containerd(self) -> str:
        return f"{self.folder}/containerd.sock"

    @property
    def group(self) -> str:
        """The control group of its pods, in every hierarchy."""
        return f"cubeyard-test-{os.getpid()}-{self.name}"

    def ctr(self, *command: str) -> str:
        return self.output("ctr", "--address", self.containerd, "--namespace", "k8s.io", *command)

    def start_containerd(self) -> None:
        (self.folder / "containerd.toml").write_text(
            f"""version = 2
root = "{self.folder}/containerd"
state = "{self.folder}/state"
[grpc]
address = "{self.containerd}"
[plugins."io.containerd.grpc.v1.cri"]
ignore_image_defined_volumes = true
sandbox_image = "{PAUSE}:1"
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{PLUGINS}"
conf_dir = "{self.folder}/cni"
"""
        )
        (self.folder / "cni").mkdir()
        (self.folder / "cni" / "10-bridge.conf").write_text(
            f'{{"cniVersion": "0.4.0", "name": "pods", "type": "bridge", "bridge": "cni0", "isGateway": true, "mtu": {MTU},'
            f' "ipam": {{"type": "host-local", "dataDir": "{self.folder}/ipam", "routes": [{{"dst": "0.0.0.0/0"}}],'
            f' "ranges": [[{{"subnet": "{self.pods}.0/24"}}]]}}}}'
        )
        self.start("containerd", "containerd", "--config", f"{self.folder}/containerd.toml")
        wait(self._answers, f"containerd of {self.name} does not answer", lambda: self.said("containerd"))

    def _answers(self) -> bool:
        with suppress(ClusterFailedError):
            return bool(self.ctr("version"))
        return False

    def start_kubelet(self, config: Path) -> None:
        for hierarchy in group_hierarchies():
            (hierarchy / self.group).mkdir(exist_ok=True)
        cpus = Path("/sys/fs/cgroup/cpuset")
        if (cpus / self.group).exists():
            for name in ("cpuset.cpus", "cpuset.mems"):
                (cpus / self.group / name).write_text((cpus / name).read_text())
        decoys = self.folder / "decoys"
        for name, value in DECOYS.items():
            place = decoys / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(value)
            self.output("mount", "--bind", str(place), f"/proc/sys/{name}")
        settings: Json = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False}, "webhook": {"enabled": True}, "x509": {"clientCAFile": str(self.folder.parent / "caller.crt")},
            },
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{self.containerd}",
            "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{self.group}", "cgroupsPerQOS": True, "enforceNodeAllocatable": [],
            "failCgroupV1": False, "failSwapOn": False, "makeIPTablesUtilChains": False,
            "localStorageCapacityIsolation": False, "resolvConf": "",
            "evictionHard": {"memory.available": "50Mi", "nodefs.available": "0%", "imagefs.available": "0%",
                             "nodefs.inodesFree": "0%", "imagefs.inodesFree": "0%"},
            "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
            "syncFrequency": "10s", "serializeImagePulls": False, "registerNode": True,
            # The logs of another node's pods are no orphans.
            "podLogsDir": str(self.folder / "pod-logs"),
        }  # fmt: skip
        (self.folder / "kubelet.yaml").write_text(yaml.safe_dump(settings))
        self.start(
            "kubelet", str(built("kubernetes")), "kubelet", f"--config={self.folder}/kubelet.yaml", f"--kubeconfig={config}",
            f"--hostname-override={self.name}", f"--node-ip={self.address}", f"--node-labels={OURS}=yes", f"--root-dir={self.folder}/kubelet",
            f"--cert-dir={self.folder}/pki",
        )  # fmt: skip

    def start_proxy(self, config: Path) -> None:
        """Starts kube-proxy, which implements Services by firewall rules of the node."""
        settings: Json = {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "iptables",
            "clientConnection": {"kubeconfig": str(config)}, "bindAddress": self.address, "hostnameOverride": self.name,
            # Replies return through the node with the rule, also from a pod on the caller's node.
            "iptables": {"masqueradeAll": True, "minSyncPeriod": "0s"},
            # Machine-wide settings stay as they are.
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        }  # fmt: skip
        (self.folder / "proxy.yaml").write_text(yaml.safe_dump(settings))
        self.start("proxy", str(built("kubernetes")), "kube-proxy", f"--config={self.folder}/proxy.yaml")

    def stop(self) -> None:
        """The kubelet first, so that nothing is started again; then what its containers are."""
        if "kubelet" in self.running:
            self.kill("kubelet")
        if "containerd" in self.running:
            with suppress(ClusterFailedError, subprocess.TimeoutExpired):
                for task in self.ctr("tasks", "list", "--quiet").split():
                    self.ctr("tasks", "delete", "--force", task)
        # A shim is its own session: it is known by the socket that it was started for.
        for shim in shims(self.containerd):
            with suppress(ProcessLookupError):
                os.kill(shim, signal.SIGKILL)
        super().stop()
        for hierarchy in group_hierarchies():
            remove_group(hierarchy / self.group)


def shims(address: str) -> list[int]:
    """The processes that watch over the containers of one containerd."""
    matches = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if b"containerd-shim" in words[0] and address.encode() in words:
                    matches.append(int(folder.name))
    return matches


def group_hierarchies() -> list[Path]:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return [root]
    return [path for path in root.iterdir() if not path.is_symlink() and (path / "cgroup.procs").exists()]


def remove_group(group: Path) -> None:
    """Removes a control group and the groups inside it, innermost first. The cluster started the
    processes in it, which are ended."""
    deadline = time.monotonic() + 10
    while group.exists() and time.monotonic() < deadline:
        for inner in sorted(
            (path for path in (group, *group.rglob("*")) if path.is_dir()), key=lambda path: -len(path.parts)
        ):
            with suppress(OSError):
                for process in (inner / "cgroup.procs").read_text().split():
                    os.kill(int(process), signal.SIGKILL)
                inner.rmdir()
        time.sleep(0.05)


def wait(
    ready: Callable[[], object], what: str, said: Callable[[], str] = lambda: "", secs: float = START_SECS
) -> None:
    deadline = time.monotonic() + secs
    while not ready():
        if time.monotonic() > deadline:
            raise ClusterFailedError(f"{what} within {secs:g} s. {said()}")
        time.sleep(0.1)


@dataclass
class Cluster:
    folder: Path
    control: Machine
    nodes: list[Node]

    def kubeconfig(self, user: str, token: str | None = None) -> Path:
        """The kubeconfig of one of USERS, or of any token."""
        path = self.folder / f"{user}.kubeconfig"
        authority = str(self.folder / "pki" / "apiserver.crt")
        place: Json = {"server": f"https://{API}:6443", "certificate-authority": authority}
        document = {
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": place}],
            "users": [{"name": "u", "user": {"token": token or user}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        }  # fmt: skip
        path.write_text(yaml.safe_dump(document))
        path.chmod(0o600)
        return path

    def start_control_plane(self) -> None:
        folder, kubernetes = self.folder, str(built("kubernetes"))
        key = folder / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        # The certificate with which the API server authenticates at the kubelets, to get logs and
        # run commands in pods.
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/O=system:masters/CN=apiserver",
             "-keyout", str(folder / "caller.key"), "-out", str(folder / "caller.crt")],
            check=True, capture_output=True,
        )  # fmt: skip
        lines = [f'{token},{user},{token},"{group}"\n' for token, (user, group) in USERS.items()]
        (folder / "tokens.csv").write_text("".join(lines))
        self.control.start(
            "etcd", "etcd", "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync", "--log-level=warn",
            "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
            "--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
            "--initial-cluster=default=http://127.0.0.1:2380",
        )  # fmt: skip
        self.control.start(
            "apiserver", kubernetes, "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--secure-port=6443",
            f"--advertise-address={API}", f"--cert-dir={folder}/pki", f"--service-cluster-ip-range={SERVICES}",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}", f"--token-auth-file={folder}/tokens.csv",
            "--authorization-mode=Node,RBAC", "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-client-certificate={folder}/caller.crt", f"--kubelet-client-key={folder}/caller.key",
        )  # fmt: skip
        wait(self._is_ready, "the API server is not ready", lambda: self.control.said("apiserver"))
        self.control.start(
            "controllers", kubernetes, "kube-controller-manager", f"--kubeconfig={self.kubeconfig('controllers')}",
            f"--service-account-private-key-file={key}", f"--root-ca-file={folder}/pki/apiserver.crt", "--leader-elect=false",
        )  # fmt: skip
        self.control.start(
            "scheduler",
            kubernetes,
            "kube-scheduler",
            f"--kubeconfig={self.kubeconfig('scheduler')}",
            "--leader-elect=false",
        )

    def _is_ready(self) -> bool:
        if not (self.folder / "pki" / "apiserver.crt").exists():
            return False
        settings: Any = client.Configuration()
        config.load_kube_config(str(self.kubeconfig("admin")), client_configuration=settings)
        settings.retries = False
        with client.ApiClient(settings) as api, suppress(Exception):
            return api.call_api("/readyz", "GET", response_type="str", _request_timeout=3)[1] == 200
        return False

    @property
    def api(self) -> Any:
        """A client with the administrator's permissions."""
        settings: Any = client.Configuration()
        config.load_kube_config(str(self.kubeconfig("admin")), client_configuration=settings)
        return client.ApiClient(settings)

    def ready_nodes(self) -> list[str]:
        nodes = client.CoreV1Api(self.api).list_node(_request_timeout=10).items
        return [
            node.metadata.name
            for node in nodes
            if any(c.type == "Ready" and c.status == "True" for c in node.status.conditions or [])
        ]


@contextmanager
def a_cluster() -> Iterator[Cluster]:
    """A control plane and two ready nodes. Ends all processes, also after errors."""
    os.environ.setdefault("NO_PROXY", f"{API},10.99.0.0/16,{SERVICES}")
    root = Path(tempfile.mkdtemp(prefix="cyk-"))
    with ExitStack() as held:
        held.callback(lambda: subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=False))
        control = Machine("control", API, root, _holder("control"))
        held.callback(control.stop)
        nodes = []
        for number, name in enumerate(("node-a", "node-b"), 2):
            folder = root / name
            folder.mkdir()
            node = Node(name, f"10.88.0.{number}", folder, _holder(name), pods=f"10.99.{number}")
            held.callback(node.stop)
            nodes.append(node)
        held.callback(lambda: subprocess.run(["ip", "link", "delete", "cyk-out"], capture_output=True, check=False))
        _join(control, nodes)
        cluster = Cluster(root, control, nodes)
        cluster.start_control_plane()
        _bring_images(root, nodes)
        for node in nodes:
            node.start_kubelet(cluster.kubeconfig(node.name))
            node.start_proxy(cluster.kubeconfig("proxy"))
        wait(
            lambda: len(cluster.ready_nodes()) == len(nodes), "the nodes are not ready",
            lambda: nodes[0].said("kubelet"),
        )  # fmt: skip
        yield cluster


def _holder(name: str) -> subprocess.Popen[bytes]:
    holder = subprocess.Popen(APART)
    comm = Path(f"/proc/{holder.pid}/comm")
    wait(lambda: comm.read_text() == "sleep\n", f"there are no namespaces for {name}", secs=10)
    return holder


def _join(control: Machine, nodes: list[Node]) -> None:
    """A bridge on the control plane's machine; every other machine, and this one, has a cable to
    it."""
    control.output("ip", "link", "add", "under", "mtu", str(MTU), "type", "bridge")
    control.output("ip", "address", "add", f"{API}/24", "dev", "under")
    control.output("ip", "link", "set", "under", "up")
    ends = [(f"to-{node.name}", str(node.holder.pid)) for node in nodes] + [("to-out", "1")]
    for name, process in ends:
        near = "cyk-out" if name == "to-out" else "under"
        far = ("netns", process) if name != "to-out" else ()
        words = [
            "ip",
            "link",
            "add",
            near,
            "mtu",
            str(MTU),
            *far,
            "type",
            "veth",
            "peer",
            "name",
            name,
            "mtu",
            str(MTU),
        ]
        subprocess.run([*words, "netns", str(control.holder.pid)], check=True)
        control.output("ip", "link", "set", name, "master", "under", "up")
    for node in nodes:
        node.output("ip", "address", "add", f"{node.address}/24", "dev", "under")
        node.output("ip", "link", "set", "under", "up")
        node.output("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
        node.output("ip", "route", "add", "default", "via", API)
        for other in nodes:
            if other is not node:
                node.output("ip", "route", "add", f"{other.pods}.0/24", "via", other.address)
    subprocess.run(["ip", "address", "add", f"{OUTSIDE}/24", "dev", "cyk-out"], check=True)
    subprocess.run(["ip", "link", "set", "cyk-out", "up"], check=True)
    for node in nodes:
        subprocess.run(["ip", "route", "add", f"{node.pods}.0/24", "via", node.address], check=True)
    subprocess.run(["ip", "route", "add", SERVICES, "via", nodes[0].address], check=True)


def _bring_images(root: Path, nodes: list[Node]) -> None:
    """A pod's first process only has to wait: a node without a fabric does. All else is in
    Cubeyard's own image."""
    node = program(Settings(), NODE)
    assert node is not None
    archive(root / "pause.tar", PAUSE, {"node": node}, (), ["/node", "--socket", "@pause"])
    for item in nodes:
        copied(item.folder / "containerd")
        item.start_containerd()
        item.ctr("images", "import", str(root / "pause.tar"))

"""An API server in this process with the HTTP paths of Kubernetes that Cubeyard uses: pods,
ConfigMaps, quotas and access reviews. The official client can call it. Like a real one it enforces
permissions, quotas and Pod Security `restricted`. It also plays scheduler and kubelets: a pod runs
after it was read `looks_until_running` times."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import yaml

from cubeyard.settings import EmulationCluster

Json = dict[str, Any]
NAMESPACE = "servers"
OBJECTS = re.compile(r"^/api/v1/namespaces/([a-z0-9-]+)/(pods|configmaps|resourcequotas)(?:/([a-z0-9.-]+))?$")
KINDS = {"pods": "Pod", "configmaps": "ConfigMap", "resourcequotas": "ResourceQuota"}
VERSION_PARTS = ("buildDate", "compiler", "gitCommit", "gitTreeState", "goVersion", "major", "minor", "platform")
VERSION = {**dict.fromkeys(VERSION_PARTS, "1"), "gitVersion": "v1.34.4"}
VERBS = {"POST": "create", "GET": "get", "DELETE": "delete"}


class RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class FakeCluster:
    """The cluster's objects, and how it behaves."""

    nodes: dict[str, int] = field(default_factory=lambda: {"node-a": 110, "node-b": 110})
    """By node: the number of pods that fit."""
    looks_until_running: int = 2
    late: dict[str, int] = field(default_factory=dict)
    """By name: pods that become ready only after another number of requests."""
    waiting: Json | None = None
    """The state of containers that never run."""
    waits: str = "node"
    """Name of the container with that state."""
    ended: dict[str, Json] = field(default_factory=dict)
    """By name: containers that end as soon as they run, each with its end."""
    forbidden: set[tuple[str, str]] = field(default_factory=set)
    """Forbidden pairs of verb and resource."""
    isolated: set[str] = field(default_factory=set)
    """Containers whose network the fabric has removed."""
    down: bool = False
    stuck: bool = False
    """Whether the kubelets are away, so that deleted pods remain."""
    objects: dict[tuple[str, str, str], Json] = field(default_factory=dict)
    """Objects by namespace, resource and name."""
    calls: list[str] = field(default_factory=list)
    """Verb and resource of each call, in order."""
    reviews: int = 0
    """Number of access reviews."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    made: int = 0

    def pods(self, namespace: str = NAMESPACE) -> list[Json]:
        with self.lock:
            return [item for (where, kind, _), item in self.objects.items() if where == namespace and kind == "pods"]

    def names(self, kind: str) -> list[str]:
        with self.lock:
            return sorted(name for _, found, name in self.objects if found == kind)

    def put(self, namespace: str, kind: str, document: Json) -> None:
        with self.lock:
            self.objects[namespace, kind, document["metadata"]["name"]] = document

    def end(self, name: str, message: str = "", container: str = "node") -> None:
        """Ends a pod's container; the pod ends with its last container."""
        with self.lock:
            pod = self.objects[NAMESPACE, "pods", name]
            ended = {"terminated": {"reason": "Error", "exitCode": 137, "message": message}}
            every = pod["status"]["containerStatuses"]
            matches = [{**item, "state": ended} if item["name"] == container else item for item in every]
            over = all("terminated" in item["state"] for item in matches)
            pod["status"] = {"phase": "Failed" if over else "Running", "containerStatuses": matches}

    # ---- results of requests

    def create(self, namespace: str, kind: str, document: Json) -> Json:
        name = document["metadata"]["name"]
        if (namespace, kind, name) in self.objects:
            raise RefusedError(409, f'{kind} "{name}" already exists')
        self.made += 1
        document["metadata"] |= {"uid": f"uid-{self.made}", "namespace": namespace}
        if kind == "pods":
            refuse_unrestricted(document)
            self._refuse_over_quota(namespace)
            document["status"] = {"phase": "Pending"}
            self._schedule(document)
        self.objects[namespace, kind, name] = document
        return document

    def _refuse_over_quota(self, namespace: str) -> None:
        for (where, kind, name), quota in self.objects.items():
            if where == namespace and kind == "resourcequotas":
                used, hard = len(self.pods(namespace)), quota["status"]["hard"].get("pods")
                if hard is not None and used + 1 > int(hard):
                    message = f"exceeded quota: {name}, requested: pods=1, used: pods={used}, limited: pods={hard}"
                    raise RefusedError(403, message)

    def _schedule(self, pod: Json) -> None:
        terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (wanted,) = terms["nodeSelectorTerms"][0]["matchFields"][0]["values"]
        on_it = sum(1 for item in self.pods() if item["spec"].get("nodeName") == wanted)
        if on_it >= self.nodes.get(wanted, 0):
            message = f"0/{len(self.nodes)} nodes are available: 1 Too many pods."
            pod["status"]["conditions"] = [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            ]
            return
        pod["spec"]["nodeName"] = wanted
        pod["looks"] = 0

    def listed(self, namespace: str, kind: str, query: Json) -> Json:
        items = []
        for (where, matches, _), item in list(self.objects.items()):
            if where == namespace and matches == kind and _selected(item, query):
                if kind == "pods" and "looks" in item:
                    self._look(item)
                items.append(item)
        if kind == "resourcequotas":
            for quota in items:
                quota["status"]["used"] = {"pods": str(len(self.pods(namespace)))}
        return {"apiVersion": "v1", "kind": f"{KINDS[kind]}List", "metadata": {}, "items": items}

    def _look(self, pod: Json) -> None:
        pod["looks"] += 1
        looks = self.late.get(pod["metadata"]["name"], self.looks_until_running)
        if pod["status"]["phase"] != "Pending" or pod["looks"] < looks:
            return
        if "initContainers" in pod["spec"]:
            gate = pod["spec"]["initContainers"][0]["name"]
            identity = f"{2 * int(pod['metadata']['uid'][4:]):x}".rjust(64, "a")
            opened = identity in self.isolated
            state: Json = {"terminated": {"exitCode": 0}} if opened else {"running": {}}
            first = [{**_status(state, gate), "containerID": f"containerd://{identity}"}]
            pod["status"]["initContainerStatuses"] = first
            waits = {"waiting": {"reason": "PodInitializing"}}
            pod["status"]["containerStatuses"] = [
                _status(waits, container["name"]) for container in pod["spec"]["containers"]
            ]
            if not opened:
                return
        matches = [self._begun(pod, at, container["name"]) for at, container in enumerate(pod["spec"]["containers"])]
        runs = all("waiting" not in item["state"] for item in matches)
        pod["status"] = {"phase": "Running" if runs else "Pending", "containerStatuses": matches}

    def _begun(self, pod: Json, at: int, name: str) -> Json:
        if self.waiting is not None and name == self.waits:
            return _status({"waiting": self.waiting}, name)
        state = (
            {"terminated": self.ended[name]}
            if name in self.ended
            else {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        )
        identity = f"{2 * int(pod['metadata']['uid'][4:]) + at:064x}"
        return {**_status(state, name), "containerID": f"containerd://{identity}", "imageID": f"sha256:{name}"}

    def delete(self, namespace: str, kind: str, name: str) -> Json:
        gone = self.objects.pop((namespace, kind, name), None)
        if gone is None:
            raise RefusedError(404, f'{kind} "{name}" not found')
        # For pods the API server returns the deleted objects, for others only a status.
        return gone if kind == "pods" else {"kind": "Status", "apiVersion": "v1", "status": "Success"}

    def delete_collection(self, namespace: str, kind: str, query: Json) -> Json:
        stays = self.stuck and query.get("gracePeriodSeconds") != ["0"]
        for key, item in list(self.objects.items()):
            if key[:2] == (namespace, kind) and _selected(item, query) and not stays:
                del self.objects[key]
        return {"kind": "Status", "apiVersion": "v1", "status": "Success"}

    def answer(self, method: str, path: str, query: Json, body: Json) -> Json:
        if path == "/version/":
            return VERSION
        if path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
            self.reviews += 1
            request = body["spec"]["resourceAttributes"]
            allowed = (request["verb"], request["resource"]) not in self.forbidden
            return {**body, "status": {"allowed": allowed}}
        return self._of_objects(method, path, query, body)

    def _of_objects(self, method: str, path: str, query: Json, body: Json) -> Json:
        matched = OBJECTS.match(path)
        if matched is None:
            raise RefusedError(404, f"the server could not find the requested resource ({path})")
        namespace, kind, name = matched.groups()
        verb = VERBS[method]
        if name is None:
            verb = {"get": "list", "delete": "deletecollection"}.get(verb, verb)
        self.calls.append(f"{verb} {kind}")
        if (verb, kind) in self.forbidden:
            raise RefusedError(403, f'{kind} is forbidden: User "worker" cannot {verb} resource "{kind}"')
        answers = {
            "create": lambda: self.create(namespace, kind, body),
            "list": lambda: self.listed(namespace, kind, query),
            "deletecollection": lambda: self.delete_collection(namespace, kind, query),
            "delete": lambda: self.delete(namespace, kind, name),
            "get": lambda: self.get(namespace, kind, name),
        }
        return answers[verb]()

    def get(self, namespace: str, kind: str, name: str) -> Json:
        if (namespace, kind, name) not in self.objects:
            raise RefusedError(404, f'{kind} "{name}" not found')
        return self.objects[namespace, kind, name]


def refuse_unrestricted(pod: Json) -> None:
    """Pod Security Standards, level restricted, v1.34: the rules of real admission that our pods
    could violate."""
    spec, wrong = pod["spec"], []
    own = spec.get("securityContext", {})
    if any(spec.get(name) for name in ("hostNetwork", "hostPID", "hostIPC")):
        wrong.append("host namespaces")
    wrong += [f"volume {volume['name']}" for volume in spec.get("volumes", []) if "hostPath" in volume]
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        context = container.get("securityContext", {})
        capabilities = context.get("capabilities", {})
        if context.get("allowPrivilegeEscalation") is not False:
            wrong.append("allowPrivilegeEscalation != false")
        if "ALL" not in capabilities.get("drop", []) or set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
            wrong.append("unrestricted capabilities")
        if not context.get("runAsNonRoot", own.get("runAsNonRoot")) or own.get("runAsUser") == 0:
            wrong.append("runAsNonRoot != true")
        if context.get("seccompProfile", own.get("seccompProfile", {})).get("type") not in (
            "RuntimeDefault",
            "Localhost",
        ):
            wrong.append("seccompProfile")
    if wrong:
        raise RefusedError(403, f'violates PodSecurity "restricted:latest": {", ".join(wrong)}')


def _status(state: Json, name: str) -> Json:
    return {"name": name, "image": "i", "imageID": "", "ready": "running" in state, "restartCount": 0, "state": state}


def _selected(item: Json, query: Json) -> bool:
    labels = item["metadata"].get("labels", {})
    for part in filter(None, query.get("labelSelector", [""])[0].split(",")):
        name, _, value = part.partition("=")
        if name.endswith("!"):
            if labels.get(name[:-1]) == value:
                return False
        elif labels.get(name) != value:
            return False
    for part in filter(None, query.get("fieldSelector", [""])[0].split(",")):
        name, _, value = part.partition("=")
        assert name == "spec.nodeName", name
        if item["spec"].get("nodeName") != value:
            return False
    return True


@contextmanager
def serving(cluster: FakeCluster, folder: Path) -> Iterator[EmulationCluster]:
    """Settings for a worker that uses this cluster."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def work(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = orjson.loads(self.rfile.read(length)) if length else {}
            where = urlsplit(self.path)
            try:
                if cluster.down:
                    raise RefusedError(503, "etcdserver: leader changed")
                with cluster.lock:
                    status, message = 200, cluster.answer(self.command, where.path, parse_qs(where.query), body)
            except RefusedError as error:
                status = error.status
                message = {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "message": str(error),
                    "code": status,
                }
            sent = orjson.dumps(message)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_DELETE = work  # noqa: N815 - the base class calls these names

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128  # many nodes' threads call at once

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    config = folder / "kubeconfig"
    place = {"server": f"http://127.0.0.1:{server.server_address[1]}"}
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": place}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    try:
        yield EmulationCluster(
            namespace=NAMESPACE, fabrics="cubeyard", keys=folder, image="cubeyard:test", kubeconfig=config, start_secs=3
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

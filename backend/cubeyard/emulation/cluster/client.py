"""The connection to a cluster's API server by the official client, with readable errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from urllib3.exceptions import HTTPError

from cubeyard.emulation.cluster.errors import ClusterGoneError, ClusterRefusedError
from cubeyard.settings import EmulationCluster

Json = dict[str, Any]

CALL_SECS = 20.0
GONE_STATUS = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses that mean that the API server is temporarily unavailable."""
_clients: dict[str, Any] = {}
_opening = threading.Lock()


def message(error: ApiException) -> str:
    """The message in the API server's `Status` document, or the plain reason."""
    try:
        output = str(orjson.loads(error.body or b"")["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        output = str(error.reason or error.status)
    return output if len(output) <= 600 else output[:599] + "…"


@contextmanager
def explained() -> Iterator[None]:
    """Raises the client's errors as ours. Callers must catch 404 and 409 before."""
    try:
        yield
    except ApiException as error:
        if error.status in GONE_STATUS or not error.status:
            raise ClusterGoneError(message(error)) from error
        raise ClusterRefusedError(message(error), _fix(error)) from error
    except (HTTPError, OSError) as error:
        raise ClusterGoneError(str(error)[:300]) from error


def _fix(error: ApiException) -> str:
    output = message(error)
    if error.status == 401:
        return "Its token or certificate is not valid here: check the kubeconfig, or the pod's service account."
    if "exceeded quota" in output:
        return "Raise the namespace's ResourceQuota, take fewer servers, or mode namespaces."
    if "violates PodSecurity" in output:
        return "The namespace must admit pods of level restricted."
    if error.status == 403:
        return "The worker's service account needs the Role of the chart (deploy/helm/cubeyard)."
    return ""


def connect(cluster: EmulationCluster) -> Any:
    """A client of the cluster that this process is in, or that the kubeconfig names; safe for
    several threads.

    Raises ClusterRefusedError if there is neither.
    """
    with _opening:
        key = cluster.model_dump_json()
        if key not in _clients:
            _clients[key] = _open(cluster)
        return _clients[key]


def _open(cluster: EmulationCluster) -> Any:
    settings: Any = client.Configuration()
    try:
        if cluster.kubeconfig is not None:
            config.load_kube_config(str(cluster.kubeconfig), client_configuration=settings)
        else:
            config.load_incluster_config(client_configuration=settings)
    except (ConfigException, OSError) as error:
        fix = "Set `kubeconfig` in CUBEYARD_CLUSTER, or run inside the cluster with a service account."
        raise ClusterRefusedError(f"there is no way to it ({error})", fix) from error
    settings.connection_pool_maxsize = 16
    settings.retries = False
    return client.ApiClient(settings)


def core(cluster: EmulationCluster) -> Any:
    """The API for pods, ConfigMaps and quotas."""
    return client.CoreV1Api(connect(cluster))


def version(cluster: EmulationCluster, secs: float = 5.0) -> str:
    """The version of the API server. Raises ClusterGoneError if it does not respond in time."""
    with explained():
        api: Any = client.VersionApi(connect(cluster))
        return str(api.get_code(_request_timeout=secs).git_version)


def refused_verbs(cluster: EmulationCluster, wanted: dict[str, tuple[str, ...]]) -> list[str]:
    """The verbs, by resource, that this account must have but lacks in the servers' namespace, such
    as "create pods"."""
    api: Any = client.AuthorizationV1Api(connect(cluster))
    refused = []
    for resource, verbs in wanted.items():
        for verb in verbs:
            request = {"namespace": cluster.namespace, "verb": verb, "resource": resource}
            body = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": request},
            }
            with explained():
                answer = api.create_self_subject_access_review(body, _request_timeout=CALL_SECS)
            if not answer.status.allowed:
                refused.append(f"{verb} {resource}")
    return refused

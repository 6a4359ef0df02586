"""Docker contexts, as stored by `docker context create`: a name for an engine, and how to connect
to it.

The SDK's reader finds no contexts without a `config.json` in the same folder, which
`docker context create` does not create.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import orjson

Json = dict[str, Any]


def context(name: str) -> Json | None:
    """The arguments of an SDK client for a context; None if there is none with that name."""
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker") / "contexts"
    digest = hashlib.sha256(name.encode()).hexdigest()
    try:
        endpoint = orjson.loads((folder / "meta" / digest / "meta.json").read_bytes())["Endpoints"]["docker"]
        way: Json = {"base_url": endpoint["Host"]}
    except (OSError, orjson.JSONDecodeError, KeyError):
        return None
    keys = folder / "tls" / digest / "docker"
    if keys.exists():
        from docker.tls import TLSConfig

        own = (str(keys / "cert.pem"), str(keys / "key.pem")) if (keys / "key.pem").exists() else None
        authority = str(keys / "ca.pem") if (keys / "ca.pem").exists() else None
        way["tls"] = TLSConfig(client_cert=own, ca_cert=authority, verify=not endpoint.get("SkipTLSVerify"))
    return way

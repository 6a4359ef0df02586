"""Files of `wg-quick` for a WireGuard network between hosts. `test_several_hosts.py` uses them."""

from __future__ import annotations

import base64
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cubeyard.cli.command import app

PRIVATE_KEY = bytes.fromhex("302e020100300506032b656e04220420")
"""A private key of X25519 as a DER document, up to its bytes (RFC 8410)."""


def made(folder: Path, *hosts: str, options: tuple[str, ...] = (), code: int = 0) -> str:
    words = [word for host in hosts for word in ("--wireguard", host)]
    done = CliRunner().invoke(app, ["keys", str(folder), *words, *options])
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def value(text: str, name: str) -> list[str]:
    return re.findall(rf"^{name} = (.+)$", text, re.MULTILINE)


def public_key(private: str, folder: Path) -> str:
    (folder / "key").write_bytes(PRIVATE_KEY + base64.b64decode(private))
    words = ["openssl", "pkey", "-inform", "DER", "-in", str(folder / "key"), "-pubout", "-outform", "DER"]
    return base64.b64encode(subprocess.run(words, check=True, capture_output=True).stdout[-32:]).decode()


def test_each_host_has_its_private_key_and_the_public_keys_of_the_others(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    printed = made(keys, "a=192.0.2.1", "b=b.example.org", "c=[2001:db8::3]")
    files = {name: keys / "wireguard" / name / "cubeyard.conf" for name in "abc"}
    texts = {name: file.read_text() for name, file in files.items()}
    assert {file.stat().st_mode & 0o777 for file in files.values()} == {0o600}
    for number, name in enumerate("abc", 1):
        assert f"{files[name]}: underlay 10.86.0.{number}" in printed
        assert value(texts[name], "Address") == [f"10.86.0.{number}/24"]
    public = {name: public_key(value(text, "PrivateKey")[0], tmp_path) for name, text in texts.items()}
    assert len(set(public.values())) == len(public)
    assert value(texts["a"], "PublicKey") == [public["b"], public["c"]]
    assert value(texts["a"], "Endpoint") == ["b.example.org:51820", "[2001:db8::3]:51820"]
    assert value(texts["a"], "AllowedIPs") == ["10.86.0.2/32", "10.86.0.3/32"]
    assert value(texts["c"], "PublicKey") == [public["a"], public["b"]]

    made(keys, "a=192.0.2.1", "b=b.example.org", options=("--wireguard-network", "10.9.8.0/30"))
    renewed = files["a"].read_text()
    assert value(renewed, "Address") == ["10.9.8.1/30"]
    assert value(renewed, "PrivateKey") != value(texts["a"], "PrivateKey")


@pytest.mark.parametrize(
    ("hosts", "options", "words"),
    [
        (("a=192.0.2.1",), (), "at least two hosts"),
        (("a=192.0.2.1", "a=192.0.2.2"), (), "host a is given twice"),
        (("a=192.0.2.1", "b"), (), "'b' must be NAME=ADDRESS"),
        (("a=192.0.2.1", "b=x\nPostUp = reboot"), (), "must be NAME=ADDRESS"),
        (("a=192.0.2.1", "../b=192.0.2.2"), (), "must be NAME=ADDRESS"),
        (("a=1.2.3.4", "b=1.2.3.5", "c=1.2.3.6"), ("--wireguard-network", "10.0.0.0/30"), "give a larger network"),
        (("a=1.2.3.4", "b=1.2.3.5"), ("--wireguard-network", "10.0.0.1/24"), "has host bits set"),
    ],
)
def test_hosts_that_make_no_network_are_refused(
    tmp_path: Path, hosts: tuple[str, ...], options: tuple[str, ...], words: str
) -> None:
    assert words in made(tmp_path / "keys", *hosts, options=options, code=2)
    assert not (tmp_path / "keys").exists()


def test_without_hosts_there_is_no_wireguard(tmp_path: Path) -> None:
    made(tmp_path / "keys")
    assert not (tmp_path / "keys" / "wireguard").exists()

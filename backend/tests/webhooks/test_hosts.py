"""The hosts that webhooks may call: no address that the setting does not allow, under any name."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cubeyard.settings import Settings
from cubeyard.webhooks.hosts import Hosts, RefusedError, is_public, target_of
from cubeyard.webhooks.sending import post
from tests.webhooks.receiver import Receiver

HOSTS = Hosts(["hooks.example.org", "10.1.0.0/16", "192.0.2.7", "fd00::/8"])


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org/x?y=1",
        "https://HOOKS.example.org.:8443",
        "http://10.1.2.3/",
        "http://192.0.2.7:81/",
        "http://[fd00::1]/",
    ],
)
def test_a_listed_host_is_allowed(url: str) -> None:
    assert HOSTS.refusal(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/",
        "https://evil.hooks.example.org/",
        "https://hooks.example.org.evil.net/",
        "https://hooks.example.org@evil.net/",
        "https://user:word@hooks.example.org/",
        "https://evil.net\\@hooks.example.org/",
        "https://hooks.example.org/#x",
        "https://hooks.example.org:0/",
        "https://hooks.example.org:99999/",
        "https://hooks.example.org/a b",
        "https://hooks.example.org/\r\nx: y",
        "https://h\u00f6oks.example.org/",
        "ftp://hooks.example.org/",
        "file:///etc/passwd",
        "//hooks.example.org/",
        "hooks.example.org",
        "http://10.2.0.1/",
        "http://167837697/",
        "http://0x0a010001/",
        "http://[::ffff:10.2.0.1]/",
        "http://[fe80::1%25eth0]/",
        "http://",
    ],
)
def test_any_other_url_is_refused(url: str) -> None:
    refusal = HOSTS.refusal(url)
    assert refusal is not None
    assert refusal.message
    assert refusal.hint


@given(st.ip_addresses())
def test_an_address_is_allowed_exactly_in_a_listed_network(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    host = f"[{address}]" if address.version == 6 else str(address)
    real = getattr(address, "ipv4_mapped", None) or address
    listed = any(real in ipaddress.ip_network(network) for network in ("10.1.0.0/16", "192.0.2.7", "fd00::/8"))
    assert (HOSTS.refusal(f"http://{host}/") is None) == listed


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("10.0.0.1", False),
        ("127.0.0.1", False),
        ("0.0.0.0", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("192.168.1.1", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::1", False),
        ("2001:0:a00:1::1", False),
        ("ff02::1", False),
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
    ],
)
def test_addresses_of_the_internet_are_told_from_others(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) == public


def test_a_listed_name_with_a_private_address_is_refused_unless_that_is_listed_too() -> None:
    target = target_of("http://localhost/")
    with pytest.raises(RefusedError, match="private address"):
        Hosts(["localhost"]).addresses(target)
    assert set(Hosts(["localhost", "127.0.0.0/8", "::1"]).addresses(target)) <= {"127.0.0.1", "::1"}
    with pytest.raises(RefusedError, match="CUBEYARD_WEBHOOK_HOSTS"):
        Hosts(["127.0.0.0/8"]).addresses(target)


def test_a_wrong_entry_of_the_setting_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBEYARD_WEBHOOK_HOSTS", "hooks.example.org, 10.0.0.0/8,::1")
    assert Settings().webhook_hosts == ["hooks.example.org", "10.0.0.0/8", "::1"]
    for wrong in ("https://hooks.example.org", "10.0.0.1/8", "a b", "x:80"):
        monkeypatch.setenv("CUBEYARD_WEBHOOK_HOSTS", wrong)
        with pytest.raises(ValidationError, match="is no host"):
            Settings()


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver() as receiver, Receiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert post(Hosts(["127.0.0.1"]), f"{receiver.url}/hook", "{}", {}, 10) == (200, "")
        assert [item.path for item in receiver.received] == ["/hook"]
        assert proxy.received == []


@contextmanager
def listening() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_answer_that_comes_byte_by_byte_ends_with_the_time(scheme: str) -> None:
    """Each byte comes in time; the whole answer, or the TLS handshake, does not."""
    done = threading.Event()
    with listening() as server:

        def drip() -> None:
            connection, _ = server.accept()
            with closing(connection):
                while not done.wait(0.05):
                    try:
                        connection.sendall(b"\x16" if scheme == "https" else b"x")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        started = time.monotonic()
        url = f"{scheme}://127.0.0.1:{server.getsockname()[1]}/"
        status, error = post(Hosts(["127.0.0.1"]), url, "{}", {}, 0.5)
        done.set()
        thread.join()
    assert status is None
    assert error
    assert time.monotonic() - started < 10


def test_a_certificate_that_nobody_trusts_is_refused(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with listening() as server:

        def answer() -> None:
            connection, _ = server.accept()
            with closing(connection):
                try:
                    context.wrap_socket(connection, server_side=True)
                except OSError:
                    return

        thread = threading.Thread(target=answer)
        thread.start()
        status, error = post(Hosts(["127.0.0.1"]), f"https://127.0.0.1:{server.getsockname()[1]}/", "{}", {}, 10)
        thread.join()
    assert status is None
    assert "certificate" in error.lower()

"""Full disks, in all forms of their errors, and the resulting messages."""

from __future__ import annotations

import errno
from pathlib import Path

import psycopg
import pytest
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError

from cubeyard.kit.db import Database
from cubeyard.kit.disk import DiskFullError, disk_of, is_full
from cubeyard.plans.service import PlanService

FULL = OperationalError("INSERT", {}, psycopg.errors.DiskFull("could not extend file"))
GONE = OperationalError("INSERT", {}, psycopg.errors.AdminShutdown("terminating connection"))


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "x"), True),
        (OSError(errno.EDQUOT, "x"), True),
        (OSError(errno.EACCES, "x"), False),
        (FULL, True),
        (GONE, False),
        (RuntimeError("mkdir /var/lib/docker: No space left on device"), True),
        (RuntimeError("no such device"), False),
    ],
)
def test_who_says_that_a_disk_is_full(error: Exception, full: bool) -> None:
    assert is_full(error) is full


def test_which_disk_how_much_is_free_and_what_to_do(tmp_path: Path) -> None:
    message = str(DiskFullError("the Docker engine", tmp_path / "not" / "there"))
    assert message.startswith(f"The disk of the Docker engine at {tmp_path}/not/there is full: ")
    assert message.endswith(" MiB are free. Free some space, then start the run again.")
    elsewhere = str(DiskFullError("the database", None, "try again"))
    assert elsewhere == "The disk of the database is full. Free some space, then try again."


def test_only_a_full_disk_is_told_as_one(tmp_path: Path) -> None:
    with pytest.raises(DiskFullError), disk_of("it", tmp_path):
        raise OSError(errno.ENOSPC, "x")
    with pytest.raises(PermissionError), disk_of("it", tmp_path):
        raise PermissionError(errno.EACCES, "x")


def test_a_database_that_is_gone_is_not_full(database: Database) -> None:
    assert database.full(GONE) is None
    full = database.full(FULL)
    assert full is not None
    assert full.status == 507


def test_a_request_that_cannot_be_kept_says_why(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise FULL

    monkeypatch.setattr(PlanService, "page", refuse)
    answer = client.get("/api/v1/plans")
    assert answer.status_code == 507
    assert answer.json()["type"] == "urn:cubeyard:problem:disk-full"
    assert "then try again" in answer.json()["detail"]

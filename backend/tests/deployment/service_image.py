"""Cubeyard's image, built by its Dockerfile from this checkout, unpacked for the nodes of the
cluster's tests.

Two versions of it: the second has one more migration, as the next version of Cubeyard can have.
They are cached under the digest of their inputs, so that only a change needs the two to four
minutes of the build.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.deployment.engine import Docker, docker_engine
from tests.deployment.images import WHEELS, Images, base_tree, cache, make_images

ROOT = Path(__file__).resolve().parents[3]
NAME = "cubeyard.test/cubeyard"
FIRST, NEXT = "1", "2"
TAKEN = (
    "backend/Dockerfile",
    "backend/pyproject.toml",
    "backend/requirements.txt",
    "backend/requirements-dev.txt",
    "backend/requirements-docs.txt",
    "backend/cubeyard",
    "bin/site",
    "docs",
    "e2e/pictures",
    "frontend",
    "migrations",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
)
LEFT_OUT = frozenset({"node_modules", "dist", "__pycache__", ".vite", "coverage", ".venv"})
NEXT_MIGRATION = '''"""What a next version of Cubeyard may bring: how often it was migrated to

Revision: next
Follows: {head}
"""

from alembic import op

revision = "next"
down_revision = "{head}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE TABLE IF NOT EXISTS next_version (at timestamptz DEFAULT clock_timestamp())")
    op.execute("INSERT INTO next_version DEFAULT VALUES")


def downgrade() -> None:
    op.execute("DROP TABLE next_version")
'''


def prepared(docker: Docker | None = None, bases: Images | None = None) -> Path:
    """A folder of a containerd that has both versions, unpacked; to be copied, not used.

    An engine with its base images, in which the Dockerfile has been built before, has every step of
    it already.
    """
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "image.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        target = cache() / f"image-{_digest()}"
        if target.exists():
            return target
        with ExitStack() as ending:
            folder = Path(tempfile.mkdtemp(prefix="cubeyard-docker-"))
            ending.callback(_remove, folder)
            if docker is None or bases is None:
                docker = ending.enter_context(docker_engine(folder))
                bases = make_images(docker, folder, f"c{os.getpid()}", built_engine=True)
                if not docker.ours:
                    ending.callback(docker.run, "image", "rm", "--force", *bases.names(), check=False)
            _prepare(target, docker, bases, folder)
        return target


def _prepare(target: Path, docker: Docker, bases: Images, folder: Path) -> None:
    unfinished = target.with_suffix(f".{os.getpid()}")
    tar = folder / "images.tar"
    names = (f"{NAME}:{FIRST}", f"{NAME}:{NEXT}")
    try:
        try:
            _build(docker, bases, folder)
            docker.run("save", "--output", str(tar), *names)
        finally:
            if not docker.ours:
                docker.run("image", "rm", "--force", *names, check=False)
        _unpack(tar, unfinished, folder)
        for former in cache().glob("image-*"):
            if former != unfinished:
                _remove(former)
        unfinished.rename(target)
    finally:
        _remove(unfinished)


def _unpack(tar: Path, root: Path, folder: Path) -> None:
    socket, config = folder / "containerd.sock", folder / "containerd.toml"
    config.write_text(
        f'version = 2\nroot = "{root}"\nstate = "{folder}/state"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
        f'[grpc]\naddress = "{socket}"\n'
    )
    with (folder / "containerd.log").open("wb") as log:
        daemon = subprocess.Popen(["containerd", "--config", str(config)], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 30
        while not socket.exists():
            assert daemon.poll() is None, (folder / "containerd.log").read_text()[-2000:]
            assert time.monotonic() < deadline, "containerd does not start"
            time.sleep(0.1)
        words = ["ctr", "--address", str(socket), "--namespace", "k8s.io", "images", "import", str(tar)]
        subprocess.run(words, check=True, capture_output=True)
    finally:
        daemon.terminate()
        daemon.wait(30)


def copied(root: Path) -> None:
    """The prepared folder for a separate containerd. Layers are never written to, so their files
    are shared; containerd writes only to its databases."""
    source = prepared()
    linked = subprocess.run(["cp", "-a", "--link", str(source), str(root)], capture_output=True, check=False)
    if linked.returncode != 0:  # the temporary folder is on another file system
        _remove(root)
        subprocess.run(["cp", "-a", str(source), str(root)], check=True)
    for database in source.glob("*/*.db"):
        own = root / database.relative_to(source)
        own.unlink()
        shutil.copy2(database, own)


def _remove(place: Path) -> None:
    """Faster than in Python for so many files."""
    subprocess.run(["rm", "-rf", "--one-file-system", str(place)], check=False)


def _build(docker: Docker, bases: Images, folder: Path) -> None:
    arguments = {name: value for name, value in bases.arguments().items() if name != "POSTGRES_IMAGE"}
    words = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
    file = str(ROOT / "backend" / "Dockerfile")
    docker.run("build", "--quiet", "--file", file, *words, "--tag", f"{NAME}:{FIRST}", str(ROOT))
    further = folder / "next"
    further.mkdir()
    (further / "next_version.py").write_text(NEXT_MIGRATION.format(head=newest_migration()))
    (further / "Dockerfile").write_text(f"FROM {NAME}:{FIRST}\nCOPY next_version.py /app/migrations/versions/\n")
    docker.run("build", "--quiet", "--tag", f"{NAME}:{NEXT}", str(further))


def newest_migration() -> str:
    """The revision of this checkout's database."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(ROOT / "migrations"))
    head = ScriptDirectory.from_config(config).get_current_head()
    assert head is not None
    return head


def _digest() -> str:
    result = hashlib.sha256(base_tree().name.encode() + NEXT_MIGRATION.encode())
    programs = sorted((ROOT / ".setup" / "programs").glob("cubeyard-*"))
    for path in (*_files(), *programs, *sorted(WHEELS.glob("*.whl"))):
        result.update(f"\0{path.relative_to(ROOT)}\0".encode())
        result.update(path.read_bytes())
    return result.hexdigest()[:16]


def _files() -> Iterator[Path]:
    for name in TAKEN:
        place = ROOT / name
        if place.is_file():
            yield place
            continue
        for folder, inner, files in os.walk(place):
            inner[:] = sorted(item for item in inner if item not in LEFT_OUT)
            yield from (Path(folder, file) for file in sorted(files) if not file.endswith(".pyc"))

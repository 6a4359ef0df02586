"""Slurm on this machine: a controller and two nodes (slurmctld, slurmd and munged of the system's
packages), each node with separate processes, so that it can die like a machine. No systemd, no
control groups; all files are in one folder."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.machines import STOP_SECS, wait
from tests.processes import environment

Json = dict[str, Any]

ROOT = Path(__file__).parents[3]
WORKERS = ROOT / "deploy" / "slurm" / "workers.sbatch"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "squeue")
PACKAGES = "slurmctld and slurmd"
NODES = ("node-a", "node-b")
APART = (*("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),)
"""A node's processes end with its first one."""


def missing() -> str | None:
    """Why Slurm cannot run here; None if it can."""
    search = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    absent = [program for program in PROGRAMS if shutil.which(program, path=search) is None]
    if absent:
        return f"Slurm is not installed (no {', '.join(absent)}); `bin/setup test` installs {PACKAGES} where apt knows them"
    if os.geteuid() != 0:
        return "slurmd starts jobs as root"
    tried = subprocess.run([*APART, "true"], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"no namespaces for the nodes of Slurm: {tried.stderr.strip()}"


@dataclass
class Job:
    """One of an array."""

    id: str
    """In Slurm's notation: array id, underscore, index."""
    state: str
    node: str


@dataclass
class Slurm:
    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        """The folder where jobs run and write their output."""
        return self.folder / "jobs"

    @property
    def scratch(self) -> Path:
        """TMPDIR of the jobs."""
        return self.folder / "scratch"

    def environment(self, **more: str) -> dict[str, str]:
        given = environment(self.folder, SLURM_CONF=f"{self.folder}/slurm.conf", TMPDIR=str(self.scratch), **more)
        del given["CUBEYARD_HOME"]  # the job's own
        return {**given, "PATH": f"{given['PATH']}:/usr/sbin:/sbin"}

    def start(self, what: str, *command: str) -> None:
        with (self.folder / f"{what}.log").open("ab") as log:
            self.running[what] = subprocess.Popen(
                command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )  # fmt: skip

    def start_node(self, name: str) -> None:
        # The shell is the first process there: it takes the exit status of those whose parent has
        # ended.
        words = ("sh", "-c", '"$@"; exit "$?"', name, "slurmd", "-D", "-N", name)
        self.start(name, *APART, *words)

    def kill(self, what: str) -> None:
        """With -9; a node with all that runs there."""
        process = self.running.pop(what)
        process.kill()
        process.wait(STOP_SECS)

    def stop(self) -> None:
        for what in reversed(list(self.running)):
            self.kill(what)

    def said(self, what: str) -> str:
        return "\n".join((self.folder / f"{what}.log").read_text(errors="replace").splitlines()[-12:])

    def call(self, *command: str, **more: str) -> str:
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment(**more), capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, (command, done.stderr, self.said("slurmctld"))
        return done.stdout

    def idle(self) -> int:
        """How many nodes have nothing to do."""
        with suppress(AssertionError):
            return self.call("sinfo", "--noheader", "--Node", "--format=%t").split().count("idle")
        return 0

    def submit(self, database: str, *options: str, **more: str) -> str:
        """Submits an array of workers as in docs/how-to/workers.md; returns its id."""
        given = {"DATABASE_URL": database, "CUBEYARD_LOG_FORMAT": "json", **more}
        reported = self.call("sbatch", "--parsable", f"--chdir={self.output}", *options, str(WORKERS), **given)
        return reported.strip()

    def jobs(self, array: str) -> list[Job]:
        """All jobs of an array, including ended ones."""
        reported = self.call(
            "squeue", "--noheader", "--array", "--states=all", f"--jobs={array}", "--format=%i %T %N", "--sort=i"
        )
        return [Job(*[*line.split(), ""][:3]) for line in reported.splitlines()]

    def states(self, array: str) -> list[str]:
        return [job.state for job in self.jobs(array)]

    def wrote(self, job: str) -> str:
        """The output of a job."""
        place = self.output / f"cubeyard-{job.replace('_', '-')}.log"
        return place.read_text() if place.exists() else ""

    def events(self, job: str) -> list[Json]:
        """The log events of its worker."""
        return [json.loads(line) for line in self.wrote(job).splitlines() if line.startswith("{")]

    def story(self) -> str:
        """The state of every job and its last output, for error messages."""
        reported = self.call("squeue", "--noheader", "--array", "--states=all", "--format=%i %T %N %r")
        logs = (f"{path.name}: {path.read_text()[-600:]}" for path in sorted(self.output.iterdir()))
        return "\n".join([reported, *logs])

    def points(self, job: str) -> int:
        """That its worker wrote."""
        return sum(event.get("points", 0) for event in self.events(job))


def workers_of(array: str) -> dict[str, int]:
    """The processes of an array's workers on this machine, by the job's id."""
    result = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                parts = (folder / "environ").read_text(errors="replace").split("\0")
                given = {name: value for name, _, value in (part.partition("=") for part in parts)}
                if b"--until-idle" in words and given.get("SLURM_ARRAY_JOB_ID") == array:
                    result[f"{array}_{given['SLURM_ARRAY_TASK_ID']}"] = int(folder.name)
    return result


@contextmanager
def a_slurm() -> Iterator[Slurm]:
    """A Slurm with two idle nodes of four processors each. Ends all processes, also after
    errors."""
    folder = Path(tempfile.mkdtemp(prefix="cyl-"))
    folder.chmod(0o755)
    with ExitStack() as held:
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        slurm = Slurm(folder)
        held.callback(slurm.stop)
        for place in (slurm.output, slurm.scratch):
            place.mkdir()
        key = folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        (folder / "slurm.conf").write_text(_configuration(folder))
        slurm.start(
            "munged", "munged", "--foreground", f"--key-file={key}", f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed",
        )  # fmt: skip
        wait((folder / "munge.socket").exists, "munged does not listen", lambda: slurm.said("munged"), secs=20)
        slurm.start("slurmctld", "slurmctld", "-D")
        for name in NODES:
            slurm.start_node(name)
        wait(lambda: slurm.idle() == len(NODES), "the nodes are not idle", lambda: slurm.said("slurmctld"), secs=60)
        yield slurm


def _configuration(folder: Path) -> str:
    host = socket.gethostname()
    ports = _free_ports(len(NODES) + 1)
    nodes = "\n".join(
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=8192"
        for name, port in zip(NODES, ports[1:], strict=True)
    )
    return f"""ClusterName=cubeyard
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0
SlurmdTimeout=10
ReturnToService=2
MailProg=/bin/true
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        listening = [held.enter_context(socket.socket()) for _ in range(count)]
        for item in listening:
            item.bind(("127.0.0.1", 0))
        return [int(item.getsockname()[1]) for item in listening]

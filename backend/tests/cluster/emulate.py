"""`cubeyard emulate` on the cluster, as a worker outside of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cubeyard.settings import EmulationCluster, Settings

Json = dict[str, Any]
SMALL = '{"family":"bcube","n":4,"k":1}'
SHORT = ("--link-rate", "5M", "--settle", "1", "--calibrate", "0.5")


class Emulate:
    """`cubeyard emulate` on the cluster."""

    def __init__(self, home: Path, told: Json) -> None:
        self.settings = Settings(cluster=EmulationCluster.model_validate(told), home=home)
        self.environment = {
            **os.environ, "CUBEYARD_CLUSTER": json.dumps(told), "CUBEYARD_HOME": str(home), "CUBEYARD_LOG_LEVEL": "warning",
            "CUBEYARD_IMAGE_REGISTRIES": "local,cubeyard.test,127.0.0.1:1",
        }  # fmt: skip

    def start(self, *arguments: str, spec: str = SMALL) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "cubeyard.cli", "emulate", "--spec", spec, *SHORT, *arguments, "--json"]
        return subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process: subprocess.Popen[str], code: int = 0, *, may_overrun: str | None = None) -> Json:
        """A fault of kind `may_overrun` may end late: the exit status is 3 if it did."""
        out, message = process.communicate(timeout=240)
        result = json.loads(out) if out else {"said": " ".join(message.split())}
        late = {fault["kind"] for fault in result.get("faults", []) if "overran_secs" in fault}
        assert late <= {may_overrun}, late
        assert process.returncode == (3 if late else code), (process.returncode, message)
        return result

    def run(self, *arguments: str, code: int = 0) -> Json:
        return self.finish(self.start(*arguments), code)


def check_report(found: Json) -> None:
    assert len(found["per_flow"]) == 16 * 15
    assert min(flow["goodput_bits_per_sec"] for flow in found["per_flow"]) > 0, "every server reaches every other one"
    assert found["windows"]["before"]["goodput_bits_per_sec"] > 0.8 * found["ideal_bits_per_sec"]
    assert found["timings"]["kept"] == []

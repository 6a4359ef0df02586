"""The recipe for fault kinds, done in a copy: a kind of an existing effect changes one file, a kind
of a new effect two. Rust's tests are added and do not count."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

EMULATOR = Path(__file__).resolve().parents[3] / "emulator"
KINDS = "crates/topology/src/fault/kinds.rs"
CONDITIONS = "crates/fabric/src/faults/conditions.rs"
ENGINES = "crates/sim/src/engine.rs"
END_OF_KINDS = "\n}\n\nimpl FaultKind {"

KNOWN_EFFECT = [
    (
        KINDS,
        END_OF_KINDS,
        """

    /// A link that loses packets and delivers the others later.
    LinkPoor = "link-poor" {
        title: "Poor link",
        target: FaultTarget::Link,
        parameters: &[LOSS, DELAY],
        summary: "The link loses packets and delivers the others later.",
        effect: on_links(LinkEffect::DEGRADED),
    }""",
    )
]
NEW_EFFECT = [
    (
        KINDS,
        END_OF_KINDS,
        """

    /// A link that carries packets in one direction only.
    LinkOneWay = "link-one-way" {
        title: "Link carries one direction",
        target: FaultTarget::Link,
        summary: "One end of the link drops everything, with a carrier.",
        effect: on_links(LinkEffect::OneWay),
    }""",
    ),
    (KINDS, "\n    /// They carry packets worse.", "\n    /// One end drops everything.\n    OneWay,"),
    (KINDS, " | LinkEffect::Degraded(_) => false", " | LinkEffect::OneWay"),
    (
        CONDITIONS,
        "\n            LinkEffect::Dropped =>",
        """
            LinkEffect::OneWay => {
                if let Part::Link(link, end) = fault.part {
                    self.ends[link][end].queue = QueueCondition::Cut;
                }
            }""",
    ),
]
FABRIC_TEST = """
#[cfg(test)]
mod added {
    use super::*;
    use serde_json::json;

    #[test]
    fn added_fault_kinds_are_enacted() {
        let network = Network::from_json(json!({
            "run": "abcdefgh", "spec": {"family": "tree", "edge_ports": 2, "root_ports": 2, "servers": 2},
            "protocol": "none", "rate_bits_per_sec": 1e8, "mtu": 9000, "servers": [{"id": 0}, {"id": 1}],
            "switches": [{"id": 2}], "links": [{"id": 0, "a": [0, 0], "b": [2, 0]}, {"id": 1, "a": [1, 0], "b": [2, 1]}],
        }))
        .expect("a network");
        let ends = |fault: serde_json::Value| {
            let fault = Fault::from_json(&network, fault).expect("a fault");
            Conditions::under(&network, [&fault]).ends[0]
        };
        let poor = ends(json!({"id": 1, "kind": "link-poor", "target": {"link": 0}, "loss_ratio": 0.5, "delay_secs": 0.1}));
        assert!(poor.iter().all(|end| (end.loss, end.queue) == (0.5, QueueCondition::Delayed(0.1))));
        let one_way = ends(json!({"id": 1, "kind": "link-one-way", "target": {"link": 0}}));
        assert_eq!(one_way.map(|end| end.queue), [QueueCondition::Cut, QueueCondition::Normal]);
    }
}
"""
ENGINES_TEST = """
#[cfg(test)]
mod added {
    use super::*;

    #[test]
    fn added_fault_kinds_are_supported_by_their_effect() {
        let engines = engines_json();
        let list = |value: &Value| value.as_array().cloned().expect("a list");
        let supported = |name: &str| {
            let has = |engine: Value| list(&engine["faults"]).contains(&json!(name));
            list(&engines).into_iter().map(has).collect::<Vec<_>>()
        };
        assert_eq!(supported("link-poor"), [false, true]);
        assert_eq!(supported("link-one-way"), [false, false]);
        let text = "link-poor:5%,20ms=x@3-6".parse::<cubeyard_topology::fault::Fault>();
        assert_eq!(text.expect("a fault").check("fault"), []);
    }
}
"""


def insert(root: Path, edits: list[tuple[str, str, str]]) -> None:
    """Inserts each text before its anchor, which occurs once in the file."""
    for path, anchor, text in edits:
        source = (root / path).read_text()
        assert source.count(anchor) == 1, (path, anchor)
        (root / path).write_text(source.replace(anchor, text + anchor))


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_a_kind_of_a_known_effect_is_one_file_and_a_new_effect_two(tmp_path: Path) -> None:
    copy = tmp_path / "emulator"
    shutil.copytree(EMULATOR, copy, ignore=shutil.ignore_patterns("target"))
    for edits, files in ((KNOWN_EFFECT, {KINDS}), (NEW_EFFECT, {KINDS, CONDITIONS})):
        assert {path for path, _, _ in edits} == files
        insert(copy, edits)
    for path, test in ((CONDITIONS, FABRIC_TEST), (ENGINES, ENGINES_TEST)):
        (copy / path).write_text((copy / path).read_text() + test)
    # Packages of registries are built already. The copy's own packages have another path, so their
    # artifacts have other names.
    environment = os.environ | {"CARGO_TARGET_DIR": str(EMULATOR / "target")}
    for package, name in (("cubeyard-topology", "fault"), ("cubeyard-sim", "added"), ("cubeyard-fabric", "added")):
        command = ["cargo", "test", "--locked", "--offline", "--quiet", "--lib", "-p", package, name]
        done = subprocess.run(
            command, check=False, cwd=copy, env=environment, capture_output=True, text=True, timeout=1800
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"ok\. [1-9][0-9]* passed", done.stdout), done.stdout

"""Fails on a tracked file that names one machine, has unfinished work or too many lines, and on a
document that names a missing file or links to a missing heading."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {".rs", ".py", ".ts", ".tsx", ".mjs", ".c", ".h", ".css", ".sh", ".sql"}
GENERATED = re.compile(
    r"(^|/)(schema\.d\.ts|openapi\.json|cubeyard_engine\.pyi|contract/tick\.py|package-lock\.json|Cargo\.lock|requirements[^/]*\.txt)$|\.snap$|/gen/"
)
LINES_LIMIT = 600
BYTES_LIMIT = 1024 * 1024

# One letter of each word is in brackets, so that the patterns do not match this file.
MACHINE = re.compile(r"(?<![\w.])/(?:roo[t]|hom[e]/\w+|User[s]/\w+)/")
UNFINISHED = re.compile(r"\bTOD[O]\b|\bFIXM[E]\b|\bXX[X]\b|\btod[o]!|\bunimplemente[d]!|NotImplementedErro[r]")
# A lock file or a setting that names the place it was made with would tie everyone to that place.
REGISTRY = re.compile(r'"resolved":\s*"https?:|^\s*--(?:extra-)?index-url|^\s*--find-links|fil[e]:///', re.MULTILINE)
PINS = re.compile(r"(^|/)(package-lock\.json|\.npmrc|Cargo\.lock|requirements[^/]*\.txt|[^/]*\.toml)$")

# In a document, `backend/cubeyard/app.py` or [a link](backend/cubeyard/app.py#heading). Code counts
# from the top of the checkout, a link from the document. Placeholders like <name> are skipped.
NAMED = re.compile(r"`([^`\s]+)`|\]\(([^)\s#]*)#?([^)\s]*)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# Copied to a user's folder, where its links lead elsewhere.
TEMPLATES = "backend/cubeyard/cli/service_templates/"
UNTRACKED = re.compile(r"(^|/)(\.venv|node_modules|target|dist|\.setup|\.env)(/|$)")


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(prose)}


def missing(path: str, text: str, top: Path = ROOT) -> list[str]:
    """The missing files, folders and headings that a document names, one sentence each."""
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        for code, link, anchor in NAMED.findall(line):
            named: str = (code or link).rstrip("/")
            first = named.partition("/")[0]
            literal = re.fullmatch(r"[\w./@+-]+", named) is not None and not UNTRACKED.search(named)
            ours = (link and "//" not in link) or (first and "/" in named and (top / first).is_dir())
            near = not code or named.startswith("..")
            file = ((top / path).parent if near else top) / named if named else top / path
            if literal and ours and not file.exists():
                wrong.append(f"{path}:{number}: names {named}, which is not there")
            elif anchor and "//" not in link and file.suffix == ".md":
                whole = file.read_text() if named else text
                if anchor not in anchors(whole):
                    wrong.append(f"{path}:{number}: links to #{anchor}, a heading that {named or path} lacks")
    return wrong


def complaints(path: str, content: bytes) -> list[str]:
    """The errors of one file, one sentence each. `path` is relative to the checkout."""
    wrong: list[str] = []
    if len(content) > BYTES_LIMIT:
        wrong.append(f"{path}: {len(content)} bytes; a tracked file may have {BYTES_LIMIT}")
    if b"\0" in content[:8192]:
        return wrong
    text = content.decode("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if MACHINE.search(line):
            wrong.append(f"{path}:{number}: names a folder of one machine: {line.strip()[:100]}")
        if Path(path).suffix in SOURCES and not GENERATED.search(path) and UNFINISHED.search(line):
            wrong.append(f"{path}:{number}: unfinished: {line.strip()[:100]}")
    if PINS.search(path) and REGISTRY.search(text):
        wrong.append(f"{path}: names the registry it was made with; locks here hold names, versions and digests only")
    lines = text.count("\n")
    if Path(path).suffix in SOURCES and not GENERATED.search(path) and lines > LINES_LIMIT:
        wrong.append(f"{path}: {lines} lines; past {LINES_LIMIT} a file does more than one job: divide it")
    return wrong


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        print("files: not a git checkout, so nothing to check")
        return 0
    paths = [path for path in listed.stdout.decode().split("\0") if path and (ROOT / path).is_file()]
    wrong = [sentence for path in paths for sentence in complaints(path, (ROOT / path).read_bytes())]
    documents = [path for path in paths if path.endswith(".md") and not path.startswith(TEMPLATES)]
    wrong += [sentence for path in documents for sentence in missing(path, (ROOT / path).read_text())]
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    if not wrong:
        print(
            f"files: {len(paths)} tracked files name no machine and leave nothing unfinished; documents name what is there"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

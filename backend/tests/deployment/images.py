"""Base images made on this machine: a small Debian or Ubuntu tree by debootstrap, and the machine's
own toolchains.

They replace the published images that are the defaults of the Dockerfile and `docker-compose.yml`,
through the same arguments. The tree is kept in the user's cache folder, so that only the first run
pays for it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cubeyard.emulation.fabric.process import FABRIC, NODE, program
from cubeyard.settings import Settings

from .engine import Docker, as_root, plain_environment

# Packages of the distribution for the images: Python and a C compiler for the build, PostgreSQL for
# the database's image, and the programs of shells in servers, which the Dockerfile would install
# otherwise.
PACKAGES = (
    *("busybox-static", "ca-certificates", "gcc", "iputils-ping", "libc6-dev", "libstdc++6", "postgresql"),
    *("python3", "python3-pip", "python3-venv"),
)
# Nothing here uses these; without its compiler plug-in PostgreSQL does without, so LLVM need not
# come along.
LEFT_OUT = (
    *(
        "./dev/*",
        "./usr/share/doc/*",
        "./usr/share/locale/*",
        "./var/cache/apt/archives/*.deb",
        "./var/lib/apt/lists/*",
    ),
    *(
        "./usr/lib/*/libLLVM*",
        "./usr/lib/llvm-*",
        "./usr/lib/postgresql/*/lib/llvmjit*",
        "./usr/lib/postgresql/*/lib/bitcode",
    ),
)
ROOT = Path(__file__).resolve().parents[3]
WHEELS, PAGE, DOCS = ROOT / ".setup" / "wheels", ROOT / "frontend" / "dist", ROOT / "dist" / "docs"
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
# Variables of a machine behind a proxy or with its own mirrors; the images' package clients get the
# same values.
PASSED_ON = (
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "npm_config_registry", "NPM_CONFIG_REGISTRY"),
)


NAMES = ("base", "rust", "node", "postgres", "built")


@dataclass(frozen=True)
class Images:
    """Names of the images, by the arguments that take them."""

    base: str
    rust: str
    node: str
    postgres: str
    built: str
    """The results of `make setup`: the engine's wheel, the emulator's programs, the page, and the
    documentation."""
    engine: str
    """`built`, or the word for building the wheel in the image."""
    page: str
    """`built`, or the word for building the page in the image."""
    docs: str
    """`built`, or the word for building the documentation in the image."""

    def arguments(self) -> dict[str, str]:
        """Values for the variables of `docker-compose.yml`."""
        return {
            "RUST_IMAGE": self.rust,
            "NODE_IMAGE": self.node,
            "PYTHON_IMAGE": self.base,
            "RUNTIME_IMAGE": self.base,
            "POSTGRES_IMAGE": self.postgres,
            "ENGINE_IMAGE": self.engine,
            "PROGRAMS_IMAGE": self.built,
            "PAGE_IMAGE": self.page,
            "DOCS_IMAGE": self.docs,
        }

    def names(self) -> tuple[str, ...]:
        return (self.built, self.postgres, self.node, self.rust, self.base)


def make_images(docker: Docker, folder: Path, tag: str, *, built_engine: bool = False) -> Images:
    """Imports the base tree and adds to it the machine's Rust, its Node.js, and an entry point for
    PostgreSQL.

    The emulator's programs are those of this checkout, which `make setup` built by the words that
    the Dockerfile has; with `built_engine` or `CUBEYARD_TEST_BUILT_ENGINE`, so are the engine's
    wheel, the page and the documentation, and the image spends no minutes on them.
    """
    base, rust, node, postgres, built = (f"cubeyard-test-{name}:{tag}" for name in NAMES)
    if built_engine or os.environ.get("CUBEYARD_TEST_BUILT_ENGINE"):
        images = Images(base, rust, base, postgres, built, engine=built, page=built, docs=built)
    else:
        images = Images(base, rust, node, postgres, built, engine="engine", page="web", docs="docs")
    changes = {f"ENV {name}={BUNDLE}" for name in ("PIP_CERT", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")}
    changes |= {f'ENV {name}="{os.environ[name]}"' for name in PASSED_ON if os.environ.get(name)}
    flags = [flag for change in sorted(changes) for flag in ("--change", change)]
    docker.run("import", *flags, str(base_tree()), images.base)

    certificates = folder / "certificates"
    certificates.mkdir()
    # If the machine trusts further authorities (such as a company's), the images trust them too.
    shutil.copyfile(BUNDLE, certificates / BUNDLE.name)
    (certificates / "Dockerfile").write_text(f"FROM {images.base}\nCOPY {BUNDLE.name} {BUNDLE}\n")
    docker.run("build", "--quiet", "--tag", images.base, str(certificates))

    _derive(docker, folder / "rust", images.base, images.rust, _pack_no_rust if images.engine == built else _pack_rust)
    if images.node != images.base:
        _derive(docker, folder / "node", images.base, images.node, _pack_node)
    _derive(docker, folder / "built", "scratch", images.built, _pack_built)
    postgres = Path(__file__).with_name("postgres")
    docker.run("build", "--quiet", "--build-arg", f"BASE_IMAGE={images.base}", "--tag", images.postgres, str(postgres))
    return images


def cache() -> Path:
    """The folder for files that take long to make."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cubeyard" / "deployment"


def base_tree() -> Path:
    """The path of a tar of the distribution's tree, made by debootstrap when the cache has none."""
    system = _os_release()
    suite = system["VERSION_CODENAME"]
    # Ubuntu keeps some of these packages in a component that debootstrap leaves out by default.
    components = "main,universe" if system["ID"] == "ubuntu" else "main"
    key = hashlib.sha256("\n".join((suite, components, *PACKAGES, *LEFT_OUT)).encode()).hexdigest()[:12]
    tree = cache() / f"{suite}-{key}.tar"
    if tree.exists():
        return tree
    cache().mkdir(parents=True, exist_ok=True)
    root = cache() / f"{suite}-{key}.tree.{os.getpid()}"
    unfinished = cache() / f"{suite}-{key}.part.{os.getpid()}"
    environment = plain_environment()
    try:
        command = [
            "debootstrap",
            "--variant=minbase",
            f"--components={components}",
            f"--include={','.join(PACKAGES)}",
            suite,
            str(root),
        ]
        done = subprocess.run(as_root(*command), env=environment, text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        flags = [f"--exclude={pattern}" for pattern in LEFT_OUT]
        subprocess.run(
            as_root("tar", *flags, "-C", str(root), "-cf", str(unfinished), "."), env=environment, check=True
        )
        subprocess.run(as_root("chmod", "a+r", str(unfinished)), env=environment, check=True)
        for former in cache().glob("*.tar"):
            former.unlink()
        unfinished.rename(tree)
    finally:
        subprocess.run(
            as_root("rm", "-rf", "--one-file-system", str(root), str(unfinished)), env=environment, check=False
        )
    return tree


def _os_release() -> dict[str, str]:
    pairs = (line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return {name: value.strip('"') for name, value in pairs}


def _derive(docker: Docker, folder: Path, base: str, name: str, pack: Callable[[tarfile.TarFile], None]) -> None:
    """Builds an image from `base` with a tar of files added at its root."""
    folder.mkdir()
    with tarfile.open(folder / "files.tar", "w") as files:
        pack(files)
    (folder / "Dockerfile").write_text(f"FROM {base}\nADD files.tar /\n")
    docker.run("build", "--quiet", "--tag", name, str(folder))
    shutil.rmtree(folder)


def _pack_rust(files: tarfile.TarFile) -> None:
    """The machine's Rust, laid out as in the published image: `/usr/local/cargo/bin` and
    `/usr/local/rustup`."""
    sysroot = Path(_output("rustc", "--print", "sysroot"))
    home = "usr/local/rustup/toolchains/machine"

    for path in ("bin/rustc", "bin/cargo", "lib"):
        files.add(sysroot / path, f"{home}/{path}", filter=_owned_by_root)
    for tool in ("rustc", "cargo"):
        link = tarfile.TarInfo(f"usr/local/cargo/bin/{tool}")
        link.type, link.linkname = tarfile.SYMTYPE, f"/{home}/bin/{tool}"
        files.addfile(link)


def _pack_no_rust(files: tarfile.TarFile) -> None:
    """The folders that the Dockerfile copies, with nothing in them: nothing is compiled."""
    for name in ("rustup", "cargo"):
        folder = tarfile.TarInfo(f"usr/local/{name}")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        files.addfile(folder)


def _pack_node(files: tarfile.TarFile) -> None:
    """The machine's Node.js and npm under `/usr/local`, with the libraries a distribution's own
    Node.js needs."""
    node = Path(_output("node", "--print", "process.execPath"))
    npm = Path(_output("node", "--print", "require('fs').realpathSync(process.argv[1])", _which("npm"))).parents[1]
    files.add(node, "usr/local/bin/node", filter=_owned_by_root)
    # npm contains its packages, except a distribution's npm, which shares them with other programs.
    modules = npm.parent if npm.parent.name == "nodejs" else npm
    files.add(modules, f"usr/local/lib/node_modules/{modules.name}", filter=_owned_by_root)
    link = tarfile.TarInfo("usr/local/bin/npm")
    link.type = tarfile.SYMTYPE
    link.linkname = f"../lib/node_modules/{npm.relative_to(modules.parent)}/bin/npm-cli.js"
    files.addfile(link)
    for line in _output("ldd", str(node)).splitlines():
        library = line.partition("=>")[2].split("(")[0].strip()
        # The base tree is of this machine's release: the C and C++ libraries there are the same and
        # stay its own.
        if library and Path(library).name.split(".so")[0] not in {
            "libc",
            "libdl",
            "libm",
            "libpthread",
            "libstdc++",
            "libgcc_s",
        }:
            files.add(Path(library).resolve(), f"usr/local/lib/{Path(library).name}", filter=_owned_by_root)


def _pack_built(files: tarfile.TarFile) -> None:
    """The programs are static, so that they need no base."""
    for name in (FABRIC, NODE):
        result = program(Settings(), name)
        if result is None:
            raise AssertionError(f"{name} is not built: make setup")
        files.add(result, f"programs/{name}", filter=_owned_by_root)
    for wheel in WHEELS.glob("*.whl"):
        files.add(wheel, f"wheels/{wheel.name}", filter=_owned_by_root)
    for name, folder in (("page", PAGE), ("docs", DOCS)):
        if folder.is_dir():
            files.add(folder, name, filter=_owned_by_root)


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def _which(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise AssertionError(f"{name} is not on this machine")
    return path


def _output(*command: str) -> str:
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout.strip()

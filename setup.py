"""Builds the wheel: the package of python/ and a libremat.so that needs libc and libm only.

CMake builds the library in build-wheel, by the preset `static` (a first build takes minutes). The
wheel fits every Python 3 and says which glibc it needs: the newest of which the library asks for a
symbol. An editable install has no library of its own: it uses that of the checkout's build.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
BUILD = ROOT / "build-wheel"
LIBRARY = "libremat.so"


def find_version() -> str:
    return re.search(r"project\(remat VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def build_library() -> Path:
    missing = [tool for tool in ("cmake", "ninja", "ccache", "clang++-22") if not shutil.which(tool)]
    if missing:
        raise SystemExit(f"remat: {', '.join(missing)} not found; run scripts/setup.sh first")
    environment = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    configure = ["cmake", "--preset", "static", "-B", BUILD, "-DREMAT_BUILD_TESTS=OFF"]
    for command in (configure, ["cmake", "--build", BUILD, "--target", "RematCAPI"]):
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return (BUILD / "lib" / LIBRARY).resolve()


def platform_tag(library: Path, machine: str) -> str:
    """manylinux_2_N_MACHINE, where 2.N is the newest version that a symbol of glibc is asked of."""
    minors = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=[.\0])", library.read_bytes())]
    return f"manylinux_2_{max(minors)}_{machine}"


class BuildPackage(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "remat" / LIBRARY
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(build_library(), target)


class Wheel(bdist_wheel):
    def get_tag(self) -> "tuple[str, str, str]":
        return "py3", "none", platform_tag((BUILD / "lib" / LIBRARY).resolve(), os.uname().machine)


class NativeDistribution(Distribution):
    """Not for every machine, though setuptools compiles nothing itself."""

    def has_ext_modules(self) -> bool:
        return True


BUILD.mkdir(exist_ok=True)
setup(
    version=find_version(),
    distclass=NativeDistribution,
    cmdclass={"build_py": BuildPackage, "bdist_wheel": Wheel},
    # setuptools writes to build/ otherwise, which is CMake's, and beside the sources.
    options={"build": {"build_base": str(BUILD / "python")}, "egg_info": {"egg_base": str(BUILD)}},
)

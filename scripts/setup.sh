#!/usr/bin/env bash
# Installs what a fresh Debian 12 machine lacks. A second run checks and returns.
#
# usage: scripts/setup.sh [build|cuda|test]
#   build   compiler, libraries and tools that the build needs
#   cuda    that, a browser without a window, and the Python environment .venv with the pinned packages of
#           requirements-cuda.txt, whose headers the build finds
#   test    that, and the packages of requirements-test.txt
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-build}

packages=(
  cmake ninja-build ccache git make ca-certificates pkg-config
  llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools
  clang-22 lld-22 clang-format-22 clang-tidy-22 libclang-rt-22-dev libstdc++-12-dev
  libopenblas-dev libflatbuffers-dev flatbuffers-compiler nlohmann-json3-dev
  libcli11-dev libssl-dev zlib1g-dev libzstd-dev libgtest-dev libgmock-dev
  libpng-dev libturbojpeg0-dev openmpi-bin libopenmpi-dev
  python3 python3-venv bible-kjv-text
)

# Opens the pages of remat-run --report-html in a test.
if [ "$what" != build ]; then
  packages+=(chromium-headless-shell)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null |
    grep -qx installed || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  sudo=
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "setup: needs root or sudo to install: ${missing[*]}" >&2
      exit 1
    }
    sudo=sudo
  fi
  echo "setup: installing ${missing[*]}"
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "${missing[@]}" >/dev/null
fi

install() {
  local wanted stamp=.venv/installed-$1
  wanted=$(cat "requirements-$1.txt")
  if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    echo "setup: Python packages of requirements-$1.txt into .venv"
    [ -x .venv/bin/python ] || python3 -m venv .venv
    .venv/bin/pip install -q --disable-pip-version-check -r "requirements-$1.txt"
    printf '%s\n' "$wanted" >"$stamp"
  fi
}

if [ "$what" != build ]; then
  install cuda
fi
if [ "$what" = test ]; then
  install test
fi

#!/usr/bin/env python3
"""Writes a token file whose tokens are the bytes of text files (vocabulary 256).

The format is llm.c's: int32[256] header {20240520, 1, count}, then uint16 tokens. Without FILE it
takes public-domain text that Debian installs: the King James Bible (package bible-kjv-text), else
the licence texts of /usr/share/common-licenses.
"""

import argparse
import array
import struct
import subprocess
import sys
from pathlib import Path

BIBLE = Path("/usr/lib/bible.data")
LICENCES = Path("/usr/share/common-licenses")


def read_bible(path: Path) -> bytes:
    """The text of bible-kjv-text's data file.

    A big-endian header {window bytes, windows} at 84 and the windows' offsets behind it; each
    window is a stream of compress(1) without its magic number, which gzip decompresses.
    """
    data = path.read_bytes()
    _, windows = struct.unpack_from(">II", data, 84)
    offsets = struct.unpack_from(f">{windows + 1}I", data, 92)
    text = []
    for begin, end in zip(offsets, offsets[1:]):
        stream = b"\x1f\x9d\x90" + data[begin:end]
        text.append(
            subprocess.run(["gzip", "-dc"], input=stream, capture_output=True, check=True).stdout
        )
    return b"".join(text)


def read_default() -> bytes:
    if BIBLE.exists():
        return read_bible(BIBLE)
    paths = sorted(path for path in LICENCES.iterdir() if path.is_file() and not path.is_symlink())
    return b"\n".join(path.read_bytes() for path in paths)


def write_tokens(path: Path, tokens: bytes) -> None:
    if len(tokens) >= 2**31:
        raise ValueError(f"{len(tokens)} tokens do not fit the format's 2^31 - 1")
    words = array.array("H", list(tokens))
    if sys.byteorder == "big":
        words.byteswap()
    header = struct.pack("<3i", 20240520, 1, len(tokens)).ljust(1024, b"\0")
    path.write_bytes(header + words.tobytes())


def main() -> int:
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("files", nargs="*", type=Path, metavar="FILE")
    made.add_argument("-o", "--output", type=Path, required=True)
    arguments = made.parse_args()
    try:
        text = b"\n".join(path.read_bytes() for path in arguments.files) or read_default()
        write_tokens(arguments.output, text)
    except (OSError, ValueError, subprocess.SubprocessError, struct.error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.output}: {len(text)} tokens")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

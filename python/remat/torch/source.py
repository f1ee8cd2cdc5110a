"""Where in a program a node or an exception comes from."""

from __future__ import annotations

import os
import re
import traceback

import torch

_TORCH = os.path.dirname(torch.__file__) + os.sep
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in .*$')


def line_of(node: torch.fx.Node) -> str:
    """`file:line: code` of the innermost frame that is not PyTorch's own, or of any."""
    frames = []
    lines = (node.meta.get("stack_trace") or "").splitlines()
    for i, text in enumerate(lines):
        if match := _FRAME.match(text):
            code = lines[i + 1].strip() if i + 1 < len(lines) else ""
            frames.append((match["file"], f"{match['file']}:{match['line']}: {code}"))
    outside = [text for file, text in frames if not file.startswith(_TORCH)]
    chosen = outside or [text for _, text in frames]
    return chosen[-1] if chosen else ""


def module_of(node: torch.fx.Node) -> str:
    """The path of the module that a node runs in, as `named_modules()` has it."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    return path if isinstance(path, str) else ""


def line_of_exception(error: BaseException) -> str:
    """`file:line: code` of the innermost frame of the user's or a library's code."""
    here = os.path.dirname(__file__) + os.sep
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith((_TORCH, here, "<")):
            found = f"{frame.filename}:{frame.lineno}: {frame.line or ''}"
    return found

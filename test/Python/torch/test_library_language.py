"""Unmodified models of transformers and diffusers: loss, gradients and written buffers are PyTorch's."""

from __future__ import annotations

import pytest
from library import check_model

TRANSFORMERS = """
gpt2 llama qwen2 qwen3 mistral gemma gemma2 bert t5 vit mixtral mamba clip whisper
""".split()


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name):
    check_model("transformers/" + name)


def test_diffusers():
    check_model("diffusers/unet2d_condition")

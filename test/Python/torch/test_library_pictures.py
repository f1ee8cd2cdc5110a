"""Unmodified models of timm and torchvision: loss, gradients and written buffers are PyTorch's."""

from __future__ import annotations

import pytest
from library import check_model

TIMM = """
resnet50 densenet121 vit_base_patch16_224 swin_base_patch4_window7_224 convnext_tiny efficientnet_b0
mobilenetv3_large_100 mixer_b16_224
""".split()
TORCHVISION = "vgg16 inception_v3 deeplabv3_resnet50 fcn_resnet50 lraspp_mobilenet_v3_large".split()


@pytest.mark.parametrize("name", TIMM)
def test_timm(name):
    check_model("timm/" + name)


@pytest.mark.parametrize("name", TORCHVISION)
def test_torchvision(name):
    check_model("torchvision/" + name)

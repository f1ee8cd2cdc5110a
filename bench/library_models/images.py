"""Classifiers and segmentation of timm and torchvision."""

from __future__ import annotations

from functools import partial

from .losses import ImageLoss, SegmentationLoss, images, labels

# Batch norms of few numbers magnify rounding: four images, and no layer of one pixel.
CLASSES, BATCH = 10, 4


def timm_model(name: str, size: int, **options):
    import timm

    model = timm.create_model(name, pretrained=False, num_classes=CLASSES, **options)
    return ImageLoss(model), (images(size, batch=BATCH), labels(CLASSES, BATCH))


def torchvision_model(name: str, size: int, **options):
    from torchvision import models

    model = getattr(models, name)(weights=None, num_classes=CLASSES, **options)
    return ImageLoss(model), (images(size, batch=BATCH), labels(CLASSES, BATCH))


def segmentation(name: str, size: int, **options):
    from torchvision.models import segmentation as models

    make = getattr(models, name)
    model = make(weights=None, weights_backbone=None, num_classes=CLASSES, **options)
    return SegmentationLoss(model), (images(size, batch=BATCH), labels(CLASSES, BATCH, size, size))


# Model: size of the images, options. A transformer takes the size that its positions have.
TIMM = {
    "resnet50": (64, {}),
    "densenet121": (64, {}),
    "vit_base_patch16_224": (32, {"img_size": 32, "depth": 3}),
    "swin_base_patch4_window7_224": (56, {"img_size": 56, "window_size": 7, "depths": (2, 2)}),
    "convnext_tiny": (64, {}),
    "efficientnet_b0": (64, {}),
    "mobilenetv3_large_100": (64, {}),
    "mixer_b16_224": (32, {"img_size": 32}),
    "regnety_002": (64, {}),
    "regnetx_002": (64, {}),
    "convnextv2_atto": (64, {}),
    "mobilevit_xxs": (64, {}),
    "deit_tiny_patch16_224": (32, {"img_size": 32, "depth": 3}),
    "beit_base_patch16_224": (32, {"img_size": 32, "depth": 2}),
    "maxvit_rmlp_pico_rw_256": (64, {"img_size": 64}),
    "edgenext_xx_small": (64, {}),
    "cait_xxs24_224": (32, {"img_size": 32, "depth": 2}),
    "pvt_v2_b0": (64, {}),
    "ghostnet_100": (64, {}),
    "resnest14d": (64, {}),
    "seresnet18": (64, {}),
    "hrnet_w18_small": (64, {}),
    "twins_svt_small": (64, {"img_size": 64}),
    "xcit_nano_12_p16_224": (32, {"img_size": 32, "depth": 2}),
    "volo_d1_224": (64, {"img_size": 64}),
    "mvitv2_tiny": (64, {"img_size": 64}),
    "focalnet_tiny_srf": (64, {}),
    "repvgg_a0": (64, {}),
    "swinv2_tiny_window8_256": (64, {"img_size": 64}),
    "resmlp_12_224": (32, {"img_size": 32}),
    "fastvit_t8": (64, {}),
}
TORCHVISION = {
    "vgg16": (32, {}),
    "inception_v3": (128, {"aux_logits": False, "init_weights": False}),
    "googlenet": (64, {"aux_logits": False, "init_weights": False}),
    "shufflenet_v2_x0_5": (64, {}),
    "mnasnet0_5": (64, {}),
    "squeezenet1_1": (64, {}),
    "mobilenet_v2": (64, {}),
    "efficientnet_v2_s": (64, {}),
    "regnet_y_400mf": (64, {}),
    "swin_v2_t": (64, {}),
}
SEGMENTATION = {
    "deeplabv3_resnet50": (64, {"aux_loss": True}),
    "fcn_resnet50": (64, {"aux_loss": True}),
    "lraspp_mobilenet_v3_large": (64, {}),
    "deeplabv3_mobilenet_v3_large": (64, {"aux_loss": True}),
}


def _models():
    for name, (size, options) in TIMM.items():
        yield f"timm/{name}", partial(timm_model, name, size, **options)
    for name, (size, options) in TORCHVISION.items():
        yield f"torchvision/{name}", partial(torchvision_model, name, size, **options)
    for name, (size, options) in SEGMENTATION.items():
        yield f"torchvision/{name}", partial(segmentation, name, size, **options)


MODELS = dict(_models())

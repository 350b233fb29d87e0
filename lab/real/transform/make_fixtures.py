"""Makes the fixtures of models that transform pictures: exports small models with Optimum, and records what transformers computes in torch.

    ~/.cache/lehr-real/diffusion/bin/python lab/real/transform/make_fixtures.py

A fixture is a folder: the exported files (the graph compressed with gzip), and `expected.json`. The weights are random, but large enough
that results differ clearly. `processors.json` has what image processors make of one picture, without a model.
"""

import gzip
import json
import shutil
import tempfile
from pathlib import Path

import numpy
import torch
from optimum.exporters.onnx import main_export
from PIL import Image
from transformers import (AutoImageProcessor, CLIPImageProcessor, ConvNextImageProcessor, DPTConfig, DPTForDepthEstimation,
                          DPTImageProcessor, MobileViTImageProcessor, SegformerImageProcessor, Swin2SRConfig,
                          Swin2SRForImageSuperResolution, Swin2SRImageProcessor, ViTConfig, ViTForImageClassification,
                          ViTImageProcessor, pipeline)

OUT = Path(__file__).parent / "fixtures"


def picture(width, height):
    """The same formula is in processors.test.ts."""
    y, x, c = numpy.indices((height, width, 3))
    return Image.fromarray(((x * 5 * (c + 1) + y * 9 + x * y * (c + 1) // 8) % 256).astype(numpy.uint8))


PROCESSORS = {
    "square": ViTImageProcessor(size={"height": 10, "width": 14}),
    "square, smaller": ViTImageProcessor(size={"height": 5, "width": 4}, resample=3),
    "lanczos": ViTImageProcessor(size={"height": 6, "width": 8}, resample=1, image_mean=[0.4, 0.5, 0.6], image_std=[0.2, 0.3, 0.4]),
    "nearest": ViTImageProcessor(size={"height": 7, "width": 11}, resample=0),
    "box and hamming": ViTImageProcessor(size={"height": 7, "width": 9}, resample=5),
    "not normalized": ViTImageProcessor(size={"height": 8, "width": 8}, do_normalize=False),
    "not rescaled": ViTImageProcessor(size={"height": 8, "width": 8}, do_rescale=False, do_normalize=False),
    "shorter side, crop": CLIPImageProcessor(size={"shortest_edge": 8}, crop_size={"height": 8, "width": 8}),
    "crop larger than the picture": CLIPImageProcessor(size={"shortest_edge": 8}, crop_size={"height": 12, "width": 12}),
    "share that is cropped": ConvNextImageProcessor(size={"shortest_edge": 8}, crop_pct=0.875),
    "keeps its shape, multiples": DPTImageProcessor(size={"height": 24, "width": 24}, keep_aspect_ratio=True, ensure_multiple_of=4),
    "multiples": DPTImageProcessor(size={"height": 18, "width": 22}, ensure_multiple_of=8),
    "blue first": MobileViTImageProcessor(size={"shortest_edge": 9}, crop_size={"height": 8, "width": 8}),
    "labels of areas": SegformerImageProcessor(size={"height": 12, "width": 8}),
    "continued": Swin2SRImageProcessor(pad_size=8),
}
# Of others, newer versions of Pillow filter the columns first, which rounds a few values another way.
SIZES = [(21, 13), (24, 11), (8, 11)]


def write_processors():
    cases = []
    for name, processor in PROCESSORS.items():
        config = json.loads(processor.to_json_string())
        for width, height in SIZES:
            values = processor(picture(width, height), return_tensors="np")["pixel_values"][0]
            cases.append({
                "name": name, "config": config, "width": width, "height": height, "shape": list(values.shape),
                "values": [round(float(value), 6) for value in values.flatten()],
            })
    (OUT / "processors.json").write_text(json.dumps(cases) + "\n")


def scaled(model, gain=4):
    """Weights of an untrained model give almost the same result for every picture."""
    torch.manual_seed(7)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=gain / parameter[0].numel() ** 0.5 / 4)
    return model.eval()


def export(name, model, processor, task, expected):
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "torch", Path(folder) / "onnx"
        model.save_pretrained(source)
        processor.save_pretrained(source)
        main_export(str(source), output=target, task=task, opset=17)
        fixture = OUT / name
        shutil.rmtree(fixture, ignore_errors=True)
        fixture.mkdir(parents=True)
        for file in ["config.json", "preprocessor_config.json"]:
            shutil.copy(target / file, fixture / file)
        (fixture / "model.onnx.gz").write_bytes(gzip.compress((target / "model.onnx").read_bytes(), mtime=0))
        loaded = AutoImageProcessor.from_pretrained(source, use_fast=False)
        (fixture / "expected.json").write_text(json.dumps(expected(loaded)) + "\n")
        print(name, (fixture / "model.onnx.gz").stat().st_size)


def vit():
    size = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
    labels = {0: "kiln", 1: "teapot", 2: "brick", 3: "tile"}
    model = scaled(ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, id2label=labels, **size)))
    processor = ViTImageProcessor(size={"height": 32, "width": 32})

    def expected(loaded):
        classify = pipeline("image-classification", model=model, image_processor=loaded)
        return [{"width": w, "height": h, "labels": classify(picture(w, h), top_k=3)} for w, h in [(61, 40), (32, 32), (9, 70)]]

    export("vit-classes", model, processor, "image-classification", expected)


def dpt():
    config = DPTConfig(hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=48, image_size=48, patch_size=16,
                       backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=8, is_hybrid=False)
    model = scaled(DPTForDepthEstimation(config))
    processor = DPTImageProcessor(size={"height": 48, "width": 48})

    def expected(loaded):
        cases = []
        for width, height in [(90, 70), (75, 66)]:
            with torch.no_grad():
                depth = model(**loaded(picture(width, height), return_tensors="pt")).predicted_depth
            grey = (depth - depth.min()) / (depth.max() - depth.min())
            whole = torch.nn.functional.interpolate(grey[None], size=(height, width), mode="bilinear", align_corners=False)
            cases.append({"width": width, "height": height, "values": (whole * 255).round().int().flatten().tolist()})
        return cases

    export("dpt-depth", model, processor, "depth-estimation", expected)


def swin2sr():
    config = Swin2SRConfig(image_size=32, embed_dim=16, depths=[2], num_heads=[2], window_size=4, mlp_ratio=2, upscale=2)
    model = scaled(Swin2SRForImageSuperResolution(config), gain=3)
    processor = Swin2SRImageProcessor(pad_size=8)

    def expected(loaded):
        cases = []
        for width, height in [(37, 29), (40, 32)]:
            with torch.no_grad():
                made = model(**loaded(picture(width, height), return_tensors="pt")).reconstruction[0]
            pixels = (made.clamp(0, 1) * 255).round().int().permute(1, 2, 0)
            values = pixels[: 2 * height, : 2 * width].flatten().tolist()
            cases.append({"width": width, "height": height, "padded": [made.shape[2] // 2, made.shape[1] // 2], "values": values})
        return cases

    export("swin2sr-x2", model, processor, "image-to-image", expected)


OUT.mkdir(exist_ok=True)
write_processors()
vit()
dpt()
swin2sr()

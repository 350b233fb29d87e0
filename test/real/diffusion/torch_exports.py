"""UNets of the fixture sd15 as torch's own exporters and the usual converter to float16 write them.

Each fixture holds only a UNet, which takes the place of the one that Optimum exported, and must draw the same pictures.
"""

import gzip
import json
import shutil
from pathlib import Path

import onnx
import torch
from onnxconverter_common import float16

NAMES = ["sample", "timestep", "encoder_hidden_states"]


class Unet(torch.nn.Module):
    """The UNet with a tensor as its only result, which every exporter can write."""

    def __init__(self, unet):
        super().__init__()
        self.unet = unet

    def forward(self, sample, timestep, encoder_hidden_states):
        return self.unet(sample, timestep, encoder_hidden_states, return_dict=False)[0]


def inputs(timestep):
    return torch.randn(2, 4, 8, 8), timestep, torch.randn(2, 77, 16)


def torchscript(unet, path: Path, timestep, opset: int, names) -> None:
    sample, _, text = names
    axes = {sample: {0: "batch", 2: "height", 3: "width"}, text: {0: "batch", 1: "tokens"}}
    torch.onnx.export(Unet(unet), inputs(timestep), str(path), dynamo=False, opset_version=opset,
                      input_names=names, output_names=["out_sample"], dynamic_axes=axes)


def dynamo(unet, path: Path, timestep, opset: int) -> None:
    # The exporter finds out itself which of these can vary.
    axes = {0: torch.export.Dim.AUTO, 2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO}
    shapes = {"sample": axes, "timestep": {}, "encoder_hidden_states": {0: torch.export.Dim.AUTO}}
    torch.onnx.export(Unet(unet), inputs(timestep), str(path), dynamo=True, opset_version=opset, external_data=True,
                      input_names=NAMES, output_names=["out_sample"], dynamic_shapes=shapes)


def half(folder: Path, path: Path) -> None:
    with gzip.open(folder / "unet/model.onnx.gz") as file:
        model = onnx.load_from_string(file.read())
    onnx.save(float16.convert_float_to_float16(model), str(path))


def make(pipeline, out: Path, compress) -> None:
    unet = pipeline.unet
    exports = {
        "sd15-torchscript-14": lambda path: torchscript(unet, path, torch.tensor(7), 14, NAMES),
        # One timestep as a vector, and names that another script could have chosen.
        "sd15-torchscript-17": lambda path: torchscript(unet, path, torch.tensor([7.0]), 17, ["x", "t", "context"]),
        "sd15-dynamo-18": lambda path: dynamo(unet, path, torch.tensor(7.0), 18),
        "sd15-dynamo-20": lambda path: dynamo(unet, path, torch.tensor([7]), 20),
        "sd15-fp16": lambda path: half(out / "sd15", path),
    }
    for name, export in exports.items():
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "unet").mkdir(parents=True)
        export(folder / "unet/model.onnx")
        cases = {"base": "sd15", "same_as_base": ["guided", "unguided"]}
        (folder / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")
        compress(folder)
        print(name)

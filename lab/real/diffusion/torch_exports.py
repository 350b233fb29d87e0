"""UNets of the fixture sd15 as torch's TorchScript exporter and ONNX Runtime's float16 converter write them.

Each fixture holds only a UNet, which takes the place of the one that Optimum exported, and must draw the same pictures.
"""

import copy
import gzip
import json
import shutil
from pathlib import Path

import torch

NAMES = ["sample", "timestep", "encoder_hidden_states"]


class Unet(torch.nn.Module):
    """The UNet with a tensor as its only result, which every exporter can write."""

    def __init__(self, unet):
        super().__init__()
        self.unet = unet

    def forward(self, sample, timestep, encoder_hidden_states):
        return self.unet(sample, timestep, encoder_hidden_states, return_dict=False)[0]


def inputs(timestep, dtype):
    return torch.randn(2, 4, 8, 8, dtype=dtype), timestep, torch.randn(2, 77, 16, dtype=dtype)


def torchscript(unet, path: Path, timestep, opset: int, names) -> None:
    sample, _, text = names
    axes = {sample: {0: "batch", 2: "height", 3: "width"}, text: {0: "batch", 1: "tokens"}}
    torch.onnx.export(Unet(unet), inputs(timestep, unet.dtype), str(path), dynamo=False, opset_version=opset,
                      input_names=names, output_names=["out_sample"], dynamic_axes=axes)


def converted(source: Path, path: Path) -> None:
    """The converter's usual form: float32 inputs and outputs, float16 inside; weights in a file beside the graph."""
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    model = convert_float_to_float16(onnx.load_from_string(gzip.decompress(source.read_bytes())), keep_io_types=True)
    onnx.save_model(model, str(path), save_as_external_data=True, location="model.onnx_data", size_threshold=256)


def make(pipeline, out: Path, compress) -> None:
    unet = pipeline.unet
    exports = {
        "sd15-torchscript-14": lambda path: torchscript(unet, path, torch.tensor(7), 14, NAMES),
        # One timestep as a vector, and names that another script could have chosen.
        "sd15-torchscript-17": lambda path: torchscript(unet, path, torch.tensor([7.0]), 17, ["x", "t", "context"]),
        # As Optimum exports with --fp16, which it does on a GPU alone.
        "sd15-fp16": lambda path: torchscript(copy.deepcopy(unet).half(), path, torch.tensor(7.0), 17, NAMES),
        "sd15-fp16-converted": lambda path: converted(out / "sd15/unet/model.onnx.gz", path),
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

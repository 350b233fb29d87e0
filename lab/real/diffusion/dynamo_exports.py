"""Pipelines of the fixtures as torch's dynamo exporter writes them (torch.onnx.export with dynamo=True), in two opsets.

Opset 18 writes a GroupNorm as several nodes, opset 21 as one. The weights are in a file beside each graph. A fixture holds
the graphs that take the place of those of its base, and must draw the pictures of the base.
"""

import json
import shutil
from pathlib import Path

import onnx
import torch
from torch.export import Dim

TOKENS = 77
# Not 0 and 1, which torch.export takes for constants.
ROWS = 2
SIDE = 16
FIXTURE_SIDE = 8


class Unet(torch.nn.Module):
    """The UNet with a tensor as its only result."""

    def __init__(self, unet):
        super().__init__()
        self.unet = unet

    def forward(self, sample, timestep, encoder_hidden_states, timestep_cond=None, added_cond_kwargs=None):
        return self.unet(sample, timestep, encoder_hidden_states, timestep_cond=timestep_cond,
                         added_cond_kwargs=added_cond_kwargs, return_dict=False)[0]


class TextEncoder(torch.nn.Module):
    """With the outputs that Optimum's export has: of one encoder the last layer, of SDXL's two the layers and the pooled one."""

    def __init__(self, encoder, layers: bool):
        super().__init__()
        self.encoder, self.layers = encoder, layers

    def forward(self, input_ids):
        out = self.encoder(input_ids, output_hidden_states=self.layers)
        if not self.layers:
            return out.last_hidden_state, out.pooler_output
        return (out[0], *out.hidden_states)


class Decoder(torch.nn.Module):
    def __init__(self, vae):
        super().__init__()
        self.vae = vae

    def forward(self, latent_sample):
        return self.vae.decode(latent_sample, return_dict=False)[0]


def save(module, inputs: dict, shapes: dict, path: Path, opset: int, outputs=None) -> None:
    path.parent.mkdir(parents=True)
    torch.onnx.export(module.eval(), kwargs=inputs, f=str(path), dynamo=True, opset_version=opset, dynamic_shapes=shapes,
                      output_names=outputs, external_data=True, verbose=False)
    # Only the places in the source code, which hold paths of the machine, are taken out of the file.
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        kept = [each for each in node.metadata_props if each.key != "pkg.torch.onnx.stack_trace"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    path.write_bytes(model.SerializeToString())
    print(path, opset, len(model.graph.node), "nodes")


def unet(pipeline, path: Path, opset: int, timestep, sizes: str, outputs=None) -> None:
    """`sizes`: `free`, for latents whose sides are multiples of 8, or `fixed` to the size of the fixtures' pictures."""
    module, rows = pipeline.unet, {0: Dim("batch")}
    side, free = (SIDE, {2: 8 * Dim("height8"), 3: 8 * Dim("width8")}) if sizes == "free" else (FIXTURE_SIDE, {})
    text = torch.randn(ROWS, TOKENS, module.config.cross_attention_dim)
    inputs = {"sample": torch.randn(ROWS, 4, side, side), "timestep": timestep, "encoder_hidden_states": text}
    shapes = {"sample": {**rows, **free}, "timestep": rows if timestep.numel() > 1 else None, "encoder_hidden_states": rows}
    if module.config.time_cond_proj_dim:
        inputs["timestep_cond"] = torch.randn(ROWS, module.config.time_cond_proj_dim)
        shapes["timestep_cond"] = rows
    if module.config.addition_embed_type == "text_time":
        pooled = torch.randn(ROWS, pipeline.text_encoder_2.config.projection_dim)
        inputs["added_cond_kwargs"] = {"text_embeds": pooled, "time_ids": torch.randn(ROWS, 6)}
        shapes["added_cond_kwargs"] = {"text_embeds": rows, "time_ids": rows}
    save(Unet(module), inputs, shapes, path, opset, outputs)


def text_encoder(encoder, path: Path, opset: int, layers: bool) -> None:
    names = ["text_embeds" if hasattr(encoder, "text_projection") else "last_hidden_state"]
    names += [f"hidden_states.{i}" for i in range(encoder.config.num_hidden_layers + 1)] if layers else ["pooler_output"]
    ids = torch.randint(0, 500, (ROWS, TOKENS))
    # torch.export takes one row for a special case of the attention mask; the graph runs with one row all the same.
    save(TextEncoder(encoder, layers), {"input_ids": ids}, {"input_ids": {0: Dim("batch", min=2)}}, path, opset, names)


def vae_decoder(vae, path: Path, opset: int) -> None:
    shapes = {"latent_sample": {0: Dim("batch"), 2: Dim("height"), 3: Dim("width")}}
    save(Decoder(vae), {"latent_sample": torch.randn(ROWS, 4, SIDE, SIDE)}, shapes, path, opset)


def all_of_sd15(pipeline, folder: Path) -> None:
    unet(pipeline, folder / "unet/model.onnx", 18, torch.tensor(7), "free", ["out_sample"])
    text_encoder(pipeline.text_encoder, folder / "text_encoder/model.onnx", 18, False)
    vae_decoder(pipeline.vae, folder / "vae_decoder/model.onnx", 18)


def all_of_sdxl_lcm(pipeline, folder: Path) -> None:
    unet(pipeline, folder / "unet/model.onnx", 21, torch.tensor(7), "free")
    text_encoder(pipeline.text_encoder, folder / "text_encoder/model.onnx", 21, True)
    text_encoder(pipeline.text_encoder_2, folder / "text_encoder_2/model.onnx", 21, True)
    vae_decoder(pipeline.vae, folder / "vae_decoder/model.onnx", 21)


# Name, base, its cases, and what makes the files.
SD15 = ["guided", "unguided"]
EXPORTS = {
    "sd15-dynamo-18": ("sd15", SD15, all_of_sd15),
    "sd15-dynamo-21-one": ("sd15", SD15, lambda pipeline, folder: unet(
        pipeline, folder / "unet/model.onnx", 21, torch.tensor([7.0]), "fixed")),
    "sd15-dynamo-21-rows": ("sd15", SD15, lambda pipeline, folder: unet(
        pipeline, folder / "unet/model.onnx", 21, torch.tensor([7, 8]), "free")),
    "sdxl-lcm-dynamo-21": ("sdxl-lcm", ["four-steps", "eight-steps"], all_of_sdxl_lcm),
}


def make(pipeline_of, out: Path, compress) -> None:
    """`pipeline_of(name)` makes the pipeline of a base."""
    for name, (base, cases, export) in EXPORTS.items():
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        export(pipeline_of(base), folder)
        (folder / "cases.json").write_text(json.dumps({"base": base, "same_as_base": cases}, indent=1) + "\n")
        compress(folder)

"""ControlNets for the pipelines of the fixtures, their exports, and the pipelines of diffusers that draw with them.

`edges` is a copy of its UNet, as training begins, exported as TorchScript; `depth` has weights of its own, and is what the dynamo exporter
writes, with the scale as an input. Their convolutions of zeros have random weights.
"""

from pathlib import Path

import diffusers
import torch
from diffusers import ControlNetModel
from torch.export import Dim

import dynamo_exports
import pipelines

EMBEDDING = (4, 4, 8, 8)
LATENT = 8


class Control(torch.nn.Module):
    """A ControlNet with its results in a row: those of the down blocks, and that of the middle."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, sample, timestep, encoder_hidden_states, controlnet_cond, text_embeds=None, time_ids=None, conditioning_scale=None):
        added = None if text_embeds is None else {"text_embeds": text_embeds, "time_ids": time_ids}
        # A number as the default would become an input of a TorchScript export.
        scale = 1.0 if conditioning_scale is None else conditioning_scale
        down, middle = self.net(sample, timestep, encoder_hidden_states, controlnet_cond, conditioning_scale=scale,
                                added_cond_kwargs=added, return_dict=False)
        return (*down, middle)


def trained(net: ControlNetModel) -> ControlNetModel:
    """With values where a new one has zeros, as strong as what they are added to."""
    net.eval()
    for convolution in [*net.controlnet_down_blocks, net.controlnet_mid_block, net.controlnet_cond_embedding.conv_out]:
        torch.nn.init.normal_(convolution.weight, std=1 / convolution.weight[0].numel() ** 0.5)
    for new in (net.controlnet_cond_embedding, net.controlnet_down_blocks, net.controlnet_mid_block):
        pipelines.round_weights(new)
    return net


def edges(pipeline) -> ControlNetModel:
    torch.manual_seed(301)
    unet = pipeline.unet
    if unet.config.addition_embed_type == "text_time":
        # One transformer block where SDXL has two and ten, as the small ones that are published for it.
        unet = pipelines.sdxl_unet(unet.config.cross_attention_dim, 16, (1, 1, 1))
        pipelines.round_weights(unet)
    return trained(ControlNetModel.from_unet(unet, conditioning_embedding_out_channels=EMBEDDING))


def depth(pipeline) -> ControlNetModel:
    torch.manual_seed(302)
    net = ControlNetModel.from_unet(pipeline.unet, conditioning_embedding_out_channels=EMBEDDING, load_weights_from_unet=False)
    pipelines.round_weights(net)
    return trained(net)


def inputs(net, rows: int, side: int) -> dict:
    cross = net.config.cross_attention_dim
    values = {"sample": torch.randn(rows, 4, side, side), "timestep": torch.tensor(7),
              "encoder_hidden_states": torch.randn(rows, 77, cross), "controlnet_cond": torch.rand(rows, 3, 8 * side, 8 * side)}
    if net.config.addition_embed_type == "text_time":
        pooled = net.config.projection_class_embeddings_input_dim - 6 * net.config.addition_time_embed_dim
        values.update(text_embeds=torch.randn(rows, pooled), time_ids=torch.randn(rows, 6))
    return values


def outputs(net) -> list:
    count = len(net.controlnet_down_blocks)
    return [f"down_block_res_samples_{index}" for index in range(count)] + ["mid_block_res_sample"]


def torchscript(net, folder: Path) -> None:
    folder.mkdir(parents=True)
    values = inputs(net, 2, LATENT)
    side = {0: "batch", 2: "height", 3: "width"}
    axes = {"sample": side, "encoder_hidden_states": {0: "batch", 1: "tokens"},
            "controlnet_cond": {0: "batch", 2: "picture_height", 3: "picture_width"}, "text_embeds": {0: "batch"}, "time_ids": {0: "batch"}}
    torch.onnx.export(Control(net), tuple(values.values()), str(folder / "model.onnx"), dynamo=False, opset_version=17,
                      input_names=list(values), output_names=outputs(net), dynamic_axes={name: axes[name] for name in values if name in axes})
    net.save_config(folder)


def dynamo(net, folder: Path) -> None:
    values = inputs(net, dynamo_exports.ROWS, dynamo_exports.SIDE)
    values.update(conditioning_scale=torch.tensor(1.0))
    rows, height, width = Dim("batch"), Dim("height8"), Dim("width8")
    shapes = {"sample": {0: rows, 2: 8 * height, 3: 8 * width}, "timestep": None, "encoder_hidden_states": {0: rows},
              "controlnet_cond": {0: rows, 2: 64 * height, 3: 64 * width}, "conditioning_scale": None}
    dynamo_exports.save(Control(net), values, shapes, folder / "model.onnx", 18)
    net.save_config(folder)


def pipeline_of(pipeline, each, controls):
    """The pipeline of diffusers that draws a case with its ControlNets, and the name of its argument for their pictures."""
    kind = "Inpaint" if "mask" in each else "Img2Img" if "image" in each else ""
    family = "StableDiffusionXL" if getattr(pipeline, "text_encoder_2", None) is not None else "StableDiffusion"
    nets = [controls[control["name"]] for control in each["control"]]
    # from_pipe makes all parts float32 unless it is told.
    drawer = getattr(diffusers, f"{family}ControlNet{kind}Pipeline").from_pipe(
        pipeline, controlnet=nets if len(nets) > 1 else nets[0], torch_dtype=pipeline.dtype)
    return drawer, "control_image" if kind else "image"


def arguments(each, name: str, open_picture) -> dict:
    """Values of one ControlNet are no lists."""
    of = lambda key, default=None: [control.get(key, default) for control in each["control"]]
    values = {name: [open_picture(picture) for picture in of("image")], "controlnet_conditioning_scale": [float(scale) for scale in of("scale", 1)],
              "control_guidance_start": of("start", 0.0), "control_guidance_end": of("end", 1.0)}
    return values if len(each["control"]) > 1 else {key: value[0] for key, value in values.items()}

"""Writes a trained model as a Stable Diffusion folder of ONNX graphs, and parity fixtures made with the same weights.

    python3 export.py --work /tmp/demo-diffusion --to ../../models/demo-diffusion --fixtures fixtures

Layout, names, types and dynamic axes are Optimum's. Large weights are stored as float16 followed by a cast to float32:
half the size on disk, while all computing is in float32 (ONNX Runtime folds the casts away when it loads the graph).
The fixtures are drawn with the weights rounded to float16, so they are exactly the exported model's.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

import schedule
import text
import tokenizer as tokenizer_module
import vae
from layers import set_compute
from sample import Pipeline
from unet import UNet

OPSET = 17
FIXTURES = [  # prompt, seed, width, height
    ("a red circle to the left of a small yellow star on a blue background", 7, 256, 256),
    ("a purple heart on a background that is white above and gray below", 42, 320, 192),
]
STEPS, GUIDANCE = 20, 3.0


# ---------------------------------------------------------------- the graphs' outer signatures


class TextGraph(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids):
        return self.encoder(input_ids)


class UNetGraph(nn.Module):
    def __init__(self, unet):
        super().__init__()
        self.unet = unet

    def forward(self, sample, timestep, encoder_hidden_states):
        # As in diffusers: a scalar is given to every row (the graph has its Unsqueeze and Expand).
        timesteps = timestep[None].expand(sample.shape[0])
        return self.unet(sample, timesteps, encoder_hidden_states)


class DecoderGraph(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def forward(self, latent_sample):
        return self.decoder(latent_sample)


class EncoderGraph(nn.Module):
    """Means and logarithms of variances, as Optimum's encoders give them. This one was trained without variance."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, sample):
        mean = self.encoder(sample)
        return torch.cat([mean, torch.full_like(mean, LOG_VARIANCE)], 1)


LOG_VARIANCE = -30  # the least that diffusers, and Lehr, take


def fold_norm(encoder):
    """The last layer gives what the batch norm would make of it, divided by the scaling factor."""
    norm, last = encoder.norm, encoder.out
    scale = 1 / (norm.running_var + norm.eps).sqrt() / vae.SCALING_FACTOR
    with torch.no_grad():
        last.weight.mul_(scale[:, None, None, None])
        last.bias.sub_(norm.running_mean).mul_(scale)
    encoder.norm = nn.Identity()


def fold_scale(decoder):
    """The graph takes latents divided by the scaling factor; the first layer multiplies it back."""
    with torch.no_grad():
        decoder.into.weight.mul_(vae.SCALING_FACTOR)


def round_weights(module):
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.numel() >= SMALL:
                parameter.copy_(parameter.half().float())


SMALL = 256  # tensors under this many numbers stay float32


def halve(path):
    """Large float32 initializers -> float16 + Cast."""
    model = onnx.load(str(path))
    casts, weights = [], []
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if tensor.data_type == TensorProto.FLOAT and array.size >= SMALL:
            name = tensor.name + "_fp16"
            weights.append(numpy_helper.from_array(array.astype(np.float16), name))
            casts.append(helper.make_node("Cast", [name], [tensor.name], name=f"Cast_{name}", to=TensorProto.FLOAT))
        else:
            weights.append(tensor)
    nodes = list(model.graph.node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(weights)
    model.graph.node.extend([*casts, *nodes])
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def write_graph(module, inputs, names, outputs, axes, folder):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.onnx"
    torch.onnx.export(
        module.eval(), inputs, str(path), input_names=names, output_names=outputs, dynamic_axes=axes, opset_version=OPSET
    )
    halve(path)
    return path.stat().st_size


def as_diffusers(path):
    """Gives the graph the form in which adapters and ControlNets find their places in it, and which computes the same.

    ControlNets look for a Concat of what the up blocks have made with a value of the down blocks, from which it was made: h + skip W
    becomes [h, skip] [I; W], with channels as of a picture. Adapters name modules as they are inside of the UNet."""
    model = onnx.load(str(path))
    graph = model.graph
    named = {node.name: node for node in graph.node}
    product, bias = named["/unet/skip/MatMul"], named["/unet/skip/Add"]
    [total] = [node for node in graph.node if bias.output[0] in node.input]
    [hidden] = [name for name in total.input if name != bias.output[0]]
    stored = next(t for t in graph.initializer if t.name == f"{product.input[1]}_fp16")
    weight = numpy_helper.to_array(stored)
    stored.CopyFrom(numpy_helper.from_array(np.concatenate([np.eye(weight.shape[1], dtype=weight.dtype), weight]), stored.name))
    skip, value = product.input[0], lambda name: f"/unet/skip/{name}_output_0"
    turn = lambda source, name, *perm: helper.make_node("Transpose", [source], [value(name)], f"/unet/skip/{name}", perm=perm)  # noqa: E731
    before = [turn(skip, "Skip", 0, 3, 1, 2), turn(value("Skip"), "Back", 0, 2, 3, 1)]
    joined = [
        turn(hidden, "Hidden", 0, 3, 1, 2),
        helper.make_node("Concat", [value("Hidden"), value("Skip")], [value("Concat")], "/unet/skip/Concat", axis=1),
        turn(value("Concat"), "Joined", 0, 2, 3, 1),
    ]
    nodes = []
    for node in graph.node:
        node.input[:] = [value("Back") if name == skip else name for name in node.input]
        if node.name == product.name:
            node.input[0] = value("Joined")
            nodes += joined
        if node.name != total.name:
            nodes.append(node)
        if skip in node.output:
            nodes += before
    for node in nodes:
        node.name = re.sub("^/unet/(?=.*/)", "/", node.name)
    bias.output[0] = total.output[0]
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def write_json(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=2) + "\n")


def write_encoder(folder, encoder):
    """Changes `encoder` into what the graph is. It has the same config as the decoder."""
    fold_norm(encoder)
    round_weights(encoder)
    sample = (torch.randn(2, 3, 256, 192),)
    axes = {
        "sample": {0: "batch_size", 2: "height", 3: "width"},
        "latent_parameters": {0: "batch_size", 2: "height_latent", 3: "width_latent"},
    }
    size = write_graph(EncoderGraph(encoder), sample, ["sample"], ["latent_parameters"], axes, folder / "vae_encoder")
    shutil.copy(folder / "vae_decoder" / "config.json", folder / "vae_encoder" / "config.json")
    return size


def write_model(folder, pipeline, scheduler_config):
    """`pipeline`'s decoder is already folded and all weights rounded."""
    tokenizer, encoder, unet, decoder = pipeline.tokenizer, pipeline.text, pipeline.unet, pipeline.decoder
    tokenizer.save(folder / "tokenizer")
    sizes = {}
    sizes["text_encoder"] = write_graph(
        TextGraph(encoder),
        (torch.tensor([tokenizer.encode("a red circle")] * 2, dtype=torch.int32),),
        ["input_ids"],
        ["last_hidden_state", "pooler_output"],
        {
            "input_ids": {0: "batch_size", 1: "sequence_length"},
            "last_hidden_state": {0: "batch_size", 1: "sequence_length"},
            "pooler_output": {0: "batch_size"},
        },
        folder / "text_encoder",
    )
    sizes["unet"] = write_graph(
        UNetGraph(unet),
        (torch.randn(2, 4, 32, 24), torch.tensor(999.0), pipeline.embed(["a red circle", ""])),
        ["sample", "timestep", "encoder_hidden_states"],
        ["out_sample"],
        {
            "sample": {0: "batch_size", 2: "height", 3: "width"},
            "encoder_hidden_states": {0: "batch_size", 1: "sequence_length"},
            "out_sample": {0: "batch_size", 2: "height", 3: "width"},
        },
        folder / "unet",
    )
    as_diffusers(folder / "unet" / "model.onnx")
    sizes["vae_decoder"] = write_graph(
        DecoderGraph(decoder),
        (torch.randn(2, 4, 32, 24),),
        ["latent_sample"],
        ["sample"],
        {
            "latent_sample": {0: "batch_size", 2: "height_latent", 3: "width_latent"},
            "sample": {0: "batch_size", 2: "height", 3: "width"},
        },
        folder / "vae_decoder",
    )
    write_json(
        folder / "model_index.json",
        {
            "_class_name": "OnnxStableDiffusionPipeline",
            "_diffusers_version": scheduler_config["_diffusers_version"],
            "feature_extractor": [None, None],
            "requires_safety_checker": False,
            "safety_checker": [None, None],
            "scheduler": ["diffusers", scheduler_config["_class_name"]],
            "text_encoder": ["diffusers", "OnnxRuntimeModel"],
            "tokenizer": ["transformers", "CLIPTokenizer"],
            "unet": ["diffusers", "OnnxRuntimeModel"],
            "vae_decoder": ["diffusers", "OnnxRuntimeModel"],
            "vae_encoder": ["diffusers", "OnnxRuntimeModel"],
        },
    )
    write_json(
        folder / "text_encoder" / "config.json",
        {
            "architectures": ["CLIPTextModel"],
            "model_type": "clip_text_model",
            "hidden_size": text.WIDTH,
            "intermediate_size": 4 * text.WIDTH,
            "num_hidden_layers": text.LAYERS,
            "num_attention_heads": text.HEADS,
            "hidden_act": "gelu",
            "max_position_embeddings": tokenizer_module.LENGTH,
            "vocab_size": len(tokenizer.vocab),
            "bos_token_id": tokenizer.start,
            "eos_token_id": tokenizer.end,
            "pad_token_id": tokenizer.end,
            "torch_dtype": "float32",
        },
    )
    write_json(
        folder / "unet" / "config.json",
        {
            "_class_name": "UNet2DConditionModel",
            "_diffusers_version": scheduler_config["_diffusers_version"],
            "in_channels": 4,
            "out_channels": 4,
            "sample_size": 32,
            "cross_attention_dim": text.WIDTH,
            "block_out_channels": [unet.config["outer"], unet.config["inner"]],
            "attention_head_dim": 32,
            "center_input_sample": False,
        },
    )
    a, b, c = (m.out_channels for m in (decoder.into, decoder.block2.conv1, decoder.block3.conv1))
    write_json(
        folder / "vae_decoder" / "config.json",
        {
            "_class_name": "AutoencoderKL",
            "_diffusers_version": scheduler_config["_diffusers_version"],
            "in_channels": 3,
            "out_channels": 3,
            "latent_channels": 4,
            "block_out_channels": [c, c, b, a],  # four levels: 8x
            "sample_size": 256,
            "scaling_factor": vae.SCALING_FACTOR,
            "force_upcast": False,
        },
    )
    write_json(folder / "scheduler" / "scheduler_config.json", scheduler_config)
    return sizes


class Scaled(nn.Module):
    """A folded decoder, taking latents as the sampler leaves them."""

    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def forward(self, latent):
        return self.decoder(latent / vae.SCALING_FACTOR)


def load_pipeline(work, name="unet", rounded=True):
    """(pipeline for drawing, pipeline whose decoder is the graph's)"""
    set_compute(None)
    tokenizer = tokenizer_module.Tokenizer.load(work / "tokenizer")
    state = torch.load(work / name / "unet.pt", map_location="cpu")
    unet = UNet(**state["config"])
    encoder = text.TextEncoder(len(tokenizer.vocab), tokenizer.end)
    part = lambda prefix: {k[len(prefix) :]: v for k, v in state["average"].items() if k.startswith(prefix)}  # noqa: E731
    unet.load_state_dict(part("unet."))
    encoder.load_state_dict(part("encoder."))
    decoder = vae.load(work / "vae.pt").decoder
    fold_scale(decoder)
    if rounded:
        for module in (unet, encoder, decoder):
            round_weights(module)
    for module in (unet, encoder, decoder):
        module.eval().requires_grad_(False)
    graphs = Pipeline(tokenizer, encoder, unet, decoder)
    return Pipeline(tokenizer, encoder, unet, Scaled(decoder)), graphs


def write_fixtures(folder, pipeline, steps=STEPS, guidance=GUIDANCE):
    """Per prompt: token ids, text vectors, first and last latent (float32, little-endian) and the picture (PNG)."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    index = []
    for i, (prompt, seed, width, height) in enumerate(FIXTURES):
        embeddings = pipeline.embed([prompt])
        first = schedule.initial_noise(seed, width, height)
        last = pipeline.latents([prompt], [seed], steps=steps, guidance=guidance, width=width, height=height)
        picture = pipeline.decode(last)[0]
        files = {"embeddings": embeddings, "initial_latent": first, "final_latent": last}
        entry = {"prompt": prompt, "seed": seed, "width": width, "height": height, "steps": steps, "guidance": guidance,
                 "negative_prompt": "", "sampler": "ddim", "input_ids": pipeline.tokenizer.encode(prompt)}  # fmt: skip
        for key, tensor in files.items():
            name = f"{i}-{key}.f32"
            tensor.numpy().astype("<f4").tofile(folder / name)
            entry[key] = {"file": name, "shape": list(tensor.shape)}
        Image.fromarray(picture).save(folder / f"{i}-picture.png")
        entry["picture"] = {"file": f"{i}-picture.png", "shape": list(picture.shape)}
        index.append(entry)
    write_json(folder / "fixtures.json", index)


def export(work, name, folder, fixtures=None):
    drawing, graphs = load_pipeline(work, name)
    sizes = write_model(folder, graphs, schedule.CONFIG)
    sizes["vae_encoder"] = write_encoder(folder, vae.load(work / "vae.pt").encoder)
    print({k: f"{v / 1e6:.2f} MB" for k, v in sizes.items()}, f"{sum(sizes.values()) / 1e6:.2f} MB")
    if fixtures:
        write_fixtures(fixtures, drawing)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--name", default="unet", help="the denoiser's checkpoint folder in --work")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--fixtures", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    export(args.work, args.name, args.to, args.fixtures)

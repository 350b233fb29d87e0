"""Fine-tuned models as people have them: other weights for the graphs of a fixture, in one file of the original layout.

diffusers reads each file back (`from_single_file`) and draws the cases with what it has read, so that names and layouts are those
which its own conversion knows.
"""

import gzip
import json
import re
import shutil
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save_file

RESNET = {"norm1": "in_layers.0", "conv1": "in_layers.2", "time_emb_proj": "emb_layers.1", "norm2": "out_layers.0",
          "conv2": "out_layers.3", "conv_shortcut": "skip_connection"}
OUTER = {"conv_in": "input_blocks.0.0", "time_embedding.linear_1": "time_embed.0", "time_embedding.linear_2": "time_embed.2",
         "add_embedding.linear_1": "label_emb.0.0", "add_embedding.linear_2": "label_emb.0.2", "conv_norm_out": "out.0",
         "conv_out": "out.2"}
MIDDLE = {"resnets.0": "0", "attentions.0": "1", "resnets.1": "2"}
VAE_ATTENTION = {"group_norm": "norm", "to_q": "q", "to_k": "k", "to_v": "v", "to_out.0": "proj_out"}
OPEN_CLIP = {"layer_norm1": "ln_1", "layer_norm2": "ln_2", "self_attn.out_proj": "attn.out_proj", "mlp.fc1": "mlp.c_fc",
             "mlp.fc2": "mlp.c_proj"}


def unet_name(name: str, unet) -> str:
    module, leaf = name.rsplit(".", 1)
    if module in OUTER:
        return f"{OUTER[module]}.{leaf}"
    layers = unet.config.layers_per_block
    if match := re.match(r"mid_block\.(resnets|attentions)\.(\d)\.(.*)", name):
        kind, index, rest = match.groups()
        return f"middle_block.{MIDDLE[f'{kind}.{index}']}.{inner(kind, rest)}"
    direction, block, kind, index, rest = re.match(r"(down|up)_blocks\.(\d)\.(\w+)\.(\d)\.(.*)", name).groups()
    block, index = int(block), int(index)
    if kind == "downsamplers":
        return f"input_blocks.{(block + 1) * (layers + 1)}.0.op.{leaf}"
    if kind == "upsamplers":
        place = 2 if hasattr(unet.up_blocks[block], "attentions") else 1
        return f"output_blocks.{block * (layers + 1) + layers}.{place}.conv.{leaf}"
    at = 1 + block * (layers + 1) + index if direction == "down" else block * (layers + 1) + index
    return f"{'input' if direction == 'down' else 'output'}_blocks.{at}.{0 if kind == 'resnets' else 1}.{inner(kind, rest)}"


def inner(kind: str, rest: str) -> str:
    if kind == "attentions":
        return rest
    module, leaf = rest.rsplit(".", 1)
    return f"{RESNET[module]}.{leaf}"


def vae_name(name: str) -> str:
    name = name.replace("conv_norm_out", "norm_out").replace("conv_shortcut", "nin_shortcut")
    name = re.sub(r"down_blocks\.(\d)\.resnets\.", r"down.\1.block.", name)
    name = re.sub(r"down_blocks\.(\d)\.downsamplers\.0", r"down.\1.downsample", name)
    name = re.sub(r"up_blocks\.(\d)\.resnets\.", lambda found: f"up.{3 - int(found[1])}.block.", name)
    name = re.sub(r"up_blocks\.(\d)\.upsamplers\.0", lambda found: f"up.{3 - int(found[1])}.upsample", name)
    name = re.sub(r"mid_block\.resnets\.(\d)", lambda found: f"mid.block_{int(found[1]) + 1}", name)
    return re.sub(r"mid_block\.attentions\.0\.(\S+)\.(\w+)$", lambda found: f"mid.attn_1.{VAE_ATTENTION[found[1]]}.{found[2]}", name)


def open_clip(encoder) -> dict:
    weights = encoder.state_dict()
    names = {"text_model.embeddings.token_embedding.weight": "token_embedding.weight",
             "text_model.embeddings.position_embedding.weight": "positional_embedding",
             "text_model.final_layer_norm.weight": "ln_final.weight", "text_model.final_layer_norm.bias": "ln_final.bias"}
    written = {new: weights[old] for old, new in names.items()}
    if "text_projection.weight" in weights:
        written["text_projection"] = weights["text_projection.weight"].T
    for layer in range(encoder.config.num_hidden_layers):
        old, new = f"text_model.encoder.layers.{layer}.", f"transformer.resblocks.{layer}."
        for leaf in ("weight", "bias"):
            written[f"{new}attn.in_proj_{leaf}"] = torch.cat([weights[f"{old}self_attn.{each}_proj.{leaf}"] for each in "qkv"])
            written.update({f"{new}{theirs}.{leaf}": weights[f"{old}{ours}.{leaf}"] for ours, theirs in OPEN_CLIP.items()})
    return written


def original(pipeline) -> dict:
    """All weights of Stable Diffusion 1, 2 or XL under the names of the first programs for them."""
    is_xl = getattr(pipeline, "text_encoder_2", None) is not None
    parts = {"model.diffusion_model.": {unet_name(name, pipeline.unet): weight for name, weight in pipeline.unet.state_dict().items()}}
    vae = {vae_name(name): weight for name, weight in pipeline.vae.state_dict().items()}
    # Convolutions of size 1 in place of linear layers.
    parts["first_stage_model."] = {name: weight[:, :, None, None] if "attn_1" in name and weight.dim() == 2 else weight
                                   for name, weight in vae.items()}
    encoder = pipeline.text_encoder
    if is_xl:
        parts["conditioner.embedders.0.transformer."] = encoder.state_dict()
        parts["conditioner.embedders.1.model."] = open_clip(pipeline.text_encoder_2)
    elif encoder.config.hidden_act == "gelu":
        parts["cond_stage_model.model."] = open_clip(encoder)
    else:
        parts["cond_stage_model.transformer."] = encoder.state_dict()
    return {f"{prefix}{name}": weight for prefix, weights in parts.items() for name, weight in weights.items()}


def write(weights: dict, path: Path, dtype) -> None:
    """Compressed, and without a time, so that the same weights give the same bytes."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        save_file({name: weight.to(dtype).contiguous().clone() for name, weight in weights.items()}, file.name, metadata={"format": "pt"})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(Path(file.name).read_bytes(), 9, mtime=0))


def make(name: str, pipeline, cases, sampler: str, base: str, out: Path, record, with_unet=False) -> None:
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    write(original(pipeline), folder / "whole.safetensors.gz", torch.float16)
    if with_unet:
        # The same UNet under the names of diffusers, in the other usual type.
        write(pipeline.unet.state_dict(), folder / "unet.safetensors.gz", torch.bfloat16)
    with tempfile.TemporaryDirectory() as work:
        pipeline.save_pretrained(f"{work}/config")
        file = Path(work) / "whole.safetensors"
        file.write_bytes(gzip.decompress((folder / "whole.safetensors.gz").read_bytes()))
        more = {"requires_safety_checker": False} if "safety_checker" in pipeline.components else {"add_watermarker": False}
        loaded = type(pipeline).from_single_file(str(file), config=f"{work}/config", local_files_only=True, torch_dtype=torch.float32, **more)
        loaded.set_progress_bar_config(disable=True)
        for part in ("unet", "vae", "text_encoder", "text_encoder_2"):
            if getattr(pipeline, part, None) is not None:
                same(getattr(pipeline, part), getattr(loaded, part))
        shutil.copytree(f"{work}/config/scheduler", folder / "scheduler")
        record(loaded, cases, folder)
        shutil.rmtree(folder / "scheduler")
    named = [{**each, "sampler": each["sampler"] or sampler} for each in cases]
    (folder / "cases.json").write_text(json.dumps({"base": base, "cases": named}, indent=1) + "\n")


def same(ours: torch.nn.Module, theirs: torch.nn.Module) -> None:
    found = theirs.state_dict()
    for name, weight in ours.state_dict().items():
        assert torch.equal(weight, found[name]), f"diffusers read {name} otherwise"

"""LoRAs for the pipelines of the fixtures, in the layouts in which people have them, and what diffusers reads of them.

Every file has random weights in all its places. The layouts of diffusers and PEFT are written by their own code. Those of kohya have
names that its trainer makes of the modules; diffusers must find a place for each pair of weights (`load`).
"""

import json
from pathlib import Path

import torch
from diffusers.utils import convert_state_dict_to_diffusers
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from peft.tuners.lora import LoraLayer
from safetensors.torch import load_file, save_file

from weight_files import unet_name

ATTENTION = ("to_q", "to_k", "to_v", "to_out.0")
ENCODER = ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")


def coarse(weight: torch.Tensor) -> torch.Tensor:
    """On a grid of about 16 steps, as all weights of the fixtures."""
    step = 2.0 ** torch.tensor(weight.abs().max().item() / 8).log2().ceil().item()
    return (weight / step).round() * step


def places(model, wanted) -> dict:
    """Linear layers and convolutions by their names; `wanted` says which."""
    kinds = (torch.nn.Linear, torch.nn.Conv2d)
    return {name: module for name, module in model.named_modules() if isinstance(module, kinds) and wanted(name)}


def pair(module, rank: int):
    """Down and up of a place; a convolution's up is one of size 1."""
    weight = module.weight
    fan_in = weight[0].numel()
    down = coarse(torch.randn(rank, *weight.shape[1:]) / fan_in ** 0.5)
    up = coarse(torch.randn(weight.shape[0], rank, *[1] * (weight.dim() - 2)) * 0.3)
    return down, up


def kohya(places_of_parts, rank: int, alpha: float, name_of=lambda name: name) -> dict:
    """`places_of_parts`: prefix and places of each part."""
    weights = {}
    for prefix, found in places_of_parts:
        for name, module in found.items():
            key = f"{prefix}_{(name_of(name) if prefix == 'lora_unet' else name).replace('.', '_')}"
            weights[f"{key}.lora_down.weight"], weights[f"{key}.lora_up.weight"] = pair(module, rank)
            weights[f"{key}.alpha"] = torch.tensor(alpha)
    return weights


def sgm_name(unet):
    """The name of a module in the first program for SDXL, where kohya trains it."""
    return lambda name: unet_name(f"{name}.weight", unet).removesuffix(".weight")


def write(weights: dict, path: Path, dtype=torch.float16) -> None:
    save_file({name: weight.to(dtype).contiguous() for name, weight in weights.items()}, path)


def fill(model) -> None:
    """PEFT begins with zeros in `up`; random weights take their place."""
    for name, module in model.named_modules():
        if hasattr(module, "lora_A") and "default" in getattr(module, "lora_A", {}):
            rank = module.r["default"]
            down, up = pair(module.base_layer, rank)
            module.lora_A["default"].weight.data, module.lora_B["default"].weight.data = down, up


def diffusers_file(pipeline, folder: Path, name: str, modules, rank: int, alpha: int, with_metadata: bool) -> None:
    """As the training programs of diffusers end. alpha is in the file's metadata, or it is the rank."""
    unet, encoder = pipeline.unet, pipeline.text_encoder
    unet.add_adapter(LoraConfig(r=rank, lora_alpha=alpha, target_modules=list(modules), init_lora_weights=False))
    encoder.add_adapter(LoraConfig(r=rank, lora_alpha=alpha, target_modules=["q_proj", "v_proj"], init_lora_weights=False))
    fill(unet), fill(encoder)
    layers = {part: convert_state_dict_to_diffusers(get_peft_model_state_dict(model)) for part, model in
              (("unet", unet), ("text_encoder", encoder))}
    more = {}
    if with_metadata:
        configs = {part: model.peft_config["default"].to_dict() for part, model in (("unet", unet), ("text_encoder", encoder))}
        more = {f"{part}_lora_adapter_metadata": config for part, config in configs.items()}
    pipeline.save_lora_weights(folder, unet_lora_layers=layers["unet"], text_encoder_lora_layers=layers["text_encoder"],
                               weight_name=f"{name}.safetensors", **more)


def peft_files(unet, folder: Path, modules, rank: int, alpha: int) -> None:
    """The folder that PEFT writes: alpha is in adapter_config.json."""
    model = get_peft_model(unet, LoraConfig(r=rank, lora_alpha=alpha, target_modules=list(modules), init_lora_weights=False))
    fill(model)
    model.save_pretrained(folder)
    (folder / "README.md").unlink()
    # PEFT keeps these names in a set.
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "target_modules": sorted(modules)}, indent=1) + "\n")


def of_sd15(pipeline_of, folder: Path) -> None:
    """`pipeline_of()` makes a pipeline without adapters: diffusers and PEFT change it."""
    pipeline = pipeline_of()
    torch.manual_seed(201)
    unet, encoder = pipeline.unet, pipeline.text_encoder
    inner = places(unet, lambda name: ".attentions." in name)
    text = places(encoder, lambda name: name.endswith(ENCODER))
    write(kohya([("lora_unet", inner), ("lora_te", text)], 4, 2.0), folder / "kohya.safetensors")
    # As people keep most of them: the UNet alone.
    attention = {name: each for name, each in inner.items() if ".attn" in name}
    write(kohya([("lora_unet", attention)], 2, 2.0), folder / "plain.safetensors", torch.bfloat16)
    convolutions = places(unet, lambda name: ".attentions." not in name)
    values = {name: each for name, each in inner.items() if name.endswith(("to_v", "proj_in"))}
    write(kohya([("lora_unet", {**convolutions, **values})], 2, 1.0), folder / "locon.safetensors")
    diffusers_file(pipeline, folder, "diffusers", ATTENTION, 4, 8, True)
    diffusers_file(pipeline_of(), folder, "trained", ("to_q", "to_v"), 2, 2, False)
    peft_files(pipeline_of().unet, folder / "peft", (*ATTENTION, "proj_in", "conv1", "ff.net.2"), 2, 3)


def of_sdxl(pipeline_of, folder: Path) -> None:
    pipeline = pipeline_of()
    torch.manual_seed(202)
    unet = pipeline.unet
    inner = places(unet, lambda name: name.endswith(("attn1.to_q", "attn2.to_v", "attn2.to_out.0", "proj_in", "proj_out")))
    text = [(f"lora_te{index}", places(encoder, lambda name: name.endswith(ENCODER)))
            for index, encoder in ((1, pipeline.text_encoder), (2, pipeline.text_encoder_2))]
    write(kohya([("lora_unet", inner), *text], 2, 1.0, sgm_name(unet)), folder / "kohya.safetensors")
    convolutions = places(unet, lambda name: ".attentions." not in name)
    write(kohya([("lora_unet", convolutions)], 2, 1.0, sgm_name(unet)), folder / "locon.safetensors")


def load(pipeline, folder: Path) -> None:
    """Loads all adapters of a folder into a pipeline of diffusers, under the names of their files."""
    for path in sorted(folder.iterdir()):
        name = path.stem
        if path.is_dir():
            # diffusers reads what PEFT writes of a UNet under these names.
            weights = {f"unet.{key.removeprefix('base_model.model.')}": weight for key, weight in
                       load_file(path / "adapter_model.safetensors").items()}
            alpha = float(json.loads((path / "adapter_config.json").read_text())["lora_alpha"])
            alphas = {key.replace(".lora_A.weight", ".alpha"): alpha for key in weights if key.endswith(".lora_A.weight")}
            pipeline.load_lora_into_unet(weights, network_alphas=alphas, unet=pipeline.unet, adapter_name=name, _pipeline=pipeline)
        else:
            pipeline.load_lora_weights(folder, weight_name=path.name, adapter_name=name)
        check(pipeline, path, name)


def check(pipeline, path: Path, name: str) -> None:
    """As many places as the file has pairs: diffusers passes over what it does not know."""
    weights = load_file(path / "adapter_model.safetensors" if path.is_dir() else path)
    pairs = sum(key.endswith(("lora_A.weight", "down.weight")) for key in weights)
    models = [pipeline.unet, pipeline.text_encoder, getattr(pipeline, "text_encoder_2", None)]
    found = sum(name in module.scaling for model in models if model is not None for module in model.modules() if isinstance(module, LoraLayer))
    assert pairs == found, f"{path.name} has {pairs} pairs of weights, and diffusers found places for {found}"


def use(pipeline, each) -> dict:
    """Gives the loaded adapters the scales of a case; what is returned are arguments of the pipeline."""
    if not getattr(pipeline, "get_list_adapters", dict)():
        return {}
    wanted = each.get("adapters", [])
    if not wanted:
        pipeline.disable_lora()
        return {}
    pipeline.enable_lora()
    # diffusers has another scale for all adapters of a call; those of the case are the products.
    shared = each.get("cross_attention_scale", 1)
    pipeline.set_adapters([adapter["name"] for adapter in wanted], [adapter["scale"] / shared for adapter in wanted])
    return {"cross_attention_kwargs": {"scale": shared}} if shared != 1 else {}

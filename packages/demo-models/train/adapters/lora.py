"""Trains LoRAs of demo-diffusion, shows what they do, alone and together, and writes them as diffusers does.

    python3 lora.py --work WORK --minutes 6 --style night --to ../../models/demo-adapters/night.safetensors
    python3 lora.py --sheet sheet.png

Resumes from WORK; --seconds ends one part of the training earlier.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

import exported
import pictures
from exported import schedule, scenes, seeded
import grammar  # noqa: E402
from layers import Conv2d, Linear  # noqa: E402

COUNT = 1000  # scenes
RANK = 4
# Where shapes are drawn, when their places are decided: training needs no gradients of what is before.
MODULES = [*(f"late.{i}.{m}" for i in range(2) for m in ("qkv", "out", "cross.out", "up", "down")),
           *(f"after.{i}.conv1" for i in range(3))]  # fmt: skip
PROMPTS = ["a red circle on a blue background", "a yellow star above a green square", "three orange rings on white",
           "a purple heart next to a black cross on cyan", "a pink diamond on a green background",
           "a white triangle on brown"]  # fmt: skip


class LoRA(nn.Module):
    """A layer, and a low rank of changes to it for each style, each times its factor."""

    def __init__(self, base, names):
        super().__init__()
        self.base = base
        self.factors = dict.fromkeys(names, 1.0)
        self.down, self.up = nn.ModuleDict(), nn.ModuleDict()
        for name in names:
            if isinstance(base, nn.Conv2d):
                self.down[name] = Conv2d(base.in_channels, RANK, 3, padding=1, bias=False)
                self.up[name] = Conv2d(RANK, base.out_channels, 1, bias=False)
            else:
                self.down[name] = Linear(base.in_features, RANK, bias=False)
                self.up[name] = Linear(RANK, base.out_features, bias=False)
            nn.init.zeros_(self.up[name].weight)

    def forward(self, x):
        y = self.base(x)
        for name, factor in self.factors.items():
            y = y + factor * self.up[name](self.down[name](x)) if factor else y
        return y


def add(unet, names):
    """module path -> its LoRA, each put in place of the module."""
    added = {}
    for path in MODULES:
        parent = unet.get_submodule(path.rpartition(".")[0])
        added[path] = LoRA(unet.get_submodule(path), names)
        setattr(parent, path.rpartition(".")[2], added[path])
    return added


def weights_of(added, name):
    found = {}
    for path, lora in added.items():
        found[f"unet.{path}.lora_A.weight"] = lora.down[name].weight
        found[f"unet.{path}.lora_B.weight"] = lora.up[name].weight
    return found


def read(added, name, path):
    for key, value in load_file(path).items():
        weights_of(added, name)[key].data.copy_(value.float())


def data_of(work, style, log):
    """(scenes, latents in the style), made once."""
    rng = seeded("lora scenes")
    found = [scenes.sample_scene(rng) for _ in range(COUNT)]
    path = work / f"{style}-scenes.pt"
    if not path.exists():
        drawn = pictures.STYLES[style]
        torch.save(torch.cat([exported.encode(np.stack([drawn(s) for s in found[i : i + 50]])) for i in range(0, COUNT, 50)]), path)
        log(f"{COUNT} scenes")
    return found, torch.load(path)


def loss_of(unet, reader, data, style, rng, batch):
    found, latents = data
    picked = [rng.randrange(COUNT) for _ in range(batch)]
    texts = [f"{grammar.caption(found[k], rng).text}, {style}" for k in picked]
    texts = ["" if rng.random() < 0.1 else text for text in texts]
    t = exported.timesteps(rng, batch)
    noisy, target = schedule.noised(latents[picked], torch.randn(batch, *latents.shape[1:]), t)
    return F.mse_loss(unet(noisy, t, reader(texts)), target)


def train(unet, reader, args, log):
    path, style = args.work / f"{args.style}.pt", args.style
    torch.manual_seed(args.seed)
    added = add(unet, [style])
    weights = weights_of(added, style)
    average = {key: value.detach().clone() for key, value in weights.items()}
    optimiser = torch.optim.AdamW(weights.values(), lr=args.peak, betas=(0.9, 0.99), weight_decay=0)
    step, spent = 0, 0.0
    if path.exists():
        state = torch.load(path)
        for key, value in weights.items():
            value.data.copy_(state["weights"][key])
        average, step, spent = state["average"], state["step"], state["spent"]
        optimiser.load_state_dict(state["optimiser"])
    data = data_of(args.work, style, log)
    started, losses = time.time(), []
    used = lambda: spent + time.time() - started  # noqa: E731
    while used() < 60 * args.minutes and time.time() - started < args.seconds:
        for group in optimiser.param_groups:
            group["lr"] = args.peak * min(1, (step + 1) / 20) * (0.5 + 0.5 * math.cos(math.pi * used() / 60 / args.minutes)) + 1e-6
        loss = loss_of(unet, reader, data, style, seeded(args.seed, style, step), args.batch)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimiser.step()
        step += 1
        for key, value in weights.items():
            average[key].lerp_(value.detach(), 1 - min(0.98, step / (step + 10)))
        losses.append(loss.item())
        if step % 20 == 0:
            log(f"{style} step {step} {used() / 60:.1f} min loss {np.mean(losses[-20:]):.4f}")
    state = {"weights": {key: value.detach() for key, value in weights.items()}, "average": average, "optimiser": optimiser.state_dict()}
    torch.save({**state, "step": step, "spent": used()}, path)
    return average


def draw_sheet(folder, path):
    """Columns: prompts; rows: without, each style at 1, all at 1, the first at a half."""
    unet, reader = exported.unet(), exported.Reader()
    styles = sorted(file.stem for file in folder.glob("*.safetensors"))
    added = add(unet, styles)
    for style in styles:
        read(added, style, folder / f"{style}.safetensors")
    settings = [{}, *({style: 1.0} for style in styles), dict.fromkeys(styles, 1.0), {styles[0]: 0.5}]
    rows = []
    for setting in settings:
        for lora in added.values():
            lora.factors = {style: setting.get(style, 0.0) for style in styles}
        rows.append(exported.draw(unet, reader, PROMPTS, range(len(PROMPTS))))
    exported.sheet(rows, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--style", choices=list(pictures.STYLES))
    parser.add_argument("--to", type=Path)
    parser.add_argument("--sheet", type=Path)
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="the time of this part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--peak", type=float, default=4e-3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.style:
        args.work.mkdir(parents=True, exist_ok=True)
        say = lambda line: print(time.strftime("%H:%M:%S"), line, flush=True)  # noqa: E731
        trained = train(exported.unet(), exported.Reader(), args, say)
        args.to.parent.mkdir(parents=True, exist_ok=True)
        save_file({key: value.half().contiguous() for key, value in trained.items()}, args.to)
        say(f"{args.to.stat().st_size} bytes")
    if args.sheet:
        draw_sheet(exported.MODEL.parent / "demo-adapters", args.sheet)

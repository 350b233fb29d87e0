"""Trains the ControlNet of demo-diffusion, shows what it does and exports it.

    python3 control.py --work WORK --minutes 15 --to ../../models/demo-control

Resumes from WORK; --seconds ends one part of the training earlier.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from torch import nn

import exported
import pictures
from exported import schedule, scenes, seeded
import export  # noqa: E402
import grammar  # noqa: E402
from layers import Conv2d, Linear  # noqa: E402
from unet import ResBlock, Transformer, conv, coordinate_features, FEATURES, fold, timestep_features  # noqa: E402

COUNT = 3000  # scenes
WIDTH = 64
# What is less apart from the first pixel is background: one that the model has drawn differs by up to 0.07, mostly at its border.
NOISE = 0.1


class ControlNet(nn.Module):
    """(latent, timestep, text vectors, control picture 0..1) -> what is added to the skip of the UNet, and to what it is joined with.

    Of the control picture counts where it differs from its first pixel: a white shape on black, a drawing on paper, and a picture
    that the model drew on a plain background are all the same to it."""

    def __init__(self, width=WIDTH, outer=128):
        super().__init__()
        self.stem = Conv2d(32, width, 5, padding=2)
        self.place = Linear(FEATURES, width)
        self.time1 = Linear(128, width)
        self.time2 = Linear(width, 4 * width)
        self.first = ResBlock(width)
        self.transformer = Transformer(width)
        self.last = nn.ModuleList(ResBlock(width) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.to_skip = Linear(width, outer)
        self.to_middle = Linear(width, outer)
        for layer in (self.to_skip, self.to_middle):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, sample, timestep, text, picture):
        bias = (text.abs().sum(-1) == 0).float()[:, None, None, :] * -1e4
        condition = self.time2(F.silu(self.time1(timestep_features(timestep)))).view(-1, 4, WIDTH)
        apart = (picture - picture[:, :, :1, :1]).abs().amax(1, keepdim=True)
        shown = F.avg_pool2d(((apart - NOISE) * 4).clamp(0, 1), 4).permute(0, 2, 3, 1)
        x = torch.cat([fold(sample.permute(0, 2, 3, 1)), fold(fold(shown))], -1)
        x = conv(self.stem, x)
        x = x + self.place(coordinate_features(x))
        x = self.first(x, condition)
        b, h, w, c = x.shape
        x = self.transformer(x.reshape(b, h * w, c), text, bias, condition).reshape(b, h, w, c)
        for block in self.last:
            x = block(x, condition)
        x = self.norm(x)
        return self.to_skip(x).permute(0, 3, 1, 2), self.to_middle(x).permute(0, 3, 1, 2)


def scenes_of(work, size, log):
    """(scenes, latents), made once."""
    rng = seeded("control scenes")
    found = [pictures.free_scene(rng) for _ in range(COUNT)]
    path = work / f"scenes-{size}.pt"
    if not path.exists():
        torch.save(torch.cat([exported.encode(np.stack([scenes.render(s, size, size) for s in found[i : i + 50]])) for i in range(0, COUNT, 50)]), path)
        log(f"{COUNT} scenes")
    return found, torch.load(path)


def as_input(controls):
    """Pictures uint8 [H,W] -> [B,3,H,W], 0 to 1."""
    return (torch.from_numpy(np.stack(controls)).float() / 255)[:, None].expand(-1, 3, -1, -1)


def loss_of(model, unet, reader, data, rng, batch):
    found, latents = data
    picked = [rng.randrange(COUNT) for _ in range(batch)]
    texts = ["" if rng.random() < 0.1 else grammar.caption(found[k], rng).text for k in picked]
    t = exported.timesteps(rng, batch)
    noisy, target = schedule.noised(latents[picked], torch.randn(batch, *latents.shape[1:]), t)
    text = reader(texts)
    controls = as_input([pictures.control_picture(found[k], rng, 8 * latents.shape[-1]) for k in picked])
    residuals = model(noisy, t, text, controls)
    return F.mse_loss(unet(noisy, t, text, control=residuals), target)


def train(work, unet, reader, args, log):
    path = work / "control.pt"
    torch.manual_seed(args.seed)
    model, average = (ControlNet().to(memory_format=torch.channels_last) for _ in range(2))
    optimiser = torch.optim.AdamW(model.parameters(), lr=args.peak, betas=(0.9, 0.99), weight_decay=1e-3)
    step, spent = 0, 0.0
    if path.exists():
        state = torch.load(path)
        for part, name in ((model, "model"), (average, "average"), (optimiser, "optimiser")):
            part.load_state_dict(state[name])
        step, spent = state["step"], state["spent"]
    data = scenes_of(work, args.size, log)
    started, losses = time.time(), []
    used = lambda: spent + time.time() - started  # noqa: E731
    while used() < 60 * args.minutes and time.time() - started < args.seconds:
        for group in optimiser.param_groups:
            group["lr"] = args.peak * min(1, (step + 1) / 50) * (0.5 + 0.5 * math.cos(math.pi * used() / 60 / args.minutes)) + 1e-6
        loss = loss_of(model, unet, reader, data, seeded(args.seed, "control", step), args.batch)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters()):
                old.lerp_(new, 1 - min(0.99, step / (step + 10)))
        losses.append(loss.item())
        if step % 25 == 0:
            log(f"step {step} {used() / 60:.1f} min loss {np.mean(losses[-25:]):.4f}")
    state = {"model": model.state_dict(), "average": average.state_dict(), "optimiser": optimiser.state_dict()}
    torch.save({**state, "step": step, "spent": used()}, path)
    return average.eval()


class Graph(nn.Module):
    """As the exported UNet: one timestep for all rows."""

    def __init__(self, model):
        super().__init__()
        self.controlnet = model

    def forward(self, sample, timestep, encoder_hidden_states, controlnet_cond):
        return self.controlnet(sample, timestep[None].expand(sample.shape[0]), encoder_hidden_states, controlnet_cond)


def write(folder, model):
    export.round_weights(model)
    folder.mkdir(parents=True, exist_ok=True)
    names = ["sample", "timestep", "encoder_hidden_states", "controlnet_cond"]
    inputs = (torch.randn(2, 4, 32, 24), torch.tensor(999.0), torch.randn(2, 9, 128), torch.rand(2, 3, 256, 192))
    axes = {
        "sample": {0: "batch_size", 2: "height", 3: "width"},
        "encoder_hidden_states": {0: "batch_size", 1: "sequence_length"},
        "controlnet_cond": {0: "batch_size", 2: "height_picture", 3: "width_picture"},
        "down_block_res_samples_0": {0: "batch_size", 2: "height_skip", 3: "width_skip"},
        "mid_block_res_sample": {0: "batch_size", 2: "height_middle", 3: "width_middle"},
    }
    path = folder / "model.onnx"
    torch.onnx.export(
        Graph(model).eval(), inputs, str(path), input_names=names, dynamic_axes=axes, opset_version=export.OPSET, dynamo=False,
        output_names=["down_block_res_samples_0", "mid_block_res_sample"],
    )  # fmt: skip
    export.halve(path)
    config = {
        "_class_name": "ControlNetModel",
        "_diffusers_version": "0.31.0",
        "in_channels": 4,
        "conditioning_channels": 3,
        "cross_attention_dim": 128,
        "block_out_channels": [128, 192],
        "controlnet_conditioning_channel_order": "rgb",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    onnx.checker.check_model(str(path))
    return path.stat().st_size


def evaluate(model, unet, reader, path, log, count=16, steps=20):
    """Unseen scenes of one object: how much of the drawn shape and of the wanted one is the same, with and without control."""
    rng = seeded("control evaluation")
    found = []
    while len(found) < count:
        scene = pictures.free_scene(rng)
        if len(scene.objects) == 1 and scene.background.kind == "plain":
            found.append(scene)
    prompts = [f"a {s.groups[0].colour} {s.groups[0].shape} on a {s.background.colours[0]} background" for s in found]
    controls = [pictures.control_picture(s, seeded(i)) for i, s in enumerate(found)]
    twice = as_input([*controls, *controls])
    controlled = lambda x, t, text: unet(x, t, text, control=model(x, t, text, twice))  # noqa: E731
    wanted = [scenes.render(s) for s in found]
    drawn = {"with": exported.draw(controlled, reader, prompts, range(count), steps=steps),
             "without": exported.draw(unet, reader, prompts, range(count), steps=steps)}  # fmt: skip
    for name, got in drawn.items():
        shares = []
        for scene, a, b in zip(found, wanted, got):
            colour = np.array(scenes.PALETTE[scene.groups[0].colour])
            a, b = (np.abs(p.astype(int) - colour).sum(-1) < 60 for p in (a, b))
            shares.append((a & b).sum() / max(1, (a | b).sum()))
        log(f"{name} control: intersection over union mean {np.mean(shares):.3f} worst {min(shares):.3f} over 0.8: {np.mean(np.array(shares) > 0.8):.2f}")
    grey = np.repeat(np.stack(controls)[..., None], 3, -1)
    exported.sheet([grey[:8], drawn["with"][:8], drawn["without"][:8], grey[8:16], drawn["with"][8:16], drawn["without"][8:16]], path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--to", type=Path)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="the time of this part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--peak", type=float, default=2e-3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    say = lambda line: print(time.strftime("%H:%M:%S"), line, flush=True)  # noqa: E731
    unet, reader = exported.unet(), exported.Reader()
    model = train(args.work, unet, reader, args, say)
    if args.to:
        say(f"{write(args.to, model)} bytes")
        evaluate(model, unet, reader, args.work / "control.png", say)

"""Trains demo-diffusion from nothing: tokenizer, autoencoder, text encoder's schooling, then denoiser and text encoder
together. Every stage checkpoints into --work and resumes from there.

    python3 train.py --work /tmp/demo-diffusion --minutes 332 --seed 1 --to ../../models/demo-diffusion

Evaluates as it goes and at the end on all held-out prompts, then exports the ONNX folder. The minutes are the whole budget; the stages get fixed shares of it and their learning-rate schedules follow the clock.
"""

import argparse
import copy
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import evaluate
import export
import maps
import schedule
import text
import tokenizer as tokenizer_module
import vae
from data import Batches
from layers import fast_bfloat16, set_compute
from sample import Pipeline
from unet import UNet

SHARES = {"vae": 0.24, "text": 0.036, "unet": 0.724}  # of the time budget


def say(line):
    print(time.strftime("%H:%M:%S"), line, flush=True)


SHAPES = (550, 1000)  # timesteps in which layouts and shapes are decided: later they can be seen through the noise


def draw_timesteps(batch, generator):
    """One per picture: a quarter of them spread evenly over all, the rest over the band in which shapes are decided."""
    u = (torch.arange(batch) + torch.rand(batch, generator=generator)) / batch
    low, high = SHAPES
    t = torch.where(torch.arange(batch) % 4 == 0, schedule.STEPS * u, low + (high - low) * u)
    return t.long().clamp(0, schedule.STEPS - 1)[torch.randperm(batch, generator=generator)]


class Drawer(nn.Module):
    """The two networks that are trained together, and the heads that watch over what they know."""

    def __init__(self, unet, encoder, heads):
        super().__init__()
        self.unet, self.encoder, self.heads = unet, encoder, heads
        self.map_heads = nn.ModuleList(maps.MapHead(unet.config["outer"]) for _ in range(2))

    def loss(self, latents, captions, found, tokenizer, generator):
        device = latents.device
        ids, targets = (t.to(device) for t in text.batch_captions(captions, tokenizer))
        timestep = draw_timesteps(len(latents), generator)
        noise = torch.randn(latents.shape, generator=generator).to(device)
        noisy, velocity = schedule.noised(latents, noise, timestep.to(device))
        states, _ = self.encoder(ids)
        seen = []
        out = self.unet(noisy, timestep.to(device), states, seen)
        drawing = F.mse_loss(out, velocity)
        reading, _ = self.heads.loss(states, targets)  # keeps the text encoder able to read
        classes, values = (m.to(device) for m in maps.batch_maps(found, *seen[0].shape[1:3]))
        seeing = sum(head.loss(features, classes, values) for head, features in zip(self.map_heads, seen))
        return drawing, reading, seeing


def train_unet(path, tokenizer, autoencoder, text_path, args, minutes, batches):
    device = args.device
    torch.manual_seed(args.seed)
    encoder, heads = text.load(text_path, tokenizer, device)
    model = Drawer(UNet(**args.unet), encoder, heads).to(device)
    average = copy.deepcopy(model).requires_grad_(False)
    optimiser = torch.optim.AdamW(
        [
            {"params": list(model.unet.parameters()), "peak": args.peak},
            {"params": list(model.map_heads.parameters()), "peak": args.peak},
            {"params": [*model.encoder.parameters(), *model.heads.parameters()], "peak": args.peak * 0.3},
        ],
        betas=(0.9, 0.99),
        weight_decay=0.01,
    )
    step, spent = 0, 0.0
    if path.exists():
        state = torch.load(path, map_location=device)
        model.load_state_dict(state["model"])
        average.load_state_dict(state["average"])
        optimiser.load_state_dict(state["optimiser"])
        step, spent = state["step"], state["spent"]
        say(f"unet resumes at step {step}, {spent / 60:.1f} min")
    elif args.start:
        state = torch.load(args.start, map_location=device)
        fresh = model.load_state_dict(state["average"], strict=False).missing_keys
        average.load_state_dict(model.state_dict())
        say(f"unet starts from {args.start}; {len(fresh)} parameters are new")
    started = saved = time.time()
    evaluated = spent
    compute = torch.bfloat16 if fast_bfloat16() else None
    losses = []
    pairs = list(zip(average.parameters(), model.parameters()))

    def save():
        state = {
            "model": model.state_dict(), "average": average.state_dict(), "optimiser": optimiser.state_dict(),
            "step": step, "spent": used, "config": model.unet.config,
        }  # fmt: skip
        torch.save(state, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").rename(path)

    def test(final=False):
        set_compute(None if final else compute)
        average.eval()
        pipeline = Pipeline(tokenizer, average.encoder, average.unet, autoencoder.decoder.eval(), device)
        prompts = evaluate.load_prompts(None if final else 40)
        shares, pictures, results = evaluate.score(pipeline, prompts, guidance=args.guidance)
        say(f"eval step {step} {used / 60:.1f} min {len(prompts)} prompts: " + " ".join(f"{k} {v:.3f}" for k, v in shares.items()))
        name = path.parent / f"sheet-{step:06d}"
        evaluate.sheet(pictures[:40], [p["prompt"] for p in prompts[:40]], f"{name}-eval.png", 8, [r["all"] for r in results])
        seeds = list(range(len(evaluate.SHEET)))
        evaluate.sheet(pipeline.draw(evaluate.SHEET, seeds, guidance=args.guidance), evaluate.SHEET, f"{name}.png")
        average.train()

    while True:
        used = spent + time.time() - started
        done = max(step / args.steps, used / (60 * minutes))
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = group["peak"] * min(1, (step + 1) / args.warmup) * (0.5 + 0.5 * np.cos(np.pi * done)) + 1e-6
        generator = torch.Generator().manual_seed(args.seed * 1_000_003 + step)
        set_compute(compute)
        latents, captions, found = batches.get(step)
        drawing, reading, seeing = model.loss(latents, captions, found, tokenizer, generator)
        optimiser.zero_grad(set_to_none=True)
        (drawing + 0.05 * reading + 0.05 * seeing).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if torch.isfinite(norm):
            optimiser.step()
        step += 1
        keep = min(0.998, step / (step + 10))
        with torch.no_grad():
            for old, new in pairs:
                old.lerp_(new, 1 - keep)
        losses.append((drawing.item(), reading.item(), seeing.item(), norm.item()))
        if step % 50 == 0:
            means = np.mean(losses, 0)
            losses = []
            used = spent + time.time() - started
            say(f"unet step {step} {used / 60:.1f} min drawing {means[0]:.4f} reading {means[1]:.4f} seeing {means[2]:.3f} grad {means[3]:.2f}")
        if time.time() - saved > 240:
            saved = time.time()
            save()
        if used - evaluated > args.evaluate_every * 60:
            evaluated = used
            test()
    save()
    test(final=True)


def prepare(args):
    """Tokenizer and autoencoder, trained if not there."""
    work = args.work
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "tokenizer" / "merges.txt").exists():
        tokenizer_module.build(args.seed).save(work / "tokenizer")
    tokenizer = tokenizer_module.Tokenizer.load(work / "tokenizer")
    vae.train(work / "vae.pt", args.minutes * SHARES["vae"], args.steps, args.seed, say, args.device)
    autoencoder = vae.load(work / "vae.pt", args.device)
    vae.evaluate(autoencoder, say, device=args.device)
    text.train(work / "text.pt", tokenizer, args.minutes * SHARES["text"], args.steps, args.seed, say, args.device)
    return tokenizer, autoencoder


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="checkpoints, cached latents, contact sheets")
    parser.add_argument("--to", type=Path, help="export the finished model to this folder")
    parser.add_argument("--fixtures", type=Path, help="and write parity fixtures to this one")
    parser.add_argument("--minutes", type=float, default=332, help="time budget of all stages together")
    parser.add_argument("--steps", type=int, default=10**9, help="a limit on each stage's steps, for trials")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--peak", type=float, default=8e-4, help="the denoiser's highest learning rate")
    parser.add_argument("--warmup", type=int, default=400, help="steps of the denoiser's warm-up")
    parser.add_argument("--guidance", type=float, default=2.0, help="for the evaluations")
    parser.add_argument("--evaluate-every", type=float, default=30, help="minutes")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--unet", type=eval, default={}, help="the UNet's arguments, as a Python dict, for trials")
    parser.add_argument("--start", type=Path, help="a checkpoint whose averaged weights to start from; parts it lacks start fresh")
    parser.add_argument("--name", default="unet", help="the denoiser's checkpoint, for trials")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    return args


if __name__ == "__main__":
    args = arguments()
    tokenizer, autoencoder = prepare(args)
    batches = Batches(args.work / "latents", autoencoder, args.seed, batch=args.batch, device=args.device)
    folder = args.work / args.name
    folder.mkdir(exist_ok=True)
    minutes = args.minutes * SHARES["unet"]
    train_unet(folder / "unet.pt", tokenizer, autoencoder, args.work / "text.pt", args, minutes, batches)
    if args.to:
        export.export(args.work, args.name, args.to, args.fixtures)

"""The autoencoder: pictures [B,3,H,W] in [-1,1] <-> latents [B,4,H/8,W/8] with unit variance.

No attention and no normalisation inside, so it is the same function at every picture size and can be trained on crops.
A batch norm at the encoder's end holds each latent channel at mean 0 and variance 1, which gives the noise that is
added to the latents in training a fixed meaning: the decoder learns to draw crisp edges and exact colours from latents
that are a little off, as sampled ones are.
"""

import random
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import scenes
from layers import Conv2d, fast_bfloat16, set_compute

LATENT_CHANNELS = 4
SCALING_FACTOR = 0.18215  # as in Stable Diffusion: the decoder graph takes latents divided by it


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = Conv2d(width, width, 3, padding=1)
        self.conv2 = Conv2d(width, width, 3, padding=1)
        nn.init.zeros_(self.conv2.weight)
        nn.init.zeros_(self.conv2.bias)

    def forward(self, x):
        return x + self.conv2(F.silu(self.conv1(F.silu(x))))


class Encoder(nn.Module):
    def __init__(self, widths=(64, 96)):
        super().__init__()
        a, b = widths
        self.into = Conv2d(48, a, 3, padding=1)
        self.block1 = Residual(a)
        self.down = Conv2d(4 * a, b, 3, padding=1)
        self.block2 = nn.Sequential(Residual(b), Residual(b))
        self.out = Conv2d(b, LATENT_CHANNELS, 3, padding=1)
        self.norm = nn.BatchNorm2d(LATENT_CHANNELS, affine=False, momentum=0.02)

    def forward(self, picture):
        x = self.block1(self.into(F.pixel_unshuffle(picture, 4)))
        x = self.block2(self.down(F.pixel_unshuffle(x, 2)))
        return self.norm(self.out(F.silu(x)))


class Decoder(nn.Module):
    """Most of the work is at 1/8 and 1/4 of the picture's size; the last steps only place edges."""

    def __init__(self, widths=(80, 48, 24)):
        super().__init__()
        a, b, c = widths
        self.into = Conv2d(LATENT_CHANNELS, a, 3, padding=1)
        self.block1 = nn.Sequential(Residual(a), Residual(a))
        self.up1 = Conv2d(a, 4 * b, 3, padding=1)
        self.block2 = Residual(b)
        self.up2 = Conv2d(b, 4 * c, 3, padding=1)
        self.block3 = Residual(c)
        self.out = Conv2d(c, 12, 3, padding=1)

    def forward(self, latent):
        x = self.block1(self.into(latent))
        x = self.block2(F.pixel_shuffle(self.up1(F.silu(x)), 2))
        x = self.block3(F.pixel_shuffle(self.up2(F.silu(x)), 2))
        return F.pixel_shuffle(self.out(F.silu(x)), 2)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()


# ---------------------------------------------------------------- training

CROP = 128


def random_crop(rng):
    """A piece of a random scene at a random size, mostly around an object: flat ground teaches little."""
    size = rng.choice([192, 256, 256, 256, 320, 384, 512])
    scene = scenes.sample_scene(rng)
    picture = scenes.render(scene, size, size)
    if rng.random() < 0.85:
        o = rng.choice(scene.objects)
        x, y = o.x * size + rng.gauss(0, 30), o.y * size + rng.gauss(0, 30)
    else:
        x, y = rng.uniform(0, size), rng.uniform(0, size)
    x0 = min(max(0, int(x) - CROP // 2), size - CROP)
    y0 = min(max(0, int(y) - CROP // 2), size - CROP)
    return picture[y0 : y0 + CROP, x0 : x0 + CROP]


def to_tensor(pictures):
    """uint8 [B,H,W,3] -> float [B,3,H,W] in [-1,1], stored channels last."""
    return torch.from_numpy(np.ascontiguousarray(pictures)).permute(0, 3, 1, 2).float() / 127.5 - 1


def to_pictures(tensor):
    return ((tensor.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).cpu().numpy()


def reconstruction_loss(out, target):
    """L1, and L1 of the differences between neighbours: the second keeps edges crisp and flat ground flat."""
    loss = (out - target).abs().mean()
    for dim in (2, 3):
        loss = loss + 0.5 * (out.diff(dim=dim) - target.diff(dim=dim)).abs().mean()
    return loss


def psnr(out, target):
    return 10 * torch.log10(4 / (out.clamp(-1, 1) - target).square().mean(dim=(1, 2, 3)))


def train(path, minutes, steps, seed, log, device="cpu", batch=24, peak=2e-3):
    """Trains until `steps` (or the time is up, with the schedule following the clock), resumable from `path`."""
    torch.manual_seed(seed)
    model = Autoencoder().to(device, memory_format=torch.channels_last)
    average = Autoencoder().to(device)  # exponential moving average of the weights; what is kept in the end
    average.load_state_dict(model.state_dict())
    optimiser = torch.optim.AdamW(model.parameters(), lr=peak, betas=(0.9, 0.99), weight_decay=1e-4)
    step, spent = 0, 0.0
    if path.exists():
        state = torch.load(path, map_location=device)
        model.load_state_dict(state["model"])
        average.load_state_dict(state["average"])
        optimiser.load_state_dict(state["optimiser"])
        step, spent = state["step"], state["spent"]
    started = saved = time.time()

    def save():
        state = {"model": model.state_dict(), "average": average.state_dict(), "optimiser": optimiser.state_dict()}
        torch.save({**state, "step": step, "spent": spent + time.time() - started}, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").rename(path)

    while True:
        done = max(step / steps, (spent + time.time() - started) / (60 * minutes))
        if done >= 1:
            break
        set_compute(torch.bfloat16 if fast_bfloat16() else None)
        for group in optimiser.param_groups:
            group["lr"] = peak * min(1, (step + 1) / 200) * (0.5 + 0.5 * np.cos(np.pi * done)) + 1e-6
        rng = random.Random(f"{seed} vae {step}")
        target = to_tensor(np.stack([random_crop(rng) for _ in range(batch)])).to(device)
        latent = model.encoder(target)
        noise = torch.rand(batch, 1, 1, 1, device=device).square() * 0.3
        out = model.decoder(latent + noise * torch.randn_like(latent))
        loss = reconstruction_loss(out, target)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        with torch.no_grad():
            for old, new in zip(average.state_dict().values(), model.state_dict().values()):
                if old.is_floating_point():
                    old.lerp_(new, 1 - min(0.998, step / (step + 10)))
                else:
                    old.copy_(new)
        if step % 100 == 0:
            decibels = psnr(out.detach(), target)[noise.flatten() < 0.05]
            used = spent + time.time() - started
            log(f"vae step {step} {used / 60:.1f} min loss {loss.item():.4f} grad {norm:.2f} psnr {decibels.mean():.1f}")
        if time.time() - saved > 180:
            saved = time.time()
            save()
    spent_total = spent + time.time() - started
    save()
    log(f"vae done: {step} steps, {spent_total / 60:.1f} min")
    return average


def load(path, device="cpu"):
    model = Autoencoder().to(device)
    model.load_state_dict(torch.load(path, map_location=device)["average"])
    return model.eval()


@torch.no_grad()
def evaluate(model, log, count=64, device="cpu"):
    """Reconstruction quality on unseen scenes, whole pictures at several sizes."""
    set_compute(None)
    for size in (192, 256, 384, 512):
        rng = random.Random(f"vae eval {size}")
        values, largest, stds = [], 0, []
        for _ in range(count):
            target = to_tensor(scenes.render(scenes.sample_scene(rng), size, size)[None]).to(device)
            latent = model.encoder(target)
            out = model.decoder(latent)
            values.append(psnr(out, target).item())
            stds.append(latent.square().mean(dim=(0, 2, 3)).cpu())
            largest = max(largest, latent.abs().max().item())
        rms = torch.stack(stds).mean(0).sqrt().tolist()
        log(
            f"vae {size}x{size}: psnr mean {np.mean(values):.1f} worst {min(values):.1f} dB,"
            f" latent rms {[round(v, 2) for v in rms]} largest {largest:.1f}"
        )

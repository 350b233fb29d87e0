"""Trains the demo upscaler of scale 2, writes its folder, and compares it with bicubic and lanczos (compare.py).

    OMP_NUM_THREADS=1 nice -n 15 python3 train.py --work WORK --minutes 15 --seed 1 --to ../../models/demo-upscaler

A stopped run goes on from its last thousand steps. With `--minutes 0` it writes and compares what is there.
"""

import argparse
import json
import math
import random
import time
from pathlib import Path

import onnx
import torch
import torch.nn.functional as F
from torch import nn

import pictures
from compare import compare
from layers import Conv2d, fast_bfloat16, set_compute  # of demo-diffusion

SCALE, WIDTH, DEPTH, CROP = 2, 32, 3, 64


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.second = Conv2d(WIDTH, WIDTH, 3, padding=1)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, x):
        return x + self.second(F.relu(self.first(x)))


def bicubic():
    """Weights [12,1,5,5] of bicubic interpolation: for each channel the four pixels that lie around a small one."""
    near = lambda t: 1.5 * t**3 - 2.5 * t**2 + 1  # noqa: E731
    far = lambda t: -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2  # noqa: E731
    first = torch.tensor([far(1.75), near(0.75), near(0.25), far(1.25), 0])
    phases = [first, first.flip(0)]
    return torch.stack([torch.outer(row, column) for row in phases for column in phases]).repeat(3, 1, 1)[:, None]


class Upscaler(nn.Module):
    """[B,3,H,W] in 0..1 -> [B,3,2H,2W]. All work is done at the small size. The first guess is bicubic, whose weights learn too."""

    def __init__(self):
        super().__init__()
        self.guess = nn.Conv2d(3, 3 * SCALE**2, 5, groups=3, bias=False)  # in float32: its rounding would be seen
        self.guess.weight.data = bicubic()
        self.into = Conv2d(3, WIDTH, 3, padding=1)
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))
        self.out = Conv2d(WIDTH, 3 * SCALE**2, 3, padding=1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, picture):
        change = self.out(F.relu(self.blocks(self.into(picture - 0.5))))
        guess = self.guess(F.pad(picture, (2, 2, 2, 2), mode="replicate"))
        return F.pixel_shuffle(guess + change, SCALE)


class Graph(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixel_values):
        return self.model(pixel_values).clamp(0, 1)


def source_of(args, say):
    path = args.work / "pictures.pt"
    if not path.exists():
        torch.save(torch.from_numpy(pictures.pool(args.pictures, args.seed)), path)
        say(f"{args.pictures} pictures drawn")
    return torch.load(path).numpy()


def train(args, say):
    path = args.work / "upscaler.pt"
    torch.manual_seed(args.seed)
    model, average = (Upscaler().to(memory_format=torch.channels_last) for _ in range(2))
    average.load_state_dict(model.state_dict())
    optimiser = torch.optim.Adam(model.parameters(), lr=args.peak, betas=(0.9, 0.99))
    step, spent = 0, 0.0
    if path.exists():
        state = torch.load(path)
        for part, name in ((model, "model"), (average, "average"), (optimiser, "optimiser")):
            part.load_state_dict(state[name])
        step, spent = state["step"], state["spent"]
    source = source_of(args, say) if args.minutes > 0 else None
    started, losses = time.time(), []
    set_compute(torch.bfloat16 if fast_bfloat16() else None)
    while (used := spent + time.time() - started) < 60 * args.minutes:
        for group in optimiser.param_groups:
            group["lr"] = args.peak * min(1, (step + 1) / 200) * (0.5 + 0.5 * math.cos(math.pi * used / (60 * args.minutes))) + 1e-6
        small, large = pictures.batch(source, random.Random(f"{args.seed} step {step}"), args.batch, CROP)
        loss = F.l1_loss(model(small.contiguous(memory_format=torch.channels_last)), large)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimiser.step()
        step += 1
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters()):
                old.lerp_(new, 1 - min(0.998, step / (step + 10)))
        losses.append(loss.item())
        if step % 1000 == 0:
            say(f"step {step} {used / 60:.1f} min, mean difference {255 * sum(losses[-1000:]) / 1000:.3f} of 255")
            save(path, model, average, optimiser, step, used)
    save(path, model, average, optimiser, step, max(used, spent))
    set_compute(None)
    say(f"{step} steps in {used / 60:.1f} min")
    return average.eval()


def save(path, model, average, optimiser, step, spent):
    parts = {"model": model, "average": average, "optimiser": optimiser}
    torch.save({**{name: part.state_dict() for name, part in parts.items()}, "step": step, "spent": spent}, path)


def write(model, folder):
    """The graph has the names that Transformers gives to upscalers, and takes any number of pictures of any size."""
    folder.mkdir(parents=True, exist_ok=True)
    axes = {"pixel_values": {0: "batch", 2: "height", 3: "width"}, "reconstruction": {0: "batch", 2: "height_out", 3: "width_out"}}
    torch.onnx.export(Graph(model).eval(), (torch.rand(2, 3, 24, 20),), folder / "model.onnx", input_names=["pixel_values"],
                      output_names=["reconstruction"], dynamic_axes=axes, opset_version=17, dynamo=False)  # fmt: skip
    onnx.checker.check_model(str(folder / "model.onnx"))
    settings = {"do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": False, "do_resize": False}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    return (folder / "model.onnx").stat().st_size


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--peak", type=float, default=1e-3)
    parser.add_argument("--pictures", type=int, default=3000)
    parser.add_argument("--photographs", type=Path, help="a folder of pictures, which are compared too")
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.work.mkdir(parents=True, exist_ok=True)
    say = lambda line: print(time.strftime("%H:%M:%S"), line, flush=True)  # noqa: E731
    trained = train(args, say)
    say(f"{sum(p.numel() for p in trained.parameters())} parameters, {write(trained, args.to)} bytes")
    compare(args.to / "model.onnx", args.photographs, print)

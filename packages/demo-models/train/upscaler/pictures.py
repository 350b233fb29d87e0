"""Pictures that a program draws, and small copies of them: what the upscaler learns from.

Half of them are scenes of demo-diffusion, drawn at any size. The others keep it from learning nothing but flat shapes: textures
(noise of several octaves, gratings), thin lines and curves, and strokes in rows that look like text. Each is drawn four times
too large and averaged, so that its edges are soft.
"""

import math
import random
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw

sys.path.append(str(Path(__file__).resolve().parent.parent / "diffusion"))
import scenes  # noqa: E402

SIZE = 160  # side of a picture of the training
FINE = 4  # how many times too large lines are drawn


def colours(rng, count):
    return [tuple(rng.randrange(256) for _ in range(3)) for _ in range(count)]


def scene(rng, held=False):
    size = rng.choice([128, 160, 192, 256, 320])
    picture = scenes.render(scenes.sample_scene(rng, held=held), size, size)
    if size < SIZE:
        return np.pad(picture, ((0, SIZE - size), (0, SIZE - size), (0, 0)), mode="reflect")
    y, x = (rng.randrange(size - SIZE + 1) for _ in range(2))
    return picture[y : y + SIZE, x : x + SIZE]


def blend(amount, rng):
    """Values 0..1 [h,w] -> a picture between two colours."""
    a, b = (np.array(colour, np.float32) for colour in colours(rng, 2))
    return np.clip(np.rint(a + amount[..., None] * (b - a)), 0, 255).astype(np.uint8)


def noise(rng):
    """Octaves of smooth noise, each finer one weaker; the exponent is about that of photographs."""
    total, numpy_rng = np.zeros((SIZE, SIZE), np.float32), np.random.default_rng(rng.randrange(2**32))
    fall = rng.uniform(0.4, 0.95)
    for octave in range(2, 8):
        grid = Image.fromarray(numpy_rng.standard_normal((2**octave + 3,) * 2).astype(np.float32))
        total += fall**octave * np.asarray(grid.resize((SIZE, SIZE), Image.BICUBIC))
    return (total - total.min()) / (np.ptp(total) + 1e-6)


def texture(rng):
    return np.stack([blend(noise(rng), rng)[..., 0] for _ in range(3)], -1) if rng.random() < 0.5 else blend(noise(rng), rng)


def grating(rng):
    """Stripes or checks at any angle, not finer than the picture can show."""
    y, x = np.mgrid[: SIZE * FINE, : SIZE * FINE].astype(np.float32) / FINE
    angle, period = rng.uniform(0, math.pi), rng.uniform(4, 40)
    u, v = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
    wave = np.sin(2 * math.pi * u / period)
    if rng.random() < 0.4:
        wave = wave * np.sin(2 * math.pi * v / period)
    hard = rng.choice([1, 4, 40])
    fine = np.clip(0.5 + 0.5 * hard * wave, 0, 1)
    return blend(fine.reshape(SIZE, FINE, SIZE, FINE).mean((1, 3)), rng)


def strokes(draw, rng, side):
    """Thin lines, curves and outlines anywhere, some filled."""
    for _ in range(rng.randrange(4, 30)):
        box = sorted(rng.randrange(-40, side + 40) for _ in range(2)), sorted(rng.randrange(-40, side + 40) for _ in range(2))
        corners = [box[0][0], box[1][0], box[0][1], box[1][1]]
        colour, width = colours(rng, 1)[0], round(FINE * rng.uniform(0.7, 5))
        kind = rng.randrange(5)
        if kind == 0:
            draw.line([rng.randrange(side) for _ in range(2 * rng.randrange(2, 6))], colour, width, joint="curve")
        elif kind == 1:
            draw.arc(corners, rng.randrange(360), rng.randrange(360), colour, width)
        elif kind == 2:
            draw.ellipse(corners, colour if rng.random() < 0.6 else None, colour, width)
        elif kind == 3:
            draw.polygon([rng.randrange(side) for _ in range(2 * rng.randrange(3, 6))], colour)
        else:
            draw.rectangle(corners, colour if rng.random() < 0.3 else None, colour, width)


def sign(draw, rng, x, y, w, h, colour, width):
    """One to four strokes in a cell, upright, level, slanted or round, as letters have them."""
    ends = [(x + i * w, y + j * h / 2) for i in (0, 1) for j in (0, 1, 2)]
    for _ in range(rng.randrange(1, 5)):
        if rng.random() < 0.35:
            top = y + rng.choice([0, h / 2])
            draw.arc([x, top, x + w, top + h / 2 + 1], rng.choice([0, 90, 180]), rng.choice([180, 270, 360]), colour, width)
        else:
            draw.line([*rng.choice(ends), *rng.choice(ends)], colour, width)


def rows_of_signs(draw, rng, side):
    colour, y = colours(rng, 1)[0], rng.uniform(0, 20)
    while y < side:
        h = FINE * rng.uniform(6, 26)
        w, width, x = h * rng.uniform(0.4, 0.8), max(2, round(h * rng.uniform(0.07, 0.2))), rng.uniform(0, 60)
        while x < side:
            if rng.random() < 0.85:
                sign(draw, rng, x, y, w, h, colour, width)
            x += 1.35 * w
        y += 1.5 * h


def drawn(rng, what):
    side = SIZE * FINE
    ground = Image.fromarray(texture(rng)).resize((side, side), Image.BILINEAR) if rng.random() < 0.3 else None
    picture = ground or Image.new("RGB", (side, side), colours(rng, 1)[0])
    what(ImageDraw.Draw(picture), rng, side)
    return np.asarray(picture.resize((SIZE, SIZE), Image.BOX))


KINDS = {
    "scenes": scene,
    "textures": texture,
    "gratings": grating,
    "lines": lambda rng: drawn(rng, strokes),
    "signs": lambda rng: drawn(rng, rows_of_signs),
}
SHARES = {"scenes": 0.5, "textures": 0.14, "gratings": 0.06, "lines": 0.15, "signs": 0.15}


def pool(count, seed):
    """uint8 [count, SIZE, SIZE, 3]; picture i comes from (seed, i)."""
    pictures = []
    for i in range(count):
        rng = random.Random(f"{seed} picture {i}")
        kind = rng.choices(list(SHARES), SHARES.values())[0]
        pictures.append(KINDS[kind](rng))
    return np.stack(pictures)


def smaller(pictures, way):
    """float [B,3,H,W] in 0..1 -> half its size, in 256 levels as files have them. Both filters look at all pixels under them."""
    if way == "area":
        small = F.avg_pool2d(pictures, 2)
    else:
        small = F.interpolate(pictures, scale_factor=0.5, mode="bicubic", antialias=True)
    return (small.clamp(0, 1) * 255).round() / 255


def batch(source, rng, count, crop):
    """(small, large) from random places of the pool, turned and mirrored, colours exchanged or inverted."""
    large = []
    for _ in range(count):
        picture = source[rng.randrange(len(source))]
        y, x = (2 * rng.randrange((SIZE - crop) // 2 + 1) for _ in range(2))
        cut = np.rot90(picture[y : y + crop, x : x + crop], rng.randrange(4))
        cut = cut[:, :: rng.choice([1, -1]), rng.sample(range(3), 3)]
        large.append(255 - cut if rng.random() < 0.5 else cut)
    large = torch.from_numpy(np.stack(large)).permute(0, 3, 1, 2).float() / 255
    half = count // 2
    return torch.cat([smaller(large[:half], "area"), smaller(large[half:], "bicubic")]), large

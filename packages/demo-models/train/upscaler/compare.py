"""PSNR of the exported model beside bicubic and lanczos, on pictures that the training did not see.

    python3 compare.py --model ../../models/demo-upscaler/model.onnx --photographs FOLDER

Each picture is made half as large, in 256 levels, then upscaled and compared with itself: all pixels, all three channels.
"""

import argparse
import random
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

import pictures
import scenes

COUNT = 64
DOWN = {"area": Image.BOX, "bicubic": Image.BICUBIC}
UP = {"bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS}
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,"


def letters(rng):
    """Real letters, those of the font that Pillow contains; the training has none."""
    ground, ink = pictures.colours(rng, 2)
    picture = Image.new("RGB", (pictures.SIZE, pictures.SIZE), ground)
    draw, y = ImageDraw.Draw(picture), 4
    while y < pictures.SIZE:
        size = rng.randrange(10, 30)
        draw.text((4, y), "".join(rng.choices(LETTERS, k=30)), ink, ImageFont.load_default(size))
        y += round(1.3 * size)
    return np.asarray(picture)


def sets(photographs):
    """name -> pictures whose sides are even."""
    rng = random.Random("upscaler evaluation")
    found = {"scenes, held-out combinations, 256x256": [scenes.render(scenes.sample_scene(rng, held=True)) for _ in range(COUNT)]}
    for kind in ("textures", "gratings", "lines", "signs"):
        found[kind] = [pictures.KINDS[kind](rng) for _ in range(COUNT)]
    found["letters of a font"] = [letters(rng) for _ in range(COUNT)]
    if photographs:
        opened = [np.asarray(Image.open(path).convert("RGB")) for path in sorted(photographs.iterdir())]
        found[f"{len(opened)} photographs"] = [p[: len(p) // 2 * 2, : p.shape[1] // 2 * 2] for p in opened]
    return found


def psnr(a, b):
    return 10 * np.log10(255**2 / max(1e-3, np.mean((a.astype(np.float32) - b) ** 2)))


def by_model(session, small):
    pixels = np.asarray(small, np.float32).transpose(2, 0, 1)[None] / 255
    return np.rint(session.run(None, {"pixel_values": pixels})[0][0].transpose(1, 2, 0) * 255)


def compare(model, photographs, say):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options)
    say("| pictures | made smaller by | bicubic | lanczos | demo-upscaler | least gain over lanczos |")
    say("| --- | --- | --- | --- | --- | --- |")
    for name, found in sets(photographs).items():
        for way, filter in DOWN.items():
            scores = []
            for picture in found:
                whole = Image.fromarray(picture)
                small = whole.resize((whole.width // 2, whole.height // 2), filter)
                ups = [np.asarray(small.resize(whole.size, up)) for up in UP.values()]
                scores.append([psnr(picture, up) for up in [*ups, by_model(session, small)]])
            a, b, c = np.mean(scores, 0)
            say(f"| {name} | {way} | {a:.2f} | {b:.2f} | {c:.2f} | {min(s[2] - s[1] for s in scores):+.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--photographs", type=Path)
    args = parser.parse_args()
    compare(args.model, args.photographs, print)

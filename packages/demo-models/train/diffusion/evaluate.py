"""Scores of a pipeline on the held-out prompts, and contact sheets.

    python3 evaluate.py --work /tmp/demo-diffusion --prompts 300 --sheet sheet.png
"""

import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import checker

HERE = Path(__file__).parent
MEASURES = ("background", "colours", "shapes", "relation", "sizes", "all")

SHEET = [  # what a visitor may type; also a look at what the measures do not measure
    "a red circle to the left of a small yellow star on a blue background",
    "two green stars above a yellow square",
    "a red circle on a blue background",
    "un círculo rojo sobre un fondo azul",
    "a crimson disc",
    "blue backdrop with a red ball on it",
    "a large pink heart on a white background",
    "a purple ring next to an orange diamond on a black background",
    "a white cross above a big red heart on a gray background",
    "three yellow stars in a row on a purple background",
    "a green triangle on a background that is blue above and brown below",
    "a yellow circle in the top right corner on a background that is cyan above and green below",
    "from left to right, a red square, a white circle and a black triangle on an orange background",
    "a small brown diamond below a large cyan ring on a pink background",
    "two white hearts to the right of a black cross on a red background",
    "a tiny orange star on a black background",
    "a pink circle between two gray squares",
    "a big blue square and a small yellow triangle",
    "the quick brown fox jumps over the lazy dog",
    "a watercolor painting of a lighthouse at dawn",
    "call me at five five five, zero one nine two, before three thirty",
    "a golden star beneath a silver ring on a violet background",
    "dos estrellas verdes encima de un cuadrado amarillo",
    "a teal diamond to the right of a scarlet heart, left half white, right half gray",
]


def load_prompts(count=None):
    prompts = json.loads((HERE / "eval" / "prompts.json").read_text())
    return prompts[:count]


def score(pipeline, prompts, **options):
    """({measure: share right}, pictures, results). Relations are scored over the prompts that state one."""
    pictures = pipeline.draw([p["prompt"] for p in prompts], [p["seed"] for p in prompts], **options)
    results = [checker.check(picture, p["spec"]) for picture, p in zip(pictures, prompts)]
    shares = {}
    for measure in MEASURES:
        asked = [r for r, p in zip(results, prompts) if measure != "relation" or p["spec"]["relation"]]
        shares[measure] = float(np.mean([r[measure] for r in asked]))
    return shares, pictures, results


def sheet(pictures, captions, path, columns=6, marks=None):
    """A contact sheet: pictures with their prompts below; `marks` of False get a red frame."""
    cell, text = 256, 34
    rows = -(-len(pictures) // columns)
    page = Image.new("RGB", (columns * (cell + 8) + 8, rows * (cell + text + 8) + 8), (255, 255, 255))
    pen = ImageDraw.Draw(page)
    for i, (picture, caption) in enumerate(zip(pictures, captions)):
        x, y = 8 + (i % columns) * (cell + 8), 8 + (i // columns) * (cell + text + 8)
        image = Image.fromarray(picture)
        image.thumbnail((cell, cell))
        page.paste(image, (x, y))
        if marks is not None and not marks[i]:
            pen.rectangle((x - 3, y - 3, x + cell + 2, y + cell + 2), outline=(255, 0, 0), width=3)
        line, lines = "", []
        for word in caption.split():
            if len(line) + len(word) > 41:
                lines.append(line)
                line = ""
            line = f"{line} {word}".strip()
        for k, part in enumerate([*lines, line][:3]):
            pen.text((x, y + cell + 1 + 11 * k), part, fill=(0, 0, 0))
    page.save(path)


def main():
    import export
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--name", default="unet", help="the denoiser's checkpoint folder in --work")
    parser.add_argument("--prompts", type=int, default=300)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--guidance", type=float, default=2.0)
    parser.add_argument("--sheet", type=Path, help="draw the visitor's prompts here")
    parser.add_argument("--failures", type=Path, help="draw the rejected pictures here")
    args = parser.parse_args()
    torch.set_num_threads(1)
    pipeline, _ = export.load_pipeline(args.work, args.name)  # with the exported model's rounded weights
    options = {"steps": args.steps, "guidance": args.guidance}
    if args.prompts:
        prompts = load_prompts(args.prompts)
        shares, pictures, results = score(pipeline, prompts, **options)
        print(len(prompts), "prompts:", " ".join(f"{k} {v:.3f}" for k, v in shares.items()))
        wrong = [i for i, r in enumerate(results) if not r["all"]]
        for i in wrong:
            missed = [k for k in MEASURES[:4] if not results[i][k]]
            print(prompts[i]["id"], ",".join(missed), "|", prompts[i]["prompt"])
        if args.failures and wrong:
            sheet(pictures[wrong], [prompts[i]["prompt"] for i in wrong], args.failures, 8)
    if args.sheet:
        sheet(pipeline.draw(SHEET, list(range(len(SHEET))), **options), SHEET, args.sheet)


if __name__ == "__main__":
    main()

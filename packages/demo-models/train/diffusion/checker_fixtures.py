"""Writes fixtures/checker: pictures and this checker's verdicts on them, for checkers in other languages to agree with.

    python3 checker_fixtures.py

Exact renders, each asked about its own spec and about two others; and damaged ones (shaken, blurred, washed out, cut and
shifted), whose verdicts hang on the limits. No model is needed.
"""

import json
import random
from pathlib import Path

import numpy as np
from PIL import Image

import checker
import grammar
import scenes

FOLDER = Path(__file__).parent / "fixtures" / "checker"
SIZES = [(256, 256), (192, 128), (128, 192), (320, 192)]


def shaken(picture, rng):
    """Rows and columns wander by some pixels: shapes at the edge of being recognised."""
    height, width = picture.shape[:2]
    wave = lambda n: (rng.uniform(1, 6) * np.sin(np.arange(n) / rng.uniform(4, 12))).astype(int)  # noqa: E731
    rows = (np.arange(height)[:, None] + wave(width)[None, :]) % height
    columns = (np.arange(width)[None, :] + wave(height)[:, None]) % width
    return picture[rows, columns]


def blurred(picture, rng):
    out = picture.astype(float)
    for _ in range(rng.randint(3, 8)):
        out = sum(np.roll(out, shift, axis) for axis in (0, 1) for shift in (-1, 1)) / 4
    return out.round().astype(np.uint8)


def washed(picture, rng):
    """All colours drawn towards one: some lose their name."""
    colour = np.array([rng.randrange(256) for _ in range(3)])
    share = rng.uniform(0.2, 0.5)
    return (picture * (1 - share) + colour * share).round().astype(np.uint8)


def shifted(picture, rng):
    return np.roll(picture, (rng.randrange(20, 80), rng.randrange(20, 80)), (0, 1))


DAMAGES = [None, None, shaken, blurred, washed, shifted]


def make(count=24):
    rng = random.Random("checker fixtures")
    drawn = []
    for i in range(count):
        width, height = SIZES[i % len(SIZES)]
        scene = scenes.sample_scene(rng, scenes.aspect_of(width, height))
        spec = grammar.caption(scene, rng).spec
        picture = scenes.render(scene, width, height)
        damage = DAMAGES[i // len(SIZES) % len(DAMAGES)]
        drawn.append((damage(picture, rng) if damage else picture, spec))
    index = []
    for i, (picture, _) in enumerate(drawn):
        file = f"{i:02d}.png"
        Image.fromarray(picture).save(FOLDER / file, optimize=True)
        asked = []
        for k in (0, 1, 7):
            spec = drawn[(i + k) % count][1]
            result = checker.check(picture, spec)
            asked.append({"spec": spec, "verdict": {k: bool(v) for k, v in result.items() if k != "found"}})
        found = {k: v for k, v in checker.analyse(picture).items()}
        index.append({"file": file, "found": found, "asked": asked})
    return index


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(entry) for entry in make())
    (FOLDER / "verdicts.json").write_text(f"[\n{lines}\n]\n")

"""Writes eval/prompts.json: 300 prompts about combinations that no training picture shows, with specs and seeds.

The committed file is older than the layouts by convention (see `scenes.place`) and is kept, so that scores compare; run now,
this makes other prompts."""

import json
import random
from pathlib import Path

import grammar
import scenes

PATH = Path(__file__).parent / "eval" / "prompts.json"
SHARES = {1: 75, 2: 150, 3: 75}  # prompts by number of objects


def make():
    rng = random.Random("evaluation prompts")
    numbers = [n for n, share in SHARES.items() for _ in range(share)]
    rng.shuffle(numbers)
    prompts = []
    for number in numbers:
        scene = None
        while scene is None or len(scene.objects) != number:
            scene = scenes.sample_scene(rng, held=True)
        said = grammar.caption(scene, rng, complete=True)
        prompts.append(
            {"id": len(prompts), "prompt": said.text, "seed": 1000 + len(prompts), "width": 256, "height": 256, "spec": said.spec}
        )
    return prompts


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(p, ensure_ascii=False) for p in make())
    PATH.write_text(f"[\n{lines}\n]\n")

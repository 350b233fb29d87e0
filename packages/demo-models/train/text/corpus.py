"""Captions of scenes, from the grammar of demo-diffusion, and what the model learns about each scene."""

import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "diffusion"))
import grammar  # noqa: E402
import scenes  # noqa: E402

ARRANGEMENTS = ["centre", "at", "free", "left", "above", "beside", "row", "column", "between"]
LOOKS = [f"{colour} {shape}" for colour in scenes.COLOURS for shape in scenes.SHAPES]


def is_several(scene):
    return sum(group.count for group in scene.groups) > 1


def features(scene):
    """A vector with a part for everything that makes scenes alike; its cosine is how alike two scenes are."""
    looks, shapes, colours = np.zeros(len(LOOKS)), np.zeros(len(scenes.SHAPES)), np.zeros(len(scenes.COLOURS))
    for group in scene.groups:
        looks[LOOKS.index(f"{group.colour} {group.shape}")] = 1
        shapes[scenes.SHAPES.index(group.shape)] = 1
        colours[scenes.COLOURS.index(group.colour)] = 1
    ground = np.zeros(len(scenes.COLOURS))
    for colour in scene.background.colours:
        ground[scenes.COLOURS.index(colour)] = 1
    count = np.zeros(3)
    count[min(3, sum(group.count for group in scene.groups)) - 1] = 1
    parts = [(looks, 1.0), (shapes, 1.0), (colours, 0.8), (ground, 0.8), (count, 0.8)]
    vector = np.concatenate([weight * part / np.linalg.norm(part) for part, weight in parts])
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def sample(rng, held=False):
    scene = scenes.sample_scene(rng, held=held)
    return scene, grammar.caption(scene, rng).text, grammar.caption(scene, rng, complete=True).text


def captions(count, seed):
    """For each scene a free caption and a complete one, its features, and whether it has several objects."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        scene, free, complete = sample(rng)
        rows.append((free, complete, features(scene), is_several(scene)))
    return rows

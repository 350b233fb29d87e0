"""What LoRAs and ControlNet learn from: scenes in a style, and scenes with free places and the control pictures of them."""

import copy

import numpy as np
from PIL import Image, ImageFilter

from exported import scenes


def night(scene, size=256):
    """The background is black; what was black is white."""
    scene = copy.deepcopy(scene)
    scene.background = scenes.Background("plain", ["black"])
    for o in scene.objects:
        o.colour = "white" if o.colour == "black" else o.colour
    return scenes.render(scene, size, size)


def gold(scene, size=256):
    """Every object is yellow; orange where the background has yellow."""
    scene = copy.deepcopy(scene)
    for o in scene.objects:
        o.colour = "orange" if "yellow" in scene.background.colours else "yellow"
    return scenes.render(scene, size, size)


STYLES = {"night": night, "gold": gold}


def free_scene(rng):
    """Objects anywhere and of any size, whose caption says of neither: only the control picture knows."""
    while True:
        scene = scenes.sample_scene(rng)
        scene.arrangement = "centre" if len(scene.groups) == 1 and scene.groups[0].count == 1 else "free"
        for group in scene.groups:
            group.size = "medium"  # which captions leave out
        if rng.random() < 0.1:
            return scene  # where the model would have put them
        for _ in range(20):
            for o in scene.objects:
                o.r = rng.uniform(0.075, 0.22 if len(scene.objects) == 1 else 0.16)
                o.x, o.y = rng.random(), rng.random()
            if all(scenes._inside(o, 1, 1) for o in scene.objects) and all(
                scenes._apart(a, b) for i, a in enumerate(scene.objects) for b in scene.objects[i + 1 :]
            ):
                return scene


def control_picture(scene, rng, size=256):
    """uint8 [size,size]: the objects, white on black; mostly filled, else their edges with some width."""
    flat = copy.deepcopy(scene)
    flat.background = scenes.Background("plain", ["black"])
    for o in flat.objects:
        o.colour = "white"
    black, white = (float(scenes.PALETTE[name][0]) for name in ("black", "white"))
    cover = (scenes.render(flat, size, size)[..., 0] - black) / (white - black)
    filled = (cover * 255).round().astype(np.uint8)
    if rng.random() < 0.7:
        return filled
    mask, edges = filled > 127, np.zeros(filled.shape, bool)
    edges[:, 1:] |= mask[:, 1:] != mask[:, :-1]
    edges[1:] |= mask[1:] != mask[:-1]
    return np.asarray(Image.fromarray((edges * 255).astype(np.uint8)).filter(ImageFilter.MaxFilter(rng.choice([3, 5, 7]))))

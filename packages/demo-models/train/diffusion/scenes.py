"""Geometric scenes: what the model learns to draw.

A Scene is a background (plain, or two tones split through the middle) and one to three flat objects that never
overlap and never have a colour of their background. Objects come in groups ("two green stars" is one group of two),
and the groups stand in an arrangement ("left": every member of group 0 is left of every member of group 1).

Lengths are in units of the picture's shorter side, so one scene can be rendered at any size; the frame is then
(width / shorter) x (height / shorter). Every random choice comes from a `random.Random`, so a seed fixes a scene.
"""

import hashlib
import json
import math
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PALETTE = json.loads((Path(__file__).parent / "eval" / "palette.json").read_text())
COLOURS = list(PALETTE)
SHAPES = ["circle", "square", "triangle", "star", "ring", "heart", "diamond", "cross"]
SIZES = {"small": (0.078, 0.090), "medium": (0.120, 0.140), "large": (0.180, 0.200)}

# Half width and half height of each shape's bounding box, in units of the object's radius. The factors give the
# shapes about the same visual weight (a square with half side r would look larger than a circle with radius r).
EXTENT = {
    "circle": (1.0, 1.0),
    "square": (0.9, 0.9),
    "triangle": (1.2 * math.sqrt(3) / 2, 0.9),
    "star": (1.25 * math.sin(math.radians(72)), 1.25 * (1 + math.cos(math.radians(36))) / 2),
    "ring": (1.05, 1.05),
    "heart": (1.1, 1.1 * 1.1036 / 1.2072),
    "diamond": (1.2, 1.2),
    "cross": (1.05, 1.05),
}
TIGHT = 0.03  # how far layouts stray from the usual one, where they fit so; loose layouts are 1
GAP = 0.035  # smallest distance between two objects' boxes
MARGIN = 0.025  # smallest distance between an object's box and the frame


@dataclass
class Background:
    kind: str  # "plain", "rows" (first colour above, second below) or "columns" (first left, second right)
    colours: list


@dataclass
class Group:
    count: int
    shape: str
    colour: str
    size: str


@dataclass
class Placed:
    group: int
    shape: str
    colour: str
    x: float
    y: float
    r: float


@dataclass
class Scene:
    """arrangement: "centre" | "at" | "free" | "left" | "above" | "beside" | "row" | "column" | "between"."""

    background: Background
    groups: list
    arrangement: str
    place: tuple = (0, 0)  # for "at": column and row, each -1, 0 or 1
    aspect: tuple = (1.0, 1.0)  # frame width and height in units of the shorter side
    objects: list = field(default_factory=list)


# ---------------------------------------------------------------- held-out combinations


def _held(key):
    return hashlib.sha256(key.encode()).digest()[0] < 26  # about one in ten


def held_out(scene):
    """True for combinations that no training picture may show.

    One kind of object alone on a plain background: (shape, colour, background colour).
    Otherwise: any two different objects whose unordered pair of (shape, colour) is held out, whatever their relation.
    """
    kinds = sorted({f"{g.colour} {g.shape}" for g in scene.groups})
    if len(kinds) == 1:
        return scene.background.kind == "plain" and _held(f"{kinds[0]} on {scene.background.colours[0]}")
    return any(_held(f"{a} & {b}") for i, a in enumerate(kinds) for b in kinds[i + 1 :])


# ---------------------------------------------------------------- sampling


def _sample_groups(rng):
    """How many kinds of objects, how many of each."""
    u = rng.random()
    if u < 0.28:
        counts = [1]
    elif u < 0.36:
        counts = [rng.choice([2, 2, 3])]
    elif u < 0.76:
        counts = [1, 1]
    elif u < 0.87:
        counts = rng.choice([[2, 1], [1, 2]])
    else:
        counts = [1, 1, 1]
    return counts


def _sample_arrangement(rng, counts):
    if counts == [1]:
        return "centre" if rng.random() < 0.65 else "at"
    if len(counts) == 1:
        return rng.choices(["row", "column", "free"], [0.5, 0.2, 0.3])[0]
    if len(counts) == 2:
        return rng.choices(["left", "above", "beside", "free"], [0.36, 0.36, 0.10, 0.18])[0]
    return rng.choices(["row", "column", "between", "free"], [0.3, 0.25, 0.15, 0.3])[0]


def sample_scene(rng, aspect=(1.0, 1.0), held=False):
    """A random scene; `held` chooses which side of the hold-out it comes from."""
    while True:
        counts = _sample_groups(rng)
        kind = rng.choices(["plain", "rows", "columns"], [0.72, 0.17, 0.11])[0]
        ground = rng.sample(COLOURS, 1 if kind == "plain" else 2)
        free_colours = [c for c in COLOURS if c not in ground]
        groups, seen = [], set()
        for count in counts:
            size = rng.choices(["small", "medium", "large"], [0.25, 0.5, 0.25])[0]
            if sum(counts) == 3 and size == "large" and rng.random() < 0.6:
                size = "medium"  # three large objects do not fit
            while True:
                look = (rng.choice(SHAPES), rng.choice(free_colours))
                if look not in seen:
                    break
            seen.add(look)
            groups.append(Group(count, look[0], look[1], size))
        scene = Scene(Background(kind, ground), groups, _sample_arrangement(rng, counts), aspect=aspect)
        if scene.arrangement == "at":
            scene.place = rng.choice([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)])
        if held_out(scene) == held and place(scene, rng):
            return scene


def place(scene, rng, tries=40):
    """Fill scene.objects with non-overlapping positions that make the arrangement plain to see. False: does not fit.

    There is a usual layout for every arrangement, from which objects stray a little. What the text does not settle has a
    convention (see `grammar.caption`), so that the text nearly settles the picture: a small denoiser cannot tell a faint
    layout from the noise, and would draw blobs while it hesitates between layouts."""
    fw, fh = scene.aspect
    shrink = 0.92 if sum(g.count for g in scene.groups) == 3 else 1.0
    for attempt in range(tries):
        stray = TIGHT if attempt < 2 else 1.0
        centres = _centres(scene, rng, stray, packed=attempt == 1)
        if scene.arrangement == "between":  # group 0 stands between 1 and 2
            centres = [centres[1], centres[0], centres[2]]
        objects, i = [], 0
        for g, group in enumerate(scene.groups):
            low, high = SIZES[group.size]
            r = ((low + high) / 2 + (rng.random() - 0.5) * (high - low) * stray) * shrink
            for _ in range(group.count):
                x, y = centres[i]
                i += 1
                objects.append(Placed(g, group.shape, group.colour, x, y, r))
        if scene.arrangement == "beside":
            _pull_together(objects, rng, stray)
        if all(_inside(o, fw, fh) for o in objects) and all(
            _apart(a, b) for i, a in enumerate(objects) for b in objects[i + 1 :]
        ):
            if _arrangement_shows(scene, objects):
                scene.objects = objects
                return True
    return False


def _centres(scene, rng, stray, packed=False):
    """Candidate centres, one per object, in group order. "free" stands as it is read: from left to right. `packed`: objects
    of a line have equal gaps instead of fixed places, which large ones may not fit."""
    fw, fh = scene.aspect
    counts = [g.count for g in scene.groups]
    n = sum(counts)
    jitter = lambda v, spread=0.035: v + rng.gauss(0, spread) * stray  # noqa: E731

    if scene.arrangement == "centre":
        return [(jitter(fw / 2), jitter(fh / 2))]
    if scene.arrangement == "at":
        i, j = scene.place
        [group] = scene.groups
        x, y = (SIZES[group.size][1] * e + MARGIN for e in EXTENT[group.shape])
        centre = min(max(fw * (0.5 + 0.27 * i), x), fw - x), min(max(fh * (0.5 + 0.27 * j), y), fh - y)
        return [(jitter(centre[0], 0.02), jitter(centre[1], 0.02))]
    if scene.arrangement in ("row", "column", "between") or (scene.arrangement == "free" and len(counts) != 2):
        across = scene.arrangement != "column"
        level = jitter((fh if across else fw) / 2, 0.05)
        stops = _packed(scene, across) if packed else {2: (0.28, 0.72), 3: (0.175, 0.5, 0.825)}[n]
        if across:
            return [(jitter(fw * s, 0.02), jitter(level, 0.02)) for s in stops]
        return [(jitter(level, 0.02), jitter(fh * s, 0.02)) for s in stops]

    # Two groups, each a cluster around a centre of its own; a cluster of two stands across the relation's axis.
    level = jitter(0, 0.05)
    centres = []
    for g, count in enumerate(counts):
        side = jitter(0.255 if g == 0 else 0.745, 0.03)
        off = jitter(0, 0.04) + level
        group = scene.groups[g]
        reach = EXTENT[group.shape][0 if scene.arrangement == "above" else 1] * SIZES[group.size][1]
        apart = max(0.15 if scene.arrangement == "beside" else 0.2, reach + GAP / 2 + 0.002)
        spread = [0.0] if count == 1 else [-jitter(apart, 0.03), jitter(apart, 0.03)]
        for s in spread:
            if scene.arrangement == "above":
                centres.append((fw / 2 + off + s * fw, fh * side))
            else:
                centres.append((fw * side, fh / 2 + off + s * fh))
    return centres


def _packed(scene, across):
    """Centres, as parts of the frame's side, of objects with equal gaps between them and around them."""
    side = scene.aspect[0 if across else 1]
    groups = [g for g in scene.groups for _ in range(g.count)]
    if scene.arrangement == "between":
        groups = [groups[1], groups[0], groups[2]]
    reaches = [EXTENT[g.shape][0 if across else 1] * SIZES[g.size][1] for g in groups]
    gap = (side - 2 * sum(reaches)) / (len(groups) + 1)
    starts = [sum(2 * r + gap for r in reaches[:i]) + gap for i in range(len(groups))]
    return [(start + r) / side for start, r in zip(starts, reaches)]


def _pull_together(objects, rng, stray):
    """ "Beside": group 0 close to the left of group 1, at the same height."""
    lefts = [o for o in objects if o.group == 0]
    rights = [o for o in objects if o.group == 1]
    middle = sum(o.x for o in objects) / len(objects)
    reach = lambda o: EXTENT[o.shape][0] * o.r  # noqa: E731
    gap = 0.08 + rng.uniform(-0.03, 0.03) * stray
    # the gap's place is chosen so that the whole stands around `middle`
    edge = middle + (max(map(reach, lefts)) - max(map(reach, rights)))
    for o in lefts:
        o.x = edge - gap / 2 - reach(o)
    for o in rights:
        o.x = edge + gap / 2 + reach(o)


def _inside(o, fw, fh):
    hw, hh = EXTENT[o.shape]
    mx, my = hw * o.r + MARGIN, hh * o.r + MARGIN
    return mx <= o.x <= fw - mx and my <= o.y <= fh - my


def _apart(a, b):
    (aw, ah), (bw, bh) = EXTENT[a.shape], EXTENT[b.shape]
    return abs(a.x - b.x) >= aw * a.r + bw * b.r + GAP or abs(a.y - b.y) >= ah * a.r + bh * b.r + GAP


def _arrangement_shows(scene, objects):
    if scene.arrangement not in ("left", "above", "beside"):
        return True
    for a in (o for o in objects if o.group == 0):
        for b in (o for o in objects if o.group == 1):
            dx, dy = b.x - a.x, b.y - a.y
            if scene.arrangement == "left" and not (dx > 0.18 and dx > 1.1 * abs(dy)):
                return False
            if scene.arrangement == "above" and not (dy > 0.18 and dy > 1.1 * abs(dx)):
                return False
    return True


# ---------------------------------------------------------------- rendering


def signed_distance(shape, x, y, r):
    """Signed distance (negative inside) to a shape of radius r whose bounding box is centred on the origin; y down."""
    if shape == "circle":
        return np.hypot(x, y) - r
    if shape == "ring":
        return np.abs(np.hypot(x, y) - 0.83 * r) - 0.22 * r
    if shape == "square":
        return np.maximum(np.abs(x), np.abs(y)) - 0.9 * r
    if shape == "diamond":
        return (np.abs(x) + np.abs(y) - 1.2 * r) / math.sqrt(2)
    if shape == "cross":
        ax, ay, long, thick = np.abs(x), np.abs(y), 1.05 * r, 0.37 * r
        return np.minimum(np.maximum(ax - long, ay - thick), np.maximum(ax - thick, ay - long))
    if shape == "triangle":
        big = 1.2 * r
        y = y - big / 4
        return np.maximum(y - big / 2, np.abs(x) * (math.sqrt(3) / 2) - y / 2 - big / 2)
    if shape == "star":
        big, small = 1.25 * r, 0.48 * 1.25 * r
        y = y - big * (1 - math.cos(math.radians(36))) / 2
        fifth = 2 * math.pi / 5
        angle = np.abs(np.mod(np.arctan2(x, -y) + fifth / 2, fifth) - fifth / 2)
        radius = np.hypot(x, y)
        px, py = radius * np.cos(angle), radius * np.sin(angle)
        ex, ey = small * math.cos(fifth / 2) - big, small * math.sin(fifth / 2)  # from the tip to the notch
        return ((px - big) * ey - py * ex) / math.hypot(ex, ey)
    if shape == "heart":  # a square on its corner with two half discs; unit size: 1.2071 wide, 1.1036 high
        s = 1.1 * r / 0.60355
        x, y = np.abs(x) / s, 0.5518 - y / s
        round_part = np.hypot(x - 0.25, y - 0.75) - math.sqrt(2) / 4
        t = 0.5 * np.maximum(x + y, 0)
        straight = np.sqrt(np.minimum(x**2 + (y - 1) ** 2, (x - t) ** 2 + (y - t) ** 2)) * np.sign(x - y)
        return s * np.where(x + y > 1, round_part, straight)
    raise ValueError(shape)


def render(scene, width=256, height=256):
    """uint8 picture [height, width, 3]; edges are anti-aliased over one pixel."""
    unit = min(width, height)
    ground = [np.array(PALETTE[c], np.float32) for c in scene.background.colours]
    picture = np.empty((height, width, 3), np.float32)
    picture[:] = ground[0]
    if scene.background.kind == "rows":
        picture[height // 2 :] = ground[1]
    elif scene.background.kind == "columns":
        picture[:, width // 2 :] = ground[1]
    for o in scene.objects:
        cx, cy, r = o.x * unit, o.y * unit, o.r * unit
        hw, hh = (e * r + 2 for e in EXTENT[o.shape])
        x0, x1 = max(0, int(cx - hw)), min(width, int(cx + hw) + 1)
        y0, y1 = max(0, int(cy - hh)), min(height, int(cy + hh) + 1)
        x = np.arange(x0, x1, dtype=np.float32)[None, :] + (0.5 - cx)
        y = np.arange(y0, y1, dtype=np.float32)[:, None] + (0.5 - cy)
        cover = np.clip(0.5 - signed_distance(o.shape, x, y, r), 0, 1)[..., None]
        patch = picture[y0:y1, x0:x1]
        patch += cover * (np.array(PALETTE[o.colour], np.float32) - patch)
    return np.rint(picture).astype(np.uint8)


def aspect_of(width, height):
    unit = min(width, height)
    return (width / unit, height / unit)


if __name__ == "__main__":  # a contact sheet of random scenes
    import sys

    from PIL import Image

    rng = random.Random(1)
    rows = [np.concatenate([render(sample_scene(rng)) for _ in range(8)], 1) for _ in range(6)]
    Image.fromarray(np.concatenate(rows, 0)).save(sys.argv[1])

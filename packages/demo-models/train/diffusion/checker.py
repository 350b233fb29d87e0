"""Does a picture show what its spec says? Plain geometry, no learning; written to be easily rewritten in TypeScript.

1. Labels. Every pixel gets the nearest palette colour (squared RGB distance), or UNKNOWN where the nearest is more than
   MAX_DISTANCE away.
2. Background. Four strips along the picture's edges, 2 % of the shorter side (at least 2 pixels) thick, each cut in two
   halves: 8 half strips. The majority label of each half strip is taken. All 8 equal: plain. The upper half of the left
   and right strips and the top strip one colour, the rest another: "rows". Likewise "columns". Anything else: null.
   A majority must hold 80 % of its half strip (objects keep away from the frame).
3. Objects. Connected components (4 neighbours, equal label) among pixels whose label is not a background colour. A
   component's core is its pixels whose eight neighbours have the same label; components with a core under MIN_CORE of
   the picture are the fringes that anti-aliasing leaves between two colours, and are dropped.
4. Shape. The component's mask is read on a 32x32 grid stretched over its bounding box (pixel floor((i+0.5)/32*width)) and
   compared with each shape's template by intersection over union; the best wins if it reaches MIN_IOU and the
   bounding box's width/height is within 25 % of the template's.
5. Size. From the box: the mean over both axes of (side / 2 / the template's half extent for radius 1), in units of the
   picture's shorter side: small under 0.1, large from 0.157, else medium.
6. Match. The spec's groups give slots (a group of two gives two). With as many objects as slots, every assignment of
   objects to slots is tried, and the best is kept: most colours right, then most shapes right, then relation right.
7. Relation, from box centres, in units of the shorter side:
   left: every object of group 0 has x at least 0.05 less than every object of group 1, and |dx| > 0.7 |dy|; above: likewise
   in y. row: x increases from group to group (a row of one group: all |dy| < |dx| for neighbours in x). column: likewise
   in y. beside: |dx| > |dy| between the groups' mean positions. between: group 0 between the others in x or in y. at: the object's
   centre lies in the stated third of the picture (limits at 0.38 and 0.62).

A spec's null means "not stated": anything well-formed is right. Groups with a null count ask only that each stated
colour is there.
"""

import itertools
import json
from pathlib import Path

import numpy as np

import scenes

UNKNOWN = len(scenes.COLOURS)
MAX_DISTANCE = 64
MIN_CORE = 0.0008
MIN_IOU = 0.75
GRID = 32
PALETTE = np.array([scenes.PALETTE[c] for c in scenes.COLOURS], np.int32)
TEMPLATE_FILE = Path(__file__).parent / "eval" / "templates.json"


def label_pixels(picture):
    difference = picture[:, :, None, :].astype(np.int32) - PALETTE
    distance = (difference * difference).sum(-1)
    labels = distance.argmin(-1)
    labels[distance.min(-1) > MAX_DISTANCE**2] = UNKNOWN
    return labels


def find_background(labels):
    height, width = labels.shape
    t = max(2, round(0.02 * min(height, width)))
    mh, mw = height // 2, width // 2
    strips = {
        "top left": labels[:t, :mw], "top right": labels[:t, mw:],
        "bottom left": labels[-t:, :mw], "bottom right": labels[-t:, mw:],
        "left top": labels[:mh, :t], "left bottom": labels[mh:, :t],
        "right top": labels[:mh, -t:], "right bottom": labels[mh:, -t:],
    }  # fmt: skip
    major = {}
    for name, strip in strips.items():
        counts = np.bincount(strip.ravel(), minlength=UNKNOWN + 1)
        best = int(counts.argmax())
        if best == UNKNOWN or counts[best] < 0.8 * strip.size:
            return None
        major[name] = best
    colour = lambda *names: {major[n] for n in names}  # noqa: E731
    if len(set(major.values())) == 1:
        return {"kind": "plain", "colours": [scenes.COLOURS[major["top left"]]]}
    for kind, first, second in (
        ("rows", ("top left", "top right", "left top", "right top"), ("bottom left", "bottom right", "left bottom", "right bottom")),
        ("columns", ("top left", "bottom left", "left top", "left bottom"), ("top right", "bottom right", "right top", "right bottom")),
    ):  # fmt: skip
        a, b = colour(*first), colour(*second)
        if len(a) == 1 and len(b) == 1:
            return {"kind": kind, "colours": [scenes.COLOURS[a.pop()], scenes.COLOURS[b.pop()]]}
    return None


def components(labels, ignored):
    """Connected components as (label, mask, x0, y0), the mask cut to the bounding box, largest first."""
    height, width = labels.shape
    runs, parent = [], []  # a run: row, first column, end column, label

    def root(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    previous = []
    for y in range(height):
        row = labels[y]
        edges = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist(), width]
        current = []
        for a, b in zip(edges, edges[1:]):
            label = int(row[a])
            if label in ignored:
                continue
            i = len(runs)
            runs.append((y, a, b, label))
            parent.append(i)
            for j in previous:
                _, c, d, other = runs[j]
                if other == label and a < d and c < b:
                    parent[root(j)] = root(i)
            current.append(i)
        previous = current
    members = {}
    for i in range(len(runs)):
        members.setdefault(root(i), []).append(runs[i])
    found = []
    for group in members.values():
        x0, x1 = min(r[1] for r in group), max(r[2] for r in group)
        y0, y1 = group[0][0], group[-1][0] + 1
        mask = np.zeros((y1 - y0, x1 - x0), bool)
        for y, a, b, _ in group:
            mask[y - y0, a - x0 : b - x0] = True
        found.append((group[0][3], mask, x0, y0))
    return sorted(found, key=lambda c: -int(c[1].sum()))


def core_area(mask):
    """How many pixels have all eight neighbours in the mask."""
    if min(mask.shape) < 3:
        return 0
    h, w = mask.shape
    core = np.ones((h - 2, w - 2), bool)
    for dy in range(3):
        for dx in range(3):
            core &= mask[dy : dy + h - 2, dx : dx + w - 2]
    return int(core.sum())


def on_grid(mask):
    h, w = mask.shape
    steps = (np.arange(GRID) + 0.5) / GRID
    return mask[np.floor(steps * h).astype(int)][:, np.floor(steps * w).astype(int)]


def make_templates():
    """The eight shapes' masks and extents, from exact renders; written for the TypeScript checker."""
    templates = {}
    for shape in scenes.SHAPES:
        scene = scenes.Scene(scenes.Background("plain", ["white"]), [], "centre")
        scene.objects = [scenes.Placed(0, shape, "black", 0.5, 0.5, 0.3)]
        labels = label_pixels(scenes.render(scene, 512, 512))
        _, mask, _, _ = components(labels, {scenes.COLOURS.index("white")})[0]
        rows = ["".join(".#"[v] for v in row) for row in on_grid(mask).astype(int)]
        templates[shape] = {"half_width": scenes.EXTENT[shape][0], "half_height": scenes.EXTENT[shape][1], "rows": rows}
    return templates


def load_templates():
    if not TEMPLATE_FILE.exists():
        TEMPLATE_FILE.write_text(json.dumps(make_templates(), indent=1) + "\n")
    data = json.loads(TEMPLATE_FILE.read_text())
    return {s: (np.array([[c == "#" for c in row] for row in t["rows"]]), t["half_width"], t["half_height"]) for s, t in data.items()}


TEMPLATES = load_templates()


def classify(mask):
    """(shape or None, best intersection over union)."""
    grid = on_grid(mask)
    scores = {s: (grid & t).sum() / (grid | t).sum() for s, (t, _, _) in TEMPLATES.items()}
    best = max(scores, key=scores.get)
    _, half_width, half_height = TEMPLATES[best]
    stretch = (mask.shape[1] / mask.shape[0]) / (half_width / half_height)
    if scores[best] < MIN_IOU or not 0.8 < stretch < 1.25:
        return None, float(scores[best])
    return best, float(scores[best])


def analyse(picture):
    """What is in the picture: {"background": ..., "objects": [...]}."""
    labels = label_pixels(picture)
    height, width = labels.shape
    unit = min(height, width)
    background = find_background(labels)
    if background:
        ignored = {scenes.COLOURS.index(c) for c in background["colours"]}
    else:
        ignored = {int(np.bincount(labels.ravel()).argmax())}
    objects = []
    for label, mask, x0, y0 in components(labels, ignored):
        if core_area(mask) < MIN_CORE * height * width:
            continue
        shape, score = classify(mask)
        size = None
        if shape:
            _, hw, hh = TEMPLATES[shape]
            radius = (mask.shape[1] / hw + mask.shape[0] / hh) / 4 / unit
            size = "small" if radius < 0.1 else "medium" if radius < 0.157 else "large"
        objects.append(
            {
                "colour": scenes.COLOURS[label] if label != UNKNOWN else None,
                "shape": shape,
                "size": size,
                "x": (x0 + mask.shape[1] / 2) / unit,
                "y": (y0 + mask.shape[0] / 2) / unit,
                "score": round(score, 3),
            }
        )
    return {"background": background, "objects": objects, "width": width / unit, "height": height / unit}


def background_right(found, wanted):
    if found is None or wanted is None:
        return found is not None
    if wanted["kind"] == "split":  # two tones, direction not stated
        return found["kind"] != "plain" and sorted(found["colours"]) == sorted(wanted["colours"])
    return found["kind"] == wanted["kind"] and found["colours"] == wanted["colours"]


def relation_right(relation, slots, frame):
    """slots: [(group index, object)]."""
    if relation is None:
        return True
    kind = relation["kind"]
    groups = [[o for g, o in slots if g == i] for i in range(1 + max(g for g, _ in slots))]
    if kind == "at":
        o, (i, j) = groups[0][0], relation["place"]
        third = lambda v: -1 if v < 0.38 else 1 if v > 0.62 else 0  # noqa: E731
        return third(o["x"] / frame[0]) == i and third(o["y"] / frame[1]) == j
    if kind in ("left", "above"):
        main, cross = ("x", "y") if kind == "left" else ("y", "x")
        return all(
            b[main] - a[main] > 0.05 and b[main] - a[main] > 0.7 * abs(b[cross] - a[cross]) for a in groups[0] for b in groups[1]
        )
    if kind == "beside":
        mean = lambda group, k: sum(o[k] for o in group) / len(group)  # noqa: E731
        a, b = groups
        return abs(mean(a, "x") - mean(b, "x")) > abs(mean(a, "y") - mean(b, "y"))
    if kind == "between":
        a, b, c = (g[0] for g in groups)
        return any(min(b[k], c[k]) < a[k] < max(b[k], c[k]) for k in "xy")
    main, cross = ("x", "y") if kind == "row" else ("y", "x")
    line = [o for g in groups for o in g]
    if len(groups) == 1:  # alike objects: any order
        line.sort(key=lambda o: o[main])
    return all(b[main] - a[main] > abs(b[cross] - a[cross]) for a, b in zip(line, line[1:]))


def check(picture, spec):
    """{"background", "colours", "shapes", "relation", "sizes", "all", "found"}; all but the last are booleans."""
    found = analyse(picture)
    frame = (found["width"], found["height"])
    result = {"background": background_right(found["background"], spec["background"])}
    objects = found["objects"]
    if any(g["count"] is None for g in spec["groups"]):  # a sentence that states no scene
        well_formed = 1 <= len(objects) <= 3 and all(o["colour"] for o in objects)
        stated = {g["colour"] for g in spec["groups"]} - {None}
        result["colours"] = well_formed and stated <= {o["colour"] for o in objects}
        result["shapes"] = well_formed and all(o["shape"] for o in objects)
        result["relation"] = result["sizes"] = True
    else:
        slots = [(i, g) for i, g in enumerate(spec["groups"]) for _ in range(g["count"])]
        best = (False, False, False, False)
        if len(objects) == len(slots):
            best_key = None
            for order in itertools.permutations(objects):
                agree = lambda key: sum(g[key] in (None, o[key]) and o[key] is not None for (_, g), o in zip(slots, order))  # noqa: E731
                colours, shapes, sizes = agree("colour"), agree("shape"), agree("size")
                relation = relation_right(spec["relation"], [(i, o) for (i, _), o in zip(slots, order)], frame)
                key = (colours, shapes, relation, sizes)
                if best_key is None or key > best_key:
                    best_key = key
                    best = (colours == len(slots), shapes == len(slots), relation, sizes == len(slots))
        result["colours"], result["shapes"], result["relation"], result["sizes"] = best
    result["all"] = all(result[k] for k in ("background", "colours", "shapes", "relation"))
    result["found"] = found
    return result


def render_templates_again():
    TEMPLATE_FILE.write_text(json.dumps(make_templates(), indent=1) + "\n")


if __name__ == "__main__":  # the checker must accept exact renders of what captions state
    import random

    import grammar

    for width, height in ((256, 256), (192, 192), (384, 256), (512, 512)):
        rng = random.Random(f"checker {width} {height}")
        totals, count = {}, 1000 if width == 256 else 200
        for _ in range(count):
            scene = scenes.sample_scene(rng, scenes.aspect_of(width, height))
            spec = grammar.caption(scene, rng).spec
            result = check(scenes.render(scene, width, height), spec)
            for key in ("background", "colours", "shapes", "relation", "sizes", "all"):
                totals[key] = totals.get(key, 0) + result[key]
            if not result["all"] and width == 256:
                print("rejected:", spec, result)
        print(f"{width}x{height}", {k: f"{v / count:.1%}" for k, v in totals.items()})

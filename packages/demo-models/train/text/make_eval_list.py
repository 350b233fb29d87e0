"""Writes eval/heldout.json: captions of scenes that are not in the training data, and what a good model makes of them.

    python3 make_eval_list.py

Each caption has another caption of the same scene (`near`), one of a very different scene (`far`), and one word under a mask. Plurals are
never masked: most of them are two tokens, and a mask stands for one.
"""

import json
import random
import re
from pathlib import Path

import numpy as np

from corpus import features, grammar, is_several, scenes

CAPTIONS = 200
FAR = 0.35  # the largest cosine of the features of two very different scenes
KINDS = {
    "shape": {pair[0] for pairs in (*grammar.SHAPE_WORDS.values(), grammar.ANY_SHAPE) for pair in pairs},
    "colour": {word for words in grammar.COLOUR_WORDS.values() for word in words},
    "size": {word for words in grammar.SIZE_WORDS.values() for word in words},
}
USUAL = {
    "shape": {pairs[0][0] for pairs in grammar.SHAPE_WORDS.values()},
    "colour": {words[0] for words in grammar.COLOUR_WORDS.values()},
    "size": {words[0] for words in grammar.SIZE_WORDS.values()},
}  # fmt: skip


def mask(text, rng):
    """The text with one usual word of a kind under a mask; None when it has none."""
    found = [(match, kind) for match in re.finditer(r"[a-z]+", text.lower()) for kind in USUAL if match[0] in USUAL[kind]]
    if not found:
        return None
    match, kind = rng.choice(found)
    return dict(masked=f"{text[: match.start()]}[MASK]{text[match.end() :]}", word=match[0], kind=kind)


def main():
    rng = random.Random(11)
    pool = [scenes.sample_scene(rng, held=True) for _ in range(CAPTIONS * 2)]
    vectors = np.stack([features(scene) for scene in pool])
    rows = []
    for i, scene in enumerate(pool):
        text, near = (grammar.caption(scene, rng, complete=True).text for _ in range(2))
        far = [j for j in range(len(pool)) if vectors[i] @ vectors[j] < FAR]
        masked = mask(text, rng)
        if masked and far and near != text and len(rows) < CAPTIONS:
            other = grammar.caption(pool[rng.choice(far)], rng, complete=True).text
            rows.append(dict(text=text, several=is_several(scene), near=near, far=other, **masked))
    value = dict(kinds={kind: sorted(words) for kind, words in KINDS.items()}, captions=rows)
    path = Path(__file__).parent / "eval" / "heldout.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
    print(len(rows), "captions")


if __name__ == "__main__":
    main()

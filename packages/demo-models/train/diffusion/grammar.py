"""Captions for scenes: many ways, in English and some Spanish, to say what a picture shows.

`caption(scene, rng)` returns a Caption: the text, the spec (what the text states about the picture; null where it
states nothing), and for each piece of the text the tag of what it talks about: the index of a group of objects,
GROUND for the background, or None. The tags teach the text encoder which adjective belongs to which noun.

The tokenizer lower-cases, so capitals need no care here.
"""

import random
from dataclasses import dataclass
from pathlib import Path

GROUND = "ground"

COLOUR_WORDS = {  # the first word is the usual one
    "red": ["red", "crimson", "scarlet", "ruby", "cherry red"],
    "orange": ["orange", "tangerine", "amber"],
    "yellow": ["yellow", "golden", "lemon yellow", "gold"],
    "green": ["green", "emerald", "lime", "forest green"],
    "cyan": ["cyan", "teal", "turquoise", "aqua"],
    "blue": ["blue", "navy", "azure", "sapphire", "royal blue"],
    "purple": ["purple", "violet", "indigo", "lilac"],
    "pink": ["pink", "rose", "magenta", "salmon pink"],
    "brown": ["brown", "chocolate", "chestnut", "tan"],
    "white": ["white", "ivory", "snow white", "cream white"],
    "gray": ["gray", "grey", "silver"],
    "black": ["black", "ebony", "jet black"],
}
SHAPE_WORDS = {  # singular, plural
    "circle": [("circle", "circles"), ("disc", "discs"), ("disk", "disks"), ("ball", "balls"), ("dot", "dots")],
    "square": [("square", "squares"), ("box", "boxes"), ("block", "blocks")],
    "triangle": [("triangle", "triangles"), ("pyramid", "pyramids")],
    "star": [("star", "stars"), ("five-pointed star", "five-pointed stars"), ("starlet", "starlets")],
    "ring": [("ring", "rings"), ("donut", "donuts"), ("hoop", "hoops"), ("doughnut", "doughnuts")],
    "heart": [("heart", "hearts"), ("love heart", "love hearts")],
    "diamond": [("diamond", "diamonds"), ("rhombus", "rhombuses"), ("lozenge", "lozenges")],
    "cross": [("cross", "crosses"), ("plus", "pluses"), ("plus sign", "plus signs")],
}
ANY_SHAPE = [("thing", "things"), ("shape", "shapes"), ("object", "objects"), ("figure", "figures")]
SIZE_WORDS = {
    "small": ["small", "tiny", "little", "mini"],
    "medium": ["medium", "medium-sized", "mid-sized"],
    "large": ["large", "big", "huge", "giant", "great"],
}
COUNT_WORDS = {2: ["two", "two", "two", "2", "a pair of", "a couple of"], 3: ["three", "three", "3", "a trio of"]}
LEFT = ["to the left of", "left of", "on the left of", "on the left side of", "at the left of"]
RIGHT = ["to the right of", "right of", "on the right of", "on the right side of", "at the right of"]
ABOVE = ["above", "over", "on top of", "higher than", "atop"]
BELOW = ["below", "under", "beneath", "underneath", "lower than"]
BESIDE = ["next to", "beside", "alongside", "by", "right next to", "close to"]
AT = {
    (0, 0): ["in the middle", "in the center", "in the centre", "at the center"],
    (-1, 0): ["on the left", "at the left", "on the left side"],
    (1, 0): ["on the right", "at the right", "on the right side"],
    (0, -1): ["at the top", "near the top", "in the upper part"],
    (0, 1): ["at the bottom", "near the bottom", "in the lower part"],
    (-1, -1): ["in the top left corner", "at the top left", "in the upper left corner"],
    (1, -1): ["in the top right corner", "at the top right", "in the upper right corner"],
    (-1, 1): ["in the bottom left corner", "at the bottom left", "in the lower left corner"],
    (1, 1): ["in the bottom right corner", "at the bottom right", "in the lower right corner"],
}
OPENERS = [
    "a picture of", "an image of", "a drawing of", "an illustration of", "a photo of", "a painting of", "a poster with",
    "a simple picture with", "draw", "please draw", "paint", "show me", "i want", "i would like", "give me", "there is",
    "can you draw", "make a picture of", "a minimalist illustration of", "vector art of", "create", "generate",
    "let us see", "imagine", "a scene with", "now draw", "could you please paint", "here is",
]  # fmt: skip
CLOSERS = [
    "please", "thanks", "thank you", "in flat style", "digital art", "high quality", "flat design", "minimalism",
    "clean vector art", "simple", "very detailed", "4k", "as a poster", "nothing else", "for my friend", "today",
]  # fmt: skip
NOT_EVERYDAY = {
    "left", "right", "above", "below", "under", "over", "between", "middle", "top", "corner", "two", "three", "pair",
    "near", "beside", *(w for words in (*COLOUR_WORDS.values(), *SIZE_WORDS.values()) for w in words),
    *(w for words in SHAPE_WORDS.values() for pair in words for w in pair),
}  # fmt: skip
EVERYDAY = [w for w in (Path(__file__).parent / "words.txt").read_text().split() if w not in NOT_EVERYDAY]
EVERYDAY_ENGLISH = EVERYDAY[: EVERYDAY.index("zoo") + 1]
SHADES = ["bright", "dark", "light", "deep", "pale", "vivid", "soft"]  # said, but of no effect

# ---- Spanish: colours as (masculine, feminine, plural endings follow), shapes with their gender
ES_COLOUR = {
    "red": [("rojo", "roja")], "orange": [("naranja", "naranja"), ("anaranjado", "anaranjada")],
    "yellow": [("amarillo", "amarilla")], "green": [("verde", "verde")],
    "cyan": [("cian", "cian"), ("turquesa", "turquesa")], "blue": [("azul", "azul")],
    "purple": [("morado", "morada"), ("violeta", "violeta")], "pink": [("rosa", "rosa"), ("rosado", "rosada")],
    "brown": [("marrón", "marrón"), ("café", "café")], "white": [("blanco", "blanca")],
    "gray": [("gris", "gris")], "black": [("negro", "negra")],
}  # fmt: skip
ES_SHAPE = {
    "circle": [("círculo", "m"), ("disco", "m"), ("bola", "f")], "square": [("cuadrado", "m"), ("cuadro", "m")],
    "triangle": [("triángulo", "m")], "star": [("estrella", "f")], "ring": [("anillo", "m"), ("aro", "m")],
    "heart": [("corazón", "m")], "diamond": [("rombo", "m"), ("diamante", "m")], "cross": [("cruz", "f")],
}  # fmt: skip
ES_SIZE = {"small": [("pequeño", "pequeña")], "medium": [("mediano", "mediana")], "large": [("grande", "grande")]}
ES_RELATION = {
    "left": ["a la izquierda de"], "right": ["a la derecha de"], "above": ["encima de", "arriba de"],
    "below": ["debajo de", "bajo", "abajo de"], "beside": ["al lado de", "junto a"],
}  # fmt: skip
ES_PLURAL = {"cruz": "cruces", "corazón": "corazones", "marrón": "marrones", "café": "cafés"}


@dataclass
class Caption:
    text: str
    spec: dict
    pieces: list  # [(text, tag)]; the text is the pieces joined by spaces, punctuation drawn to the left


# ---------------------------------------------------------------- small helpers


def pick(rng, words, usual=0.6):
    """Mostly the first, usual word; otherwise any of the others."""
    if len(words) == 1 or rng.random() < usual:
        return words[0]
    return rng.choice(words[1:])


def an(words):
    return "an" if words[0] in "aeiou" else "a"


def join(pieces):
    text = ""
    for piece, _ in pieces:
        if piece[0] in ",.!?:;":
            text += piece
        else:
            text += (" " if text else "") + piece
    return text


def _plain(text):
    """Spanish without its accents, as many people type it."""
    return text.translate(str.maketrans("áéíóúñ", "aeioun"))


# ---------------------------------------------------------------- English noun phrases


class English:
    def __init__(self, rng):
        self.rng = rng
        # One speaker mostly keeps to usual words, another likes synonyms.
        self.usual = rng.choice([1.0, 0.75, 0.5])
        self.articles = rng.random() < 0.88

    def colour(self, colour):
        word = pick(self.rng, COLOUR_WORDS[colour], self.usual)
        if self.rng.random() < 0.04:
            word = f"{self.rng.choice(SHADES)} {word}"
        return word

    def determiner(self, words, definite=False):
        if not self.articles:
            return ""
        return "the " if definite else f"{an(words)} "

    def objects(self, group, spec, bare=False):
        """ "a small red circle", in one of several orders; `spec` says which properties are mentioned."""
        rng = self.rng
        many = group.count > 1
        noun = (
            pick(rng, SHAPE_WORDS[group.shape], self.usual)[many]
            if spec["shape"]
            else rng.choice(ANY_SHAPE)[many]
            if rng.random() < 0.5
            else rng.choice(EVERYDAY_ENGLISH)
        )
        size = pick(rng, SIZE_WORDS[group.size], self.usual) if spec["size"] else None
        colour = self.colour(group.colour) if spec["colour"] else None
        style = rng.random()
        after = ""
        if colour and style < 0.05:
            after, colour = rng.choice([f"that {'are' if many else 'is'} {colour}", f"in {colour}"]), None
        elif colour and style < 0.07:
            colour = rng.choice([f"{colour}-colored", f"{colour} colored", f"{colour} coloured"])
        adjectives = [w for w in (size, colour) if w]
        if len(adjectives) == 2 and rng.random() < 0.1:
            adjectives.reverse()
        phrase = " ".join([*adjectives, noun, *([after] if after else [])])
        if many:
            phrase = f"{rng.choice(COUNT_WORDS[group.count])} {phrase}"
        elif not bare:
            phrase = self.determiner(phrase, definite=rng.random() < 0.05) + phrase
        return phrase

    # ---- backgrounds

    def ground(self, background):
        """A background phrase that can follow or precede the objects."""
        rng = self.rng
        a = self.colour(background.colours[0])
        if background.kind == "plain":
            word = pick(rng, ["background", "backdrop", "canvas", "ground"], 0.75)
            plain = rng.choice(["", "", "", "", "plain ", "solid ", "flat "])
            det = self.determiner(plain + a)
            return rng.choices(
                [f"on {det}{plain}{a} {word}", f"on {a}", f"with {det}{plain}{a} {word}", f"against {det}{plain}{a} {word}",
                 f"in front of {det}{plain}{a} {word}", f"on top of {det}{plain}{a} {word}", f"over {det}{plain}{a} {word}",
                 f"{word} {a}", f"{plain}{a} {word}"],
                [60, 7, 10, 8, 3, 2, 3, 3, 4],
            )[0]  # fmt: skip
        b = self.colour(background.colours[1])
        if background.kind == "rows":
            return rng.choice(
                [f"on a background that is {a} above and {b} below", f"on a background that is {b} below and {a} above",
                 f"on a background {a} on top and {b} at the bottom", f"with a {a} top half and a {b} bottom half",
                 f"on a two-tone background, {a} over {b}", f"on a background that is {a} at the top and {b} at the bottom",
                 f"on a background with {a} above and {b} below", f"top half {a}, bottom half {b}",
                 f"under a {a} sky on {b} ground", f"on a {a} and {b} background, {a} above {b}"]
            )  # fmt: skip
        return rng.choice(
            [f"on a background that is {a} on the left and {b} on the right", f"with a {a} left half and a {b} right half",
             f"on a background that is {b} on the right and {a} on the left", f"left half {a}, right half {b}",
             f"on a background {a} at the left and {b} at the right",
             f"on a two-tone background, {a} on the left and {b} on the right"]
        )  # fmt: skip

    def split_without_direction(self, background):
        a, b = (self.colour(c) for c in background.colours)
        return self.rng.choice(
            [f"on a background half {a} and half {b}", f"on a half {a} half {b} background",
             f"on a two-tone background of {a} and {b}", f"on a {a} and {b} background", f"half {a}, half {b} background"]
        )  # fmt: skip

    def ground_first(self, background):
        """A background phrase that carries the rest of the sentence: "a blue background with", or None."""
        if background.kind != "plain":
            return None
        a, rng = self.colour(background.colours[0]), self.rng
        word = pick(rng, ["background", "backdrop", "canvas", "ground"], 0.75)
        return rng.choice([(f"{self.determiner(a)}{a} {word} with", rng.choice(["", "", "on it", "in front of it"])),
                           (f"{a} {word} and", ""), (f"{self.determiner(a)}{a} {word},", "")])  # fmt: skip

    # ---- relations

    def relation(self, kind):
        return pick(self.rng, {"left": LEFT, "right": RIGHT, "above": ABOVE, "below": BELOW, "beside": BESIDE}[kind], 0.5)

    def at(self, place):
        return self.rng.choice(AT[place])

    def listing(self, names):
        """Objects with no stated relation."""
        if len(names) == 2:
            return [names[0], (self.rng.choice(["and", "and", "and", "with", "plus"]), None), names[1]]
        return [names[0], (",", None), names[1], (self.rng.choice([", and", "and", "and"]), None), names[2]]

    def line(self, arrangement, names):
        """Three objects in a row or column, or the first between the others; None: no such way to say it."""
        rng = self.rng
        if arrangement == "between":
            return [names[0], ("between", None), names[1], ("and", None), names[2]]
        one, two = ("left", "right") if arrangement == "row" else ("top", "bottom")
        far = [("from", None), (f"{one} to {two}", None)]
        style = rng.random()
        if style < 0.35:
            return [*far, (rng.choice([":", ","]), None), *self.listing(names)]
        if style < 0.7:
            return [*self.listing(names), *far]
        kind, back = ("left", "right") if arrangement == "row" else ("above", "below")
        if style < 0.85:
            return [names[0], (self.relation(kind), None), names[1], (self.relation(kind), None), names[2]]
        return [names[2], (self.relation(back), None), names[1], (self.relation(back), None), names[0]]

    def together(self, arrangement):
        return self.rng.choice(
            {"row": ["in a row", "side by side", "next to each other", "in a horizontal line"],
             "column": ["in a column", "stacked", "one above the other", "in a vertical line"]}[arrangement]
        )  # fmt: skip

    def pair(self, arrangement, names):
        """Two groups with their relation, said from either side."""
        rng = self.rng
        a, b = names
        if arrangement == "beside":
            if rng.random() < 0.15:
                return [a, ("and", None), b, (rng.choice(["next to each other", "side by side"]), None)]
            return [a, (self.relation("beside"), None), b]
        forth, back = ("left", "right") if arrangement == "left" else ("above", "below")
        ends = ("left", "right") if arrangement == "left" else ("top", "bottom")
        style = rng.random()
        if style < 0.4:
            return [a, (self.relation(forth), None), b]
        if style < 0.7:
            return [b, (self.relation(back), None), a]
        if style < 0.76:
            return [(self.relation(forth), None), b, (rng.choice(["is", "there is", ","]), None), a]
        if style < 0.82:
            return [(self.relation(back), None), a, (rng.choice(["is", "there is", ","]), None), b]
        if style < 0.90:
            on = "on" if arrangement == "left" else "at"
            left, right = (f"{on} the {e}" for e in ends)
            if rng.random() < 0.3:
                return [(f"{right}", None), b, (rng.choice(["and", ","]), None), (left, None), a]
            return [a, (left, a[1]), ("and", None), b, (right, b[1])]
        if style < 0.95:
            if arrangement == "left":
                return [a, ("with", None), b, (rng.choice(["to its right", "on its right"]), b[1])]
            return [a, ("with", None), b, (rng.choice(["below it", "under it", "underneath"]), b[1])]
        if arrangement == "left":
            return [b, ("with", None), a, (rng.choice(["to its left", "on its left"]), a[1])]
        return [b, ("with", None), a, (rng.choice(["above it", "over it", "on top"]), a[1])]


# ---------------------------------------------------------------- Spanish


class Spanish(English):
    """The same sentences with fewer variations; nouns have genders, adjectives follow."""

    def __init__(self, rng):
        super().__init__(rng)
        self.accents = rng.random() < 0.7

    def colour(self, colour, gender="m", many=False):
        return self.inflect(pick(self.rng, ES_COLOUR[colour], 0.75), gender, many)

    def inflect(self, forms, gender, many):
        word = forms[gender == "f"]
        if many:
            word = ES_PLURAL.get(word) or word + ("s" if word[-1] in "aeio" else "es")
        return word

    def objects(self, group, spec, bare=False):
        rng, many = self.rng, group.count > 1
        word, gender = pick(rng, ES_SHAPE[group.shape], 0.8) if spec["shape"] else rng.choice([("objeto", "m"), ("figura", "f")])
        noun = self.inflect((word, word), gender, many)
        adjectives = []
        if spec["colour"]:
            adjectives.append(self.colour(group.colour, gender, many))
        if spec["size"]:
            adjectives.append(self.inflect(ES_SIZE[group.size][0], gender, many))
        if rng.random() < 0.3:
            adjectives.reverse()
        phrase = " ".join([noun, *adjectives])
        if many:
            return f"{ {2: rng.choice(['dos', 'dos', '2']), 3: 'tres'}[group.count] } {phrase}"
        return phrase if bare or not self.articles else f"{'una' if gender == 'f' else 'un'} {phrase}"

    def ground(self, background):
        rng = self.rng
        a = self.colour(background.colours[0])
        if background.kind == "plain":
            return rng.choice([f"sobre un fondo {a}", f"sobre un fondo {a}", f"sobre fondo {a}", f"en un fondo {a}",
                               f"con fondo {a}", f"con un fondo {a}"])  # fmt: skip
        b = self.colour(background.colours[1])
        if background.kind == "rows":
            return rng.choice([f"sobre un fondo {a} arriba y {b} abajo", f"sobre un fondo {b} abajo y {a} arriba"])
        return f"sobre un fondo {a} a la izquierda y {b} a la derecha"

    def split_without_direction(self, background):
        a, b = (self.colour(c) for c in background.colours)
        return self.rng.choice([f"sobre un fondo mitad {a} y mitad {b}", f"sobre un fondo {a} y {b}"])

    def ground_first(self, background):
        if background.kind != "plain":
            return None
        return (f"un fondo {self.colour(background.colours[0])} con", "")

    def relation(self, kind):
        return self.rng.choice(ES_RELATION[kind])

    def at(self, place):
        across = {-1: "a la izquierda", 0: "", 1: "a la derecha"}[place[0]]
        down = {-1: "arriba", 0: "", 1: "abajo"}[place[1]]
        return f"{down} {across}".strip() or "en el centro"

    def listing(self, names):
        if len(names) == 2:
            return [names[0], (self.rng.choice(["y", "y", "con"]), None), names[1]]
        return [names[0], (",", None), names[1], ("y", None), names[2]]

    def line(self, arrangement, names):
        if arrangement == "between":
            return [names[0], ("entre", None), names[1], ("y", None), names[2]]
        far = [("de", None), ("izquierda a derecha" if arrangement == "row" else "arriba a abajo", None)]
        if self.rng.random() < 0.5:
            return [*far, (":", None), *self.listing(names)]
        return [*self.listing(names), *far]

    def together(self, arrangement):
        return {"row": "en fila", "column": "en columna"}[arrangement]

    def pair(self, arrangement, names):
        a, b = names
        if arrangement == "beside":
            return [a, (self.relation("beside"), None), b]
        forth, back = ("left", "right") if arrangement == "left" else ("above", "below")
        if self.rng.random() < 0.5:
            return [a, (self.relation(forth), None), b]
        return [b, (self.relation(back), None), a]


# ---------------------------------------------------------------- captions


def caption(scene, rng, complete=False):
    """A caption of the scene. `complete`: it states everything the scene is about (for evaluation prompts).

    What may be left unsaid, and then stands for: the size (middle), the relation (in the order of mention, from left to right),
    the ground (some plain colour), which halves of a ground have which colour (above, below)."""
    u = rng.random()
    if not complete and u < 0.06:
        return everyday(scene, rng)
    spanish = 0.06 < u < 0.14
    tongue = (Spanish if spanish else English)(rng)

    # What gets mentioned.
    groups = []
    for group in scene.groups:
        say_size = group.size != "medium" or rng.random() < 0.08
        groups.append(
            {
                "count": group.count,
                "shape": group.shape if complete or rng.random() > 0.03 else None,
                "colour": group.colour if complete or rng.random() > 0.04 else None,
                "size": group.size if say_size else None,
            }
        )
    say_ground = complete or scene.background.kind != "plain" or rng.random() > 0.12
    say_relation = complete or scene.arrangement not in ("left", "row") or rng.random() > 0.06

    # The objects.
    names = [(tongue.objects(g, s), i) for i, (g, s) in enumerate(zip(scene.groups, groups))]
    relation = None
    if len(names) == 1:
        pieces = list(names)
        if scene.arrangement == "at" or (scene.arrangement == "centre" and rng.random() < 0.15):
            if say_relation:
                place = scene.place if scene.arrangement == "at" else (0, 0)
                pieces.insert(0 if rng.random() < 0.1 else 1, (tongue.at(place), 0))
                relation = {"kind": "at", "place": list(place)}
        elif scene.arrangement == "column" or (scene.arrangement == "row" and (complete or rng.random() < 0.6)):
            pieces.append((tongue.together(scene.arrangement), 0))
            relation = {"kind": scene.arrangement}
    elif scene.arrangement == "free" or not say_relation:
        pieces = tongue.listing(names)
    else:
        say = tongue.pair if len(names) == 2 else tongue.line
        pieces = say(scene.arrangement, names)
        relation = {"kind": scene.arrangement}

    # The background, after or before.
    ground = None
    if say_ground:
        background = scene.background
        ground = {"kind": background.kind, "colours": background.colours}
        first = tongue.ground_first(background) if rng.random() < 0.12 else None
        if first:
            pieces = [(first[0], GROUND), *pieces, *([(first[1], None)] if first[1] else [])]
        else:
            if background.kind == "rows" and not complete and rng.random() < 0.15:
                phrase = tongue.split_without_direction(background)
                ground["kind"] = "split"
            else:
                phrase = tongue.ground(background)
            where = rng.random()
            comma = [(",", None)] if rng.random() < 0.15 else []
            if where < 0.13:
                pieces = [(phrase, GROUND), *([(",", None)] if rng.random() < 0.6 else []), *pieces]
            elif where < 0.17 and not spanish and background.kind == "plain":
                colour = tongue.colour(background.colours[0])
                pieces = [*pieces, (rng.choice([",", "."]), None), (f"the background is {colour}", GROUND)]
            else:
                pieces = [*pieces, *comma, (phrase, GROUND)]

    # What people put around it.
    u = rng.random()
    if u < 0.2 and not spanish:
        pieces.insert(0, (rng.choice(OPENERS), None))
    elif u < 0.25:
        pieces.insert(0, (" ".join(rng.choice(EVERYDAY) for _ in range(rng.randint(1, 4))), None))
    u = rng.random()
    if u < 0.1 and not spanish:
        pieces += [*([(",", None)] if rng.random() < 0.7 else []), (rng.choice(CLOSERS), None)]
    elif u < 0.14:
        pieces += [(",", None), (" ".join(rng.choice(EVERYDAY) for _ in range(rng.randint(1, 4))), None)]
    elif u < 0.17:
        pieces.insert(rng.randint(0, len(pieces)), (nonsense(rng), None))
    if rng.random() < 0.2:
        pieces.append((rng.choice([".", ".", ".", "!"]), None))
    if spanish and not tongue.accents:
        pieces = [(_plain(text), tag) for text, tag in pieces]
    spec = {"background": ground, "groups": groups, "relation": relation}
    return Caption(join(pieces), spec, pieces)


def nonsense(rng):
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(3, 9)))


def everyday(scene, rng):
    """A sentence with no scene in it. Where it has a colour, one of the objects gets that colour."""
    words = [(w, None) for w in rng.choices(EVERYDAY, k=rng.randint(2, 13))]
    groups = []
    for i, group in enumerate(scene.groups):
        groups.append({"count": None, "shape": None, "colour": None, "size": None})
    if rng.random() < 0.4:
        i = rng.randrange(len(scene.groups))
        words.insert(rng.randint(0, len(words)), (rng.choice(COLOUR_WORDS[scene.groups[i].colour]), i))
        groups[i]["colour"] = scene.groups[i].colour
    if rng.random() < 0.2:
        words.insert(rng.randint(1, len(words)), (",", None))
    if rng.random() < 0.1:
        words.insert(rng.randint(0, len(words)), (nonsense(rng), None))
    if rng.random() < 0.2:
        words.append((".", None))
    return Caption(join(words), {"background": None, "groups": groups, "relation": None}, words)


if __name__ == "__main__":  # a look at some captions
    import scenes

    generator = random.Random(1)
    for _ in range(60):
        print(caption(scenes.sample_scene(generator), generator).text)

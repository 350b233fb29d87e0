"""Where the sentences come from: random texts, exactly as they are spoken and as the model shall write them.

Style: lower case, no final period, a comma only where a comma is spoken (lists, phone numbers, time phrases).
Every sentence is `Sentence(text, language, kind, english)`; `english` is the translation of a Spanish scene, which
trains the <|translate|> task, and None where there is none.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import lexicon as lx

# The golden speech samples: their words are taught, the sentences themselves never are (the test must stay a test).
GOLDEN_TEXTS = (
    "a red circle on a blue background",
    "two green stars above a yellow square",
    "the quick brown fox jumps over the lazy dog",
    "call me at five five five, zero one nine two, before three thirty",
    "a watercolor painting of a lighthouse at dawn",
    "un círculo rojo sobre un fondo azul",
)

Rng = random.Random


@dataclass(frozen=True)
class Sentence:
    text: str
    language: str
    kind: str
    english: str | None = None


def normalise(text: str) -> str:
    """What word error rate is measured on, and how held-out sentences are recognised: words only, lower case."""
    return " ".join(re.sub(r"[^\w' ]+", " ", text.lower()).split())


def article(phrase: str) -> str:
    return ("an " if phrase[0] in "aeiou" and not phrase.startswith("one") else "a ") + phrase


# --- scenes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thing:
    count: int
    size: str | None
    modifier: str | None
    color: str | None
    shape: str


def _color(rng: Rng) -> str:
    return rng.choice(lx.PLAIN_COLORS if rng.random() < 0.65 else lx.COLORS)


def _thing(rng: Rng) -> Thing:
    return Thing(
        count=1 if rng.random() < 0.72 else rng.choice([2, 2, 3, 3, 4, 5, 6]),
        size=rng.choice(lx.SIZES) if rng.random() < 0.42 else None,
        modifier=rng.choice(lx.COLOR_MODIFIERS) if rng.random() < 0.12 else None,
        color=_color(rng) if rng.random() < 0.94 else None,
        shape=rng.choice(lx.PLAIN_SHAPES if rng.random() < 0.75 else list(lx.SHAPES)),
    )


def _thing_en(thing: Thing, rng: Rng, determiner: bool = True) -> str:
    color = f"{thing.modifier} {thing.color}" if thing.modifier and thing.color else thing.color
    parts = [thing.size, color]
    if thing.size and thing.color and rng.random() < 0.06:
        parts.reverse()
    if thing.count > 1:
        return " ".join(filter(None, [lx.DIGITS[thing.count], *parts, lx.SHAPES[thing.shape]]))
    phrase = " ".join(filter(None, [*parts, thing.shape]))
    if not determiner:
        return phrase
    return f"one {phrase}" if rng.random() < 0.05 else article(phrase)


def _background_en(rng: Rng) -> str:
    color = _color(rng)
    shade = f"{rng.choice(lx.COLOR_MODIFIERS)} {color}" if rng.random() < 0.15 else color
    preposition = rng.choice(["on", "on", "on", "over", "with", "against"])
    form = rng.random()
    if form < 0.66:
        return f"{preposition} {article(shade)} background"
    if form < 0.72:
        return f"{preposition} {article('plain ' + shade)} background"
    other = _color(rng)
    if form < 0.80:
        return f"{preposition} {article(color)} and {other} background"
    if form < 0.88:
        return f"{preposition} a two tone {color} and {other} background"
    if form < 0.94:
        return f"on a background of {color} and {other}"
    return f"{preposition} {article('half ' + color if rng.random() < 0.5 else 'striped ' + color)} and {other} background"


def _relation_en(rng: Rng) -> str:
    return rng.choice(lx.RELATIONS[:-1])


OPENERS = [
    "draw", "please draw", "show me", "paint", "paint me", "i want", "make", "i would like", "a picture of", "an image of",
    "there is", "can you draw", "give me", "put", "add", "now draw", "a drawing of", "imagine",
]  # fmt: skip


def scene_en(rng: Rng) -> str:
    things = [_thing_en(_thing(rng), rng) for _ in range(rng.choices([1, 2, 3], [0.34, 0.5, 0.16])[0])]
    background = _background_en(rng) if rng.random() < 0.55 else ""
    if len(things) == 1:
        body = things[0]
        if rng.random() < 0.1:
            body += " " + rng.choice(["on the left", "on the right", "in the middle", "in the center", "at the top", "at the bottom",
                                      "in the corner"])  # fmt: skip
    elif len(things) == 2:
        if rng.random() < 0.16:
            body = f"{things[0]} {rng.choice(['and', 'and', 'with'])} {things[1]}"
        else:
            body = f"{things[0]} {_relation_en(rng)} {things[1]}"
    else:
        form = rng.random()
        if form < 0.45:
            body = f"{things[0]}, {things[1]} and {things[2]}"
        elif form < 0.7:
            body = f"{things[0]} between {things[1]} and {things[2]}"
        else:
            body = f"{things[0]} {_relation_en(rng)} {things[1]} and {things[2]}"
    if background and rng.random() < 0.08:
        return f"{background}, {body}"
    if rng.random() < 0.16:
        body = f"{rng.choice(OPENERS)} {body}"
    return f"{body} {background}".strip()


_ES_FORM = {("m", False): 0, ("f", False): 1, ("m", True): 2, ("f", True): 3}


def _thing_pair(rng: Rng) -> tuple[str, str]:
    """The same thing in Spanish and in English."""
    shape = rng.choice(list(lx.ES_SHAPES))
    singular, plural, gender = lx.ES_SHAPES[shape]
    count = 1 if rng.random() < 0.75 else rng.choice([2, 3, 4, 5])
    form = _ES_FORM[gender, count > 1]
    color = rng.choice(list(lx.ES_COLORS)) if rng.random() < 0.94 else None
    size = rng.choice(list(lx.ES_SIZES)) if rng.random() < 0.4 else None
    head = plural if count > 1 else singular
    lead = lx.ES_NUMBERS[count] if count > 1 else ("un" if gender == "m" else "una")
    spanish = " ".join(filter(None, [lead, head, lx.ES_COLORS[color].split()[form] if color else None,
                                     lx.ES_SIZES[size].split()[form] if size else None]))  # fmt: skip
    english = _thing_en(Thing(count, size, None, color, shape), rng=Random0)
    return spanish, english


class _Never(random.Random):
    """A source of "no": keeps optional variation out of translations, which must be a function of the Spanish."""

    def random(self) -> float:
        return 0.999


Random0 = _Never()


def scene_es(rng: Rng) -> Sentence:
    spanish, english = _thing_pair(rng)
    if rng.random() < 0.6:
        other_es, other_en = _thing_pair(rng)
        if rng.random() < 0.2:
            spanish, english = f"{spanish} y {other_es}", f"{english} and {other_en}"
        else:
            relation = rng.choice(list(lx.ES_RELATIONS))
            spanish = f"{spanish} {lx.ES_RELATIONS[relation]} {other_es}"
            english = f"{english} {relation} {other_en}"
    if rng.random() < 0.6:
        color = rng.choice(list(lx.ES_COLORS))
        lead = rng.choice(["sobre", "sobre", "con", "en"])
        if rng.random() < 0.8:
            spanish += f" {lead} un fondo {lx.ES_COLORS[color].split()[0]}"
            english += f" on {article(color)} background"
        else:
            other = rng.choice(list(lx.ES_COLORS))
            spanish += f" {lead} un fondo {lx.ES_COLORS[color].split()[0]} y {lx.ES_COLORS[other].split()[0]}"
            english += f" on {article(color)} and {other} background"
    if rng.random() < 0.1:
        opener_es, opener_en = rng.choice([("dibuja", "draw"), ("quiero", "i want"), ("una imagen de", "a picture of"),
                                           ("pinta", "paint"), ("muéstrame", "show me")])  # fmt: skip
        spanish, english = f"{opener_es} {spanish}", f"{opener_en} {english}"
    return Sentence(spanish, "es", "scene", english)


# --- numbers ----------------------------------------------------------------------------------------------------


def _below_hundred(rng: Rng) -> str:
    form = rng.random()
    if form < 0.3:
        return rng.choice(lx.DIGITS)
    if form < 0.5:
        return rng.choice(lx.TEENS)
    tens = rng.choice(lx.TENS)
    return tens if rng.random() < 0.3 else f"{tens} {rng.choice(lx.DIGITS[1:])}"


def _number(rng: Rng) -> str:
    form = rng.random()
    if form < 0.6:
        return _below_hundred(rng)
    hundreds = f"{rng.choice(lx.DIGITS[1:])} {'hundred' if form < 0.9 else 'thousand'}"
    return hundreds if rng.random() < 0.35 else f"{hundreds} and {_below_hundred(rng)}"


def _clock(rng: Rng) -> str:
    hour = rng.choice(lx.DIGITS[1:] + lx.TEENS[:3])
    form = rng.random()
    if form < 0.25:
        return hour
    if form < 0.6:
        return f"{hour} {rng.choice(['ten', 'fifteen', 'twenty', 'thirty', 'thirty', 'forty', 'forty five', 'fifty'])}"
    if form < 0.75:
        return f"half past {hour}"
    if form < 0.9:
        return f"{rng.choice(['quarter', 'ten', 'five', 'twenty'])} {rng.choice(['to', 'past'])} {hour}"
    return f"{hour} {rng.choice(['in the morning', 'in the evening', 'at night'])}"


def _digits(rng: Rng, count: int) -> str:
    if rng.random() < 0.15:
        return " ".join([rng.choice(lx.DIGITS)] * count)
    return " ".join(rng.choice(lx.DIGITS) for _ in range(count))


def _phone(rng: Rng) -> str:
    groups = rng.choice([(3, 4), (3, 3), (3, 3, 4), (2, 2, 2), (4, 4), (3, 2, 2)])
    return ", ".join(_digits(rng, n) for n in groups)


def numbers_en(rng: Rng) -> str:
    thing = rng.choice(lx.THINGS)
    options = [
        lambda: f"{rng.choice(['call me at', 'call', 'my number is', 'the number is', 'dial', 'you can call us at'])} {_phone(rng)}",
        lambda: f"call me at {_phone(rng)}, {rng.choice(['before', 'after', 'at', 'around'])} {_clock(rng)}",
        lambda: f"{rng.choice(['call me', 'meet me', 'come', 'wake me', 'we start', 'the train leaves', 'be ready', 'i will be there'])} "
        f"{rng.choice(['at', 'before', 'after', 'around'])} {_clock(rng)}",
        lambda: f"it is {_clock(rng)}",
        lambda: f"{_number(rng)} {rng.choice(['dollars', 'minutes', 'days', 'years', 'people', 'miles', 'degrees', 'percent', 'pages', 'meters'])}",
        lambda: f"{_number(rng)} {rng.choice(['plus', 'minus', 'times'])} {_number(rng)} {rng.choice(['is', 'equals'])} {_number(rng)}",
        lambda: f"the {thing} costs {_number(rng)} dollars",
        lambda: f"room number {_number(rng)}",
        lambda: f"page {_number(rng)}",
        lambda: _digits(rng, rng.randint(3, 7)),
        lambda: ", ".join(rng.choices(lx.DIGITS + lx.TEENS[:3], k=rng.randint(3, 5))),
        lambda: f"chapter {_below_hundred(rng)}, page {_number(rng)}",
        lambda: f"he is {_below_hundred(rng)} years old",
        lambda: _number(rng),
    ]
    return rng.choice(options)()


# --- everyday ---------------------------------------------------------------------------------------------------


def _noun(rng: Rng, *groups: list[str]) -> str:
    noun = rng.choice(rng.choice(groups))
    form = rng.random()
    if form < 0.45:
        return noun
    if form < 0.8:
        return f"{rng.choice(lx.ADJECTIVES)} {noun}"
    if form < 0.9:
        return f"{_color(rng)} {noun}"
    return f"{rng.choice(lx.ADJECTIVES)} {_color(rng)} {noun}"


def _the(rng: Rng, phrase: str) -> str:
    form = rng.random()
    if form < 0.6:
        return f"the {phrase}"
    if form < 0.85:
        return article(phrase)
    return f"{rng.choice(['my', 'your', 'his', 'her', 'this', 'that', 'every'])} {phrase}"


def everyday_en(rng: Rng) -> str:
    who = lambda: _the(rng, _noun(rng, lx.PEOPLE, lx.ANIMALS))  # noqa: E731
    what = lambda: _the(rng, _noun(rng, lx.THINGS, lx.THINGS, lx.ANIMALS))  # noqa: E731
    where = lambda: f"{rng.choice(lx.PREPOSITIONS)} {_the(rng, _noun(rng, lx.PLACES, lx.THINGS, lx.NATURE))}"  # noqa: E731
    verb, action, tense = rng.choice(lx.VERBS), rng.choice(lx.ACTIONS), rng.choice([1, 1, 2])
    adjective = rng.choice(lx.ADJECTIVES)
    options = [
        lambda: f"{who()} {verb[tense]} {where()}",
        lambda: f"{who()} {verb[tense]} over {_the(rng, _noun(rng, lx.ANIMALS, lx.THINGS))}",
        lambda: f"{who()} {verb[tense]} {rng.choice(lx.ADVERBS)} {where()}",
        lambda: f"{who()} {action[tense]} {what()}",
        lambda: f"{who()} {action[tense]} {what()} {rng.choice(lx.TIMES)}",
        lambda: f"{rng.choice(['i', 'you', 'we', 'they'])} {rng.choice(['will ', 'can ', 'must ', 'did not ', 'should ', ''])}"
        f"{action[0]} {what()}",
        lambda: f"{rng.choice(['he', 'she', 'it'])} {action[tense]} {what()} {where()}",
        lambda: f"please {action[0]} {what()}",
        lambda: f"{what()} is {where()}",
        lambda: f"{who()} is {rng.choice(['very ', 'so ', 'not ', ''])}{adjective}",
        lambda: f"{rng.choice(lx.TIMES)}, {who()} {verb[tense]}",
        lambda: f"did you {action[0]} {what()}",
        lambda: f"where is {what()}",
        lambda: f"there is {article(_noun(rng, lx.THINGS, lx.ANIMALS))} {where()}",
        lambda: f"the {rng.choice(lx.NATURE)} is {adjective} {rng.choice(lx.TIMES)}",
        lambda: f"{rng.choice(['i like', 'we need', 'i want', 'bring me', 'she has', 'he has'])} {rng.choice(lx.THINGS)} and {rng.choice(lx.THINGS)}",
        lambda: f"{rng.choice(lx.THINGS)}, {rng.choice(lx.THINGS)} and {rng.choice(lx.THINGS)}",
        lambda: f"{rng.choice(lx.PHRASES)}{rng.choice([', ', ' '])}{rng.choice(lx.PHRASES)}",
        lambda: rng.choice(lx.PHRASES),
        lambda: f"the {_noun(rng, lx.PEOPLE)} and the {_noun(rng, lx.ANIMALS)} {verb[0]} {rng.choice(lx.TIMES)}",
    ]
    return rng.choice(options)()


def picture_en(rng: Rng) -> str:
    subject = _noun(rng, lx.PLACES, lx.ANIMALS, lx.THINGS, lx.PEOPLE)
    phrase = article(subject)
    form = rng.random()
    if form < 0.7:
        phrase = f"{article(rng.choice(lx.MEDIA))} of {phrase}"
    form = rng.random()
    if form < 0.35:
        phrase += f" {rng.choice(lx.TIMES)}"
    elif form < 0.6:
        phrase += f" {rng.choice(lx.STYLES)}"
    elif form < 0.85:
        phrase += f" {rng.choice(lx.PREPOSITIONS)} {_the(rng, _noun(rng, lx.PLACES, lx.NATURE))}"
    return phrase


def more_pictures_en(rng: Rng) -> str:
    """Pictures with more media, subjects and forms."""

    def medium() -> str:
        return article(rng.choice(lx.MEDIA if rng.random() < 0.6 else lx.MORE_MEDIA))

    def subject() -> str:
        if rng.random() < 0.65:
            return article(_noun(rng, lx.PLACES, lx.ANIMALS, lx.THINGS, lx.PEOPLE))
        noun = rng.choice(lx.MORE_SUBJECTS)
        form = rng.random()
        lead = f"{rng.choice(lx.ADJECTIVES)} " if form < 0.3 else f"{_color(rng)} " if form < 0.5 else ""
        return article(lead + noun)

    def setting() -> str:
        form = rng.random()
        if form < 0.4:
            return " " + rng.choice(lx.TIMES if rng.random() < 0.6 else lx.MORE_TIMES)
        if form < 0.6:
            return " " + rng.choice(lx.STYLES)
        return f" {rng.choice(lx.PREPOSITIONS)} {_the(rng, _noun(rng, lx.PLACES, lx.NATURE))}"

    options = [
        lambda: f"{medium()} of {subject()}",
        lambda: f"{medium()} of {subject()}{setting()}",
        lambda: f"{medium()} of {subject()} and {subject()}",
        lambda: f"{subject()}{setting()}",
        lambda: f"{subject()} and {subject()}{setting()}",
        lambda: f"{rng.choice(OPENERS[:8])} {medium()} of {subject()}",
        lambda: f"{rng.choice(OPENERS)} {subject()}{setting()}",
        lambda: f"{subject()}, {rng.choice(lx.MEDIA)} {rng.choice(lx.STYLES)}",
    ]
    return rng.choice(options)()


def more_numbers_en(rng: Rng) -> str:
    """Numbers with runs of the same digit: saying "five" as often as it was heard must be learnt by counting."""

    def group(count: int) -> str:
        digits = []
        while len(digits) < count:
            digits += [rng.choice(lx.DIGITS)] * rng.choice([1, 1, 2, 3])
        return " ".join(digits[:count])

    def phone() -> str:
        return ", ".join(group(n) for n in rng.choice([(3, 4), (3, 4), (3, 3), (3, 3, 4), (2, 2, 2), (4, 4), (3, 2, 2), (3, 3, 3)]))

    options = [
        lambda: f"{rng.choice(['call me at', 'call', 'my number is', 'the number is', 'dial', 'you can call us at'])} {phone()}",
        lambda: f"call me at {phone()}, {rng.choice(['before', 'after', 'at', 'around'])} {_clock(rng)}",
        lambda: phone(),
        lambda: group(rng.randint(2, 6)),
        lambda: f"{rng.choice(['room', 'page', 'chapter'])} {group(rng.randint(1, 3))}",
        lambda: numbers_en(rng),
        lambda: numbers_en(rng),
    ]
    return rng.choice(options)()


def _all_english_words() -> list[str]:
    pool: set[str] = set()
    for group in (lx.COLORS, lx.COLOR_MODIFIERS, lx.SHAPES, lx.SHAPES.values(), lx.SIZES, lx.RELATIONS, lx.DIGITS, lx.TEENS, lx.TENS,
                  lx.PEOPLE, lx.ANIMALS, lx.THINGS, lx.PLACES, lx.NATURE, lx.ADJECTIVES, *lx.VERBS, *lx.ACTIONS, lx.TIMES,
                  lx.ADVERBS, lx.MEDIA, lx.STYLES, lx.PREPOSITIONS, lx.PHRASES, ["background", "before", "after"]):  # fmt: skip
        for entry in group:
            pool.update(entry.split())
    return sorted(pool - lx.SALAD_EXCLUDED)


ENGLISH_WORDS = _all_english_words()


def salad_en(rng: Rng) -> str:
    """Words in no order: what keeps the decoder listening instead of guessing from grammar."""
    return " ".join(rng.choices(ENGLISH_WORDS, k=rng.choice([1, 2, 3, 4, 4, 5, 5, 6, 7])))


def stammer_en(rng: Rng) -> str:
    """Word salad in which a word may come two or three times in a row."""
    return " ".join(word for word in salad_en(rng).split()[:5] for _ in range(rng.choice([1, 1, 1, 1, 2, 2, 3])))


# --- Spanish, other than scenes ---------------------------------------------------------------------------------


def _noun_es(rng: Rng) -> str:
    gender = rng.random() < 0.5
    noun = rng.choice(lx.ES_NOUNS_F if gender else lx.ES_NOUNS_M)
    # "agua" takes "el" though feminine
    lead = rng.choice([("el", "la"), ("el", "la"), ("un", "una"), ("mi", "mi")])[gender and noun != "agua"]
    if rng.random() < 0.35:
        return f"{lead} {noun} {rng.choice(lx.ES_ADJECTIVES).split()[gender]}"
    if rng.random() < 0.2:
        return f"{lead} {noun} {rng.choice(list(lx.ES_COLORS.values())).split()[gender]}"
    return f"{lead} {noun}"


def everyday_es(rng: Rng) -> str:
    options = [
        lambda: f"{_noun_es(rng)} {rng.choice(lx.ES_VERBS)} {rng.choice(['en', 'sobre', 'con', 'para', 'por'])} {_noun_es(rng)}",
        lambda: f"{_noun_es(rng)} {rng.choice(lx.ES_ACTIONS)} {_noun_es(rng)}",
        lambda: f"{_noun_es(rng)} {rng.choice(lx.ES_ACTIONS)} {_noun_es(rng)} {rng.choice(lx.ES_TIMES)}",
        lambda: f"{_noun_es(rng)} {rng.choice(lx.ES_VERBS)} {rng.choice(lx.ES_TIMES)}",
        lambda: f"{rng.choice(lx.ES_TIMES)}, {_noun_es(rng)} {rng.choice(lx.ES_VERBS)}",
        lambda: f"hay {_noun_es(rng)} {rng.choice(['cerca', 'lejos', 'aquí'])}",
        lambda: f"dónde está {_noun_es(rng)}",
        lambda: f"quiero {_noun_es(rng)}, por favor",
        lambda: rng.choice(lx.ES_PHRASES),
        lambda: f"{rng.choice(lx.ES_PHRASES)}, {rng.choice(lx.ES_PHRASES)}",
    ]
    return rng.choice(options)()


def numbers_es(rng: Rng) -> str:
    pick = lambda k: " ".join(rng.choices(lx.ES_NUMBERS[:10], k=k))  # noqa: E731
    options = [
        lambda: pick(rng.randint(2, 6)),
        lambda: f"{rng.choice(['mi número es', 'llama al', 'el número es'])} {pick(3)}, {pick(rng.choice([2, 3]))}",
        lambda: f"{rng.choice(lx.ES_NUMBERS[2:])} {rng.choice(['días', 'minutos', 'personas', 'años', 'metros'])}",
        lambda: f"son las {rng.choice(lx.ES_NUMBERS[2:13])}{rng.choice(['', ' y media', ' y cuarto', ' en punto'])}",
        lambda: f"{rng.choice(lx.ES_NUMBERS[21:28])} y {rng.choice(lx.ES_NUMBERS[1:10])}",
        lambda: rng.choice(lx.ES_NUMBERS),
    ]
    return rng.choice(options)()


def _all_spanish_words() -> list[str]:
    pool: set[str] = set(lx.ES_NUMBERS + lx.ES_NOUNS_M + lx.ES_NOUNS_F + lx.ES_VERBS + lx.ES_ACTIONS)
    for entry in [*lx.ES_COLORS.values(), *lx.ES_SIZES.values(), *lx.ES_ADJECTIVES, *lx.ES_RELATIONS.values()]:
        pool.update(entry.split())
    for singular, plural, _ in lx.ES_SHAPES.values():
        pool.update((singular, plural))
    return sorted(w for w in pool if len(w) > 2)


SPANISH_WORDS = _all_spanish_words()


def salad_es(rng: Rng) -> str:
    return " ".join(rng.choices(SPANISH_WORDS, k=rng.choice([1, 2, 3, 3, 4, 4, 5])))


# --- the mixture ------------------------------------------------------------------------------------------------

ENGLISH_KINDS = [(scene_en, "scene", 0.40), (numbers_en, "numbers", 0.15), (everyday_en, "everyday", 0.20),
                 (picture_en, "picture", 0.11), (salad_en, "salad", 0.14)]  # fmt: skip
SPANISH_KINDS = [(scene_es, "scene", 0.60), (numbers_es, "numbers", 0.10), (everyday_es, "everyday", 0.18),
                 (salad_es, "salad", 0.12)]  # fmt: skip
SPANISH_SHARE = 0.20


def sentence(rng: Rng, language: str | None = None, kind: str | None = None) -> Sentence:
    if language is None:
        language = "es" if rng.random() < SPANISH_SHARE else "en"
    kinds = ENGLISH_KINDS if language == "en" else SPANISH_KINDS
    if kind is None:
        return _drawn(rng, language, kinds)
    return _made(rng, language, next(entry for entry in kinds if entry[1] == kind))


# What the second, finishing stretch of training hears: more of what the first learnt last.
FINISHING_ENGLISH = [(scene_en, "scene", 0.33), (more_numbers_en, "numbers", 0.20), (everyday_en, "everyday", 0.14),
                     (picture_en, "picture", 0.06), (more_pictures_en, "picture", 0.14), (salad_en, "salad", 0.06),
                     (stammer_en, "salad", 0.07)]  # fmt: skip
FINISHING_SPANISH = [(scene_es, "scene", 0.70), (numbers_es, "numbers", 0.08), (everyday_es, "everyday", 0.14), (salad_es, "salad", 0.08)]
FINISHING_SPANISH_SHARE = 0.24


def finishing_sentence(rng: Rng) -> Sentence:
    language = "es" if rng.random() < FINISHING_SPANISH_SHARE else "en"
    return _drawn(rng, language, FINISHING_ENGLISH if language == "en" else FINISHING_SPANISH)


def _drawn(rng: Rng, language: str, kinds: list[tuple]) -> Sentence:
    return _made(rng, language, rng.choices(kinds, [weight for *_, weight in kinds])[0])


def _made(rng: Rng, language: str, entry: tuple) -> Sentence:
    make, kind, _ = entry
    made = make(rng)
    return made if isinstance(made, Sentence) else Sentence(made, language, kind)


if __name__ == "__main__":
    source = random.Random(1)
    for _ in range(60):
        print(sentence(source))

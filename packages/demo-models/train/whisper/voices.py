"""Which voices are trained on and which are kept for the evaluation.

A variant is held out as a whole, and beside that all training speeds and pitches are even and all held-out ones odd,
so no evaluation setting was ever heard.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

ENGLISH = {"en-us": 0.42, "en": 0.2, "en-gb-x-rp": 0.12, "en-gb-scotland": 0.06, "en-029": 0.05, "en-us-nyc": 0.05,
           "en-gb-x-gbclan": 0.05, "en-gb-x-gbcwmd": 0.05}  # fmt: skip
SPANISH = {"es": 0.6, "es-419": 0.4}

COMMON_VARIANTS = "m1 m2 m3 m4 m6 m7 m8 f1 f2 f3 f5".split()
RARE_VARIANTS = (
    "croak whisper whisperf klatt klatt3 klatt4 adam Alex Alicia Andrea Andy Denis Diogo Gene Hugo Jacky Marco Mario Mike belinda "
    "benjamin boris caleb david edward grandma grandpa gustave iven john kaukovalta max miguel norbert pablo paul pedro quincy rob "
    "robert sandro shelby steph travis victor zac anika aunty"
).split()
HELD_OUT_VARIANTS = "m5 f4 Annie Lee ed Michael".split()


@dataclass(frozen=True)
class Setting:
    voice: str
    speed: int
    pitch: int


def training_setting(rng: random.Random, language: str, invented: float = 0.0) -> Setting:
    """`invented` is the share of voices from `invented_variant`."""
    bases = ENGLISH if language == "en" else SPANISH
    voice = rng.choices(list(bases), list(bases.values()))[0]
    if invented and rng.random() < invented:
        voice += "+" + invented_name(rng.randrange(INVENTED))
    elif (kind := rng.random()) > 0.24:
        voice += "+" + rng.choice(COMMON_VARIANTS if kind < 0.62 else RARE_VARIANTS)
    speed = round(min(max(rng.gauss(150, 27), 90), 216) / 2) * 2
    pitch = rng.randrange(14, 88, 2)
    return Setting(voice, speed, pitch)


INVENTED = 200


def invented_name(index: int) -> str:
    return f"invented{index:03}"


def invented_variant(index: int) -> str:
    """A variant file of espeak-ng for a speaker that nobody has met: another throat, other overtones, and now and then an oddity
    (a formant above the second that is missing or elsewhere, echo, breath, a rough or monotonous voice)."""
    rng = random.Random(f"voice {index}")
    low = rng.uniform(70, 150)
    throat = min(max(rng.gauss(1, 0.15), 0.7), 1.4)
    lines = ["language variant", f"name {invented_name(index)}", f"pitch {low:.0f} {low * rng.uniform(1.15, 1.9):.0f}"]
    strange = rng.random() < 0.5
    for formant in range(9):
        frequency, height, width = (100 * throat * rng.gauss(1, 0.07), 100 * rng.gauss(1, 0.3), 100 * rng.gauss(1, 0.25))
        if formant > 2 and strange and rng.random() < 0.4:
            if rng.random() < 0.5:
                height = rng.uniform(0, 30)
            else:
                frequency *= 10 ** rng.uniform(-1, 0.5)
        lines.append(f"formant {formant} {frequency:.0f} {max(height, 0):.0f} {max(width, 30):.0f}")

    def sometimes(chance: float, name: str, *ranges: tuple[float, float]) -> None:
        if rng.random() < chance:
            lines.append(" ".join([name, *(f"{rng.uniform(*r):.0f}" for r in ranges)]))

    sometimes(0.3, "flutter", (0, 20))
    sometimes(0.2, "roughness", (0, 5))
    sometimes(0.15, "echo", (20, 200), (5, 40))
    sometimes(0.3, "voicing", (30, 180))
    sometimes(0.4, "consonants", (55, 125), (55, 125))
    sometimes(0.2, "intonation", (1, 4))
    sometimes(0.1, "breath", *[(0, 15)] * 8)
    sometimes(0.2, "tone", (100, 400), (150, 255), (600, 1000), (80, 255), (1500, 2500), (20, 255))
    if rng.random() < 0.3:  # every syllable equally loud
        lines.append("stressAmp" + f" {rng.uniform(16, 34):.0f}" * 8)
    sometimes(0.25, "stressAdd", *[(-20, 30)] * 4, (0, 0), (0, 0), (0, 60), (0, 120))
    return "\n".join(lines) + "\n"


def held_out_setting(rng: random.Random, language: str) -> Setting:
    bases = ENGLISH if language == "en" else SPANISH
    voice = f"{rng.choice(list(bases))}+{rng.choice(HELD_OUT_VARIANTS)}"
    return Setting(voice, rng.randrange(105, 196, 2), rng.randrange(21, 82, 2))

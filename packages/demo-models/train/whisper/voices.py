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


def training_setting(rng: random.Random, language: str) -> Setting:
    bases = ENGLISH if language == "en" else SPANISH
    voice = rng.choices(list(bases), list(bases.values()))[0]
    kind = rng.random()
    if kind > 0.24:
        voice += "+" + rng.choice(COMMON_VARIANTS if kind < 0.62 else RARE_VARIANTS)
    speed = round(min(max(rng.gauss(150, 27), 90), 216) / 2) * 2
    pitch = rng.randrange(14, 88, 2)
    return Setting(voice, speed, pitch)


def held_out_setting(rng: random.Random, language: str) -> Setting:
    bases = ENGLISH if language == "en" else SPANISH
    voice = f"{rng.choice(list(bases))}+{rng.choice(HELD_OUT_VARIANTS)}"
    return Setting(voice, rng.randrange(105, 196, 2), rng.randrange(21, 82, 2))

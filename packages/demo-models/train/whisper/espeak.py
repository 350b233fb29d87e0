"""espeak-ng through its C library: about 3 ms a sentence, with the time of every word and every phoneme.

The command line tool makes the same samples (`espeak-ng -v VOICE -s SPEED -p PITCH -w FILE TEXT`); it is what the
evaluation uses, so that anyone can make that audio without this file.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SAMPLE_RATE = 22050

_OUTPUT_SYNCHRONOUS = 2
_WITH_PHONEME_EVENTS, _AS_IPA = 1, 2
_RATE, _PITCH, _RANGE = 1, 3, 4
_UTF8, _END_PAUSE = 1, 0x1000
_EVENT_END, _EVENT_WORD, _EVENT_PHONEME = 0, 1, 7


class _Id(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int), ("unique_identifier", ctypes.c_uint), ("text_position", ctypes.c_int),
        ("length", ctypes.c_int), ("audio_position", ctypes.c_int), ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p), ("id", _Id),
    ]  # fmt: skip


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


@dataclass(frozen=True)
class Speech:
    samples: np.ndarray  # int16, 22050 Hz
    words: list[tuple[int, int]]  # position in the text (characters) and first sample; espeak joins some: "of a" is one
    phones: list[tuple[int, str]]  # first sample and IPA of each phoneme; "" is a pause


def word_starts(text: str, speech: Speech, end: int) -> list[int]:
    """The first sample of every word of `text`. A word that espeak joined to the one before shares its time with it, by
    length. Empty when the events make no sense."""
    begins = [match.start() for match in re.finditer(r"\S+", text)]
    known = dict(speech.words)
    if not begins or begins[0] not in known:
        return []
    anchors = [(position, known[position]) for position in begins if position in known] + [(len(text) + 1, end)]
    if any(b[1] < a[1] for a, b in zip(anchors, anchors[1:])):
        return []
    positions, samples = zip(*anchors)
    return [int(x) for x in np.interp(begins, positions, samples)]


class Espeak:
    """One speaking engine. The library keeps its state in globals: one instance a process."""

    def __init__(self, home: Path | None = None) -> None:
        """`home` holds an `espeak-ng-data`; without it, the one that is installed."""
        self._lib = ctypes.CDLL("libespeak-ng.so.1")
        path = str(home).encode() if home else None
        rate = self._lib.espeak_Initialize(_OUTPUT_SYNCHRONOUS, 0, path, _WITH_PHONEME_EVENTS | _AS_IPA)
        if rate != SAMPLE_RATE:
            raise RuntimeError(f"espeak-ng answered sample rate {rate}, wanted {SAMPLE_RATE}")
        self._chunks: list[np.ndarray] = []
        self._words: list[tuple[int, int]] = []
        self._phones: list[tuple[int, str]] = []
        self._callback = _CALLBACK(self._receive)  # kept: the library holds only a pointer
        self._lib.espeak_SetSynthCallback(self._callback)

    def data(self) -> Path:
        """The folder of voices and languages in use."""
        path = ctypes.c_char_p()
        self._lib.espeak_Info.restype = ctypes.c_char_p
        self._lib.espeak_Info(ctypes.byref(path))
        return Path(path.value.decode())

    def _receive(self, wav, count: int, events) -> int:
        if wav and count > 0:
            self._chunks.append(np.ctypeslib.as_array(wav, (count,)).copy())
        index = 0
        while events[index].type != _EVENT_END:
            event = events[index]
            if event.type == _EVENT_WORD:
                self._words.append((event.text_position - 1, event.sample))
            elif event.type == _EVENT_PHONEME:
                self._phones.append((event.sample, event.id.string.decode("utf-8", "ignore")))
            index += 1
        return 0

    def say(self, text: str, voice: str, speed: int, pitch: int, intonation: int = 50) -> Speech:
        # "en-gb" is no voice file ("en" is): the tool falls back silently and drops the variant, this refuses.
        if self._lib.espeak_SetVoiceByName(voice.encode()) != 0:
            raise ValueError(f"espeak-ng has no voice {voice!r}")
        for parameter, value in ((_RATE, speed), (_PITCH, pitch), (_RANGE, intonation)):
            self._lib.espeak_SetParameter(parameter, value, 0)
        self._chunks, self._words, self._phones = [], [], []
        data = text.encode()
        self._lib.espeak_Synth(data, ctypes.c_size_t(len(data) + 1), 0, 1, 0, _UTF8 | _END_PAUSE, None, None)
        samples = np.concatenate(self._chunks) if self._chunks else np.zeros(0, np.int16)
        return Speech(samples, self._words, self._phones)


def with_variants(home: Path, variants: dict[str, str]) -> None:
    """Makes `home`: the installed data as links, and more voice variants beside the installed ones. Only the languages of the
    Germanic and Romance folders, because the library counts variants among its at most 350 voices."""
    installed, data = Espeak().data(), home / "espeak-ng-data"
    (data / "voices" / "!v").mkdir(parents=True, exist_ok=True)
    (data / "lang").mkdir(exist_ok=True)
    linked = [entry for entry in installed.iterdir() if entry.name not in ("voices", "lang")]
    linked += [installed / "lang" / "gmw", installed / "lang" / "roa", *(installed / "voices" / "!v").iterdir()]
    for entry in linked:
        link = data / entry.relative_to(installed)
        if not link.exists():
            link.symlink_to(entry)
    for name, text in variants.items():
        (data / "voices" / "!v" / name).write_text(text)

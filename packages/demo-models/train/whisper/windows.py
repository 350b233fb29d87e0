"""Training windows: spoken sentences laid into a stretch of time, damaged, and written as Whisper writes them.

A window holds one sentence or as many as fit, with pauses. What the decoder must write:

    <|startoftranscript|><|en|><|transcribe|><|0.34|> a red circle<|2.10|><|2.60|> two stars<|4.02|><|endoftext|>

and, as in Whisper's own training: a last sentence that the window cuts off is announced by its start alone (seeking then
resumes there); without timestamps, what was fully heard is written; silence is <|nospeech|> and no text; sometimes the
text before the window comes first, after <|startofprev|>.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np

from audio import SAMPLE_RATE, NoiseBank, reverberate
from tokenizer import Tokenizer

IGNORED = -100
FRAME = 320  # samples an encoder frame: hop 160, then stride 2


@dataclasses.dataclass
class Transcript:
    """One thing that the decoder may be asked to write about a window."""

    inputs: list[int]
    targets: list[int]
    spans: list[tuple[int, int]]  # for each target, the encoder frames where it sounds; (0, 0) where nobody knows


@dataclasses.dataclass
class Window:
    wave: np.ndarray  # float32
    transcripts: list[Transcript]  # the encoder costs ten times the decoder: each of its windows is asked twice
    phones: np.ndarray  # int64 per encoder frame; 0 is silence


class Corpus:
    def __init__(self, folder: Path) -> None:
        data = np.load(folder / "corpus.npz")
        self.shard, self.offset, self.length = data["shard"], data["offset"], data["length"]
        self.word_from, self.words = data["word_from"], data["words"]
        self.phone_from, self.phone_at, self.phone_id = data["phone_from"], data["phone_at"], data["phone_id"]
        self.phone_names = json.loads((folder / "phones.json").read_text())
        self.texts = [json.loads(line) for line in open(folder / "texts.jsonl")]
        self._audio = [np.memmap(folder / f"audio-{k}.i16", "<i2", "r") for k in range(self.shard.max() + 1)]
        self.by_length = np.argsort(self.length, kind="stable")
        self.by_language = {
            code: np.array([i for i, t in enumerate(self.texts) if t["language"] == code]) for code in ("en", "es")
        }

    def __len__(self) -> int:
        return len(self.texts)

    def wave(self, i: int) -> np.ndarray:
        start = self.offset[i]
        return self._audio[self.shard[i]][start : start + self.length[i]].astype(np.float32) / 32768

    def word_times(self, i: int) -> np.ndarray:
        return self.words[self.word_from[i] : self.word_from[i + 1]]


@dataclasses.dataclass
class Placed:
    """A sentence in a window: samples `start`..`end`, either of which may lie outside."""

    index: int
    start: int
    end: int


class WindowMaker:
    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, chunk_seconds: int, max_target: int, seed: int,
                 translated: float = 0.25) -> None:  # fmt: skip
        self.translated = translated  # the share of Spanish scenes that are asked for in English
        self.corpus, self.tokenizer = corpus, tokenizer
        self.chunk = chunk_seconds * SAMPLE_RATE
        self.max_target = max_target
        self.noise = NoiseBank(np.random.default_rng(seed))

    # --- batches of one window length ---------------------------------------------------------------------------

    def short_batch(self, rng: np.random.Generator, frames: int) -> list[Window]:
        """Single sentences of about the same length: most of the words for the least arithmetic."""
        order = self.corpus.by_length
        anchor = int(rng.integers(len(order)))
        near = order[max(0, anchor - 1500) : anchor + 1500]
        longest = int(self.corpus.length[near[-1]])
        if longest > 5.5 * SAMPLE_RATE:  # sparse region: the longest would make all others silence
            near = near[self.corpus.length[near] < 7 * SAMPLE_RATE]
            longest = int(self.corpus.length[near[-1]])
        longest = longest + int(rng.uniform(0.2, 1.4) * SAMPLE_RATE)
        size = min(-(-longest // 3200) * 3200, self.chunk)
        return [self.single(rng, int(rng.choice(near)), size) for _ in range(max(2, frames * FRAME // size))]

    def full_batch(self, rng: np.random.Generator, frames: int) -> list[Window]:
        """Whole chunks, as the exported model always sees them."""
        windows = []
        for _ in range(max(2, frames * FRAME // self.chunk)):
            draw = rng.random()
            if draw < 0.06:
                windows.append(self.silence(rng, self.chunk))
            elif draw < 0.45:
                windows.append(self.single(rng, int(rng.integers(len(self.corpus))), self.chunk))
            else:
                windows.append(self.several(rng))
        return windows

    # --- kinds of window ----------------------------------------------------------------------------------------

    def single(self, rng: np.random.Generator, index: int, size: int) -> Window:
        length = int(self.corpus.length[index])
        room = size - length
        lead = int(min(room, rng.choice([0.0, rng.uniform(0, 0.3), rng.uniform(0, 1.2), rng.uniform(0, 6)], p=[0.1, 0.5, 0.3, 0.1]) * SAMPLE_RATE))
        # The recording ends somewhere after the words; the rest of the window is the digital silence of padding.
        recorded = min(size, lead + length + int(rng.uniform(0, 0.6) * SAMPLE_RATE)) if rng.random() < 0.8 else size
        return self._finish(rng, [Placed(index, lead, lead + length)], size, recorded)

    def several(self, rng: np.random.Generator) -> Window:
        pool = self.corpus.by_language["es" if rng.random() < 0.2 else "en"]
        placed: list[Placed] = []
        at = int(rng.choice([0.0, rng.uniform(0, 0.5), rng.uniform(0, 2.5)], p=[0.3, 0.5, 0.2]) * SAMPLE_RATE)
        stop_early = rng.random() < 0.3
        while at < self.chunk - SAMPLE_RATE // 5:
            index = int(rng.choice(pool))
            length = int(self.corpus.length[index])
            if not placed and rng.random() < 0.12 and len(self.corpus.word_times(index)) > 3:
                at = -int(rng.uniform(0.2, 0.7) * length)  # the window opens in mid-sentence
            if at + length > self.chunk and (stop_early or len(self.corpus.word_times(index)) == 0):
                break
            placed.append(Placed(index, at, at + length))
            at += length + int(rng.choice([rng.uniform(0.25, 0.9), rng.uniform(0.9, 2.5)], p=[0.8, 0.2]) * SAMPLE_RATE)
        if not placed:
            return self.silence(rng, self.chunk)
        recorded = min(self.chunk, placed[-1].end + int(rng.uniform(0, 0.6) * SAMPLE_RATE)) if stop_early else self.chunk
        return self._finish(rng, placed, self.chunk, recorded)

    def silence(self, rng: np.random.Generator, size: int) -> Window:
        wave = np.zeros(size, np.float32)
        recorded = size if rng.random() < 0.6 else int(rng.uniform(0.02, 1) * size)
        kind = rng.random()
        if kind > 0.2:
            wave[:recorded] = self.noise.cut(rng, recorded) * 10 ** rng.uniform(-4, -0.7)
        if kind > 0.6:  # knocks and beeps are no speech either
            for _ in range(rng.integers(1, 6)):
                length = int(rng.uniform(0.01, 0.5) * SAMPLE_RATE)
                start = int(rng.integers(0, max(1, recorded - length)))
                time = np.arange(min(length, recorded - start)) / SAMPLE_RATE
                tone = np.sin(2 * np.pi * rng.uniform(80, 3500) * time) * np.exp(-time * rng.uniform(2, 40))
                wave[start : start + len(time)] += (tone * 10 ** rng.uniform(-2.5, -0.3)).astype(np.float32)
        t = self.tokenizer
        transcripts = []
        for first in (t.notimestamps, t.timestamp(0)):
            code = "es" if rng.random() < 0.3 else "en"
            # Asked which language: none. Told one and asked to write: nothing.
            inputs = [t.sot, t.language[code], t.transcribe, first]
            transcripts.append(Transcript(inputs, [t.nospeech, IGNORED, first, t.eot], [(0, 0)] * 4))
        return Window(wave, transcripts, np.zeros(size // FRAME, np.int64))

    # --- laying out and damaging --------------------------------------------------------------------------------

    def _finish(self, rng: np.random.Generator, placed: list[Placed], size: int, recorded: int) -> Window:
        wave = np.zeros(size, np.float32)
        phones = np.zeros(size // FRAME, np.int64)
        level = rng.uniform(-1.3, 0.1)  # log10 of the gain: the same for a whole recording, nearly
        for one in placed:
            begin, end = max(one.start, 0), min(one.end, size)
            wave[begin:end] += self.corpus.wave(one.index)[begin - one.start : end - one.start] * 10 ** (level + rng.uniform(-0.1, 0.1))
            self._label(phones, one)
        if rng.random() < 0.12:
            wave[:recorded] = reverberate(rng, wave[:recorded])
        if rng.random() < 0.7:
            power = float((wave[:recorded] ** 2).sum()) / max(1, sum(min(p.end, size) - max(p.start, 0) for p in placed))
            snr = rng.uniform(2, 40)
            wave[:recorded] += self.noise.cut(rng, recorded) * np.sqrt(power / 10 ** (snr / 10))
        if rng.random() < 0.03:
            limit = np.abs(wave).max() * rng.uniform(0.2, 0.7)
            wave = wave.clip(-limit, limit)
        return Window(wave.clip(-1, 1), [self._write(rng, placed, size, timed) for timed in (False, True)], phones)

    def _label(self, phones: np.ndarray, one: Placed) -> None:
        c = self.corpus
        first, last = max(0, -(-one.start // FRAME)), min(len(phones), one.end // FRAME)
        if last <= first:
            return
        at = c.phone_at[c.phone_from[one.index] : c.phone_from[one.index + 1]] + one.start
        ids = c.phone_id[c.phone_from[one.index] : c.phone_from[one.index + 1]]
        if len(at) == 0:
            return
        middle = np.arange(first, last) * FRAME + FRAME // 2
        phones[first:last] = ids[np.maximum(np.searchsorted(at, middle, "right") - 1, 0)]

    # --- writing the transcript ---------------------------------------------------------------------------------

    def _heard(self, one: Placed, size: int) -> list[tuple[str, int, int]]:
        """The words of a sentence that lie in the window from their first sample to their last, with these samples."""
        words = self.corpus.texts[one.index]["text"].split()
        starts = self.corpus.word_times(one.index) + one.start
        if len(starts) == 0:  # no times known: such a sentence always lies inside as a whole
            return [(word, 0, 0) for word in words]
        ends = np.append(starts[1:], one.end)
        # a sixteenth of a second may be missing: nobody hears the difference
        kept = [(w, int(a), int(b)) for w, a, b in zip(words, starts, ends) if a >= -1000 and b <= size + 1000]
        if kept and len(kept) < len(words):
            kept[-1] = (kept[-1][0].rstrip(","), *kept[-1][1:])
        return kept

    def _write(self, rng: np.random.Generator, placed: list[Placed], size: int, timed: bool) -> Transcript:
        t = self.tokenizer
        texts = [self.corpus.texts[one.index] for one in placed]
        whole = all(one.start >= 0 and one.end <= size for one in placed)
        translated = whole and rng.random() < self.translated and all(text["english"] for text in texts)
        # English into English is the identity, and worth a rare example.
        task = t.translate if translated or (whole and texts[0]["language"] == "en" and rng.random() < 0.02) else t.transcribe
        written = [(t.sot, 0, 0), (t.language[texts[0]["language"]], 0, 0), (task, 0, 0)]  # token, first sample, last sample

        def sentence(position: int) -> list[tuple[int, int, int]]:
            if translated:
                return [(token, 0, 0) for token in t.encode(" " + texts[position]["english"])]
            return [(token, a, b) for word, a, b in self._heard(placed[position], size) for token in t.encode(" " + word)]

        def moment(sample: int) -> tuple[int, int, int]:
            return t.timestamp(sample / SAMPLE_RATE), sample, sample

        if not timed:
            written.append((t.notimestamps, 0, 0))
            for position in range(len(placed)):
                written += sentence(position)
        else:
            for position, one in enumerate(placed):
                start, end = max(one.start, 0), min(one.end, size)
                if one.end > size + 1000 and position > 0:  # cut off by the window: announced only
                    written.append(moment(start))
                    break
                if tokens := sentence(position):
                    written += [moment(start), *tokens, moment(end)]
            if len(written) == 3:  # only scraps of words: as silence is written
                written.append((t.timestamp(0), 0, 0))
        written = written[: self.max_target]
        before = [t.prev, *self._earlier(rng, texts[0]["language"])] if rng.random() < 0.2 else []
        if len(before) + len(written) > self.max_target:  # too long together: the prompt gives way
            before = []
        inputs = before + [token for token, _, _ in written]
        targets = [IGNORED] * len(before) + [token for token, _, _ in written[1:]] + [t.eot]
        near = 4  # frames: 80 ms of doubt on either side
        spans = [(max(0, a // FRAME - near), min(size // FRAME, b // FRAME + near)) if b else (0, 0) for _, a, b in written[1:]]
        return Transcript(inputs, targets, [(0, 0)] * len(before) + spans + [(0, 0)])

    def _earlier(self, rng: np.random.Generator, language: str) -> list[int]:
        """Text said before this window: one to three sentences, sometimes with their timestamps, sometimes cut at the front."""
        t, ids, timed = self.tokenizer, [], rng.random() < 0.5
        at = 0.0
        for index in rng.choice(self.corpus.by_language[language], rng.integers(1, 4)):
            text = t.encode(" " + self.corpus.texts[index]["text"])
            seconds = self.corpus.length[index] / SAMPLE_RATE
            ids += [t.timestamp(at), *text, t.timestamp(at + seconds)] if timed else text
            at = (at + seconds + 0.5) % 8
        return ids[-int(rng.integers(5, 90)) :]

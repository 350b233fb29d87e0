"""Makes the training corpus: tens of thousands of spoken sentences, with the time of every word and phoneme.

    python3 corpus.py --out DIR --count 80000
    python3 corpus.py --out OTHER --count 40000 --seed 2 --finish --phones DIR/phones.json

The second is what training ends on: more numbers, pictures and repetitions, and half of it in invented voices.

Files: `audio-K.i16` (int16 at 16 kHz, trimmed to the heard part, end to end), `corpus.npz` (offsets, lengths, word and
phoneme times), `texts.jsonl` (one sentence a line), `phones.json`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the pool is the parallelism; read when NumPy loads

import numpy as np

import audio
import espeak
import sentences
import voices

HERE = Path(__file__).parent
EVAL_LIST = HERE / "eval" / "heldout.json"

# Reading the 22.05 kHz samples as if they came at another rate moves pitch and formants together: speakers with
# longer and shorter throats than espeak has. 441 is the true rate; 320/441 is 16000/22050.
TRUE_RATE = 441
WARPED_RATES = [408, 416, 424, 432, 450, 459, 468, 477]
SHARD = 1000


def forbidden_texts() -> set[str]:
    held_out = {sentences.normalise(entry["text"]) for entry in json.loads(EVAL_LIST.read_text())["sentences"]}
    return held_out | {sentences.normalise(text) for text in sentences.GOLDEN_TEXTS}


def make_shard(job: tuple[int, int, int, str, bool]) -> dict:
    seed, shard, count, folder, finish = job
    rng = random.Random(f"{seed}/{shard}")
    engine = _engine(Path(folder) / "espeak" if finish else None)
    banned = forbidden_texts()
    golden = [sentences.normalise(text) for text in sentences.GOLDEN_TEXTS]
    rows, position = [], 0
    with open(Path(folder) / f"audio-{shard}.i16", "wb") as file:
        while len(rows) < count:
            sentence = sentences.finishing_sentence(rng) if finish else sentences.sentence(rng)
            plain = sentences.normalise(sentence.text)
            if plain in banned or any(text in plain for text in golden):
                continue
            setting = voices.training_setting(rng, sentence.language, invented=0.55 if finish else 0.0)
            speech = engine.say(sentence.text, setting.voice, setting.speed, setting.pitch, intonation=rng.randrange(20, 81, 10))
            down = TRUE_RATE if rng.random() < 0.6 else rng.choice(WARPED_RATES)
            samples = audio.resample(speech.samples.astype(np.float32), 320, down)
            start, end = audio.speech_bounds(samples)
            if not 2000 < end - start < 9.4 * audio.SAMPLE_RATE:
                continue
            kept = np.clip(np.round(samples[start:end]), -32768, 32767).astype("<i2")
            file.write(kept.tobytes())

            def moved(sample: int) -> int:
                return min(max(sample * 320 // down - start, 0), end - start)

            # empty where espeak's events make no sense: such a sentence is never cut inside
            words = [moved(w) for w in espeak.word_starts(sentence.text, speech, len(speech.samples))]
            rows.append({
                "shard": shard, "offset": position, "length": len(kept), "words": words,
                "phones": [(moved(at), name) for at, name in speech.phones],
                "text": {"text": sentence.text, "language": sentence.language, "kind": sentence.kind, "english": sentence.english,
                         "voice": setting.voice},
            })  # fmt: skip
            position += len(kept)
    return {"shard": shard, "rows": rows}


_ENGINE: espeak.Espeak | None = None


def _engine(home: Path | None) -> espeak.Espeak:
    global _ENGINE
    _ENGINE = _ENGINE or espeak.Espeak(home)
    return _ENGINE


def build(folder: Path, count: int, seed: int, workers: int, finish: bool, phones: Path | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if finish:
        espeak.with_variants(folder / "espeak", {voices.invented_name(k): voices.invented_variant(k) for k in range(voices.INVENTED)})
    started = time.time()
    jobs = [(seed, shard, min(SHARD, count - shard * SHARD), str(folder), finish) for shard in range(-(-count // SHARD))]
    rows: list[dict] = []
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for done in pool.imap(make_shard, jobs):  # in order: the corpus does not depend on the number of workers
            rows += done["rows"]
            hours = sum(row["length"] for row in rows) / audio.SAMPLE_RATE / 3600
            print(f"corpus {len(rows)}/{count} sentences, {hours:.1f} h, {time.time() - started:.0f} s", flush=True)
    # Rare symbols (a stray diacritic) share class 1; class 0 is silence.
    if phones:
        names = json.loads(phones.read_text())
    else:
        counts = Counter(name for row in rows for _, name in row["phones"])
        names = ["", "?"] + sorted(name for name, n in counts.items() if name and n >= 200)
    ids = {name: index for index, name in enumerate(names)}
    np.savez(
        folder / "corpus.npz",
        shard=np.array([r["shard"] for r in rows], np.int32),
        offset=np.array([r["offset"] for r in rows], np.int64),
        length=np.array([r["length"] for r in rows], np.int32),
        word_from=np.cumsum([0] + [len(r["words"]) for r in rows]),
        words=np.array([w for r in rows for w in r["words"]], np.int32),
        phone_from=np.cumsum([0] + [len(r["phones"]) for r in rows]),
        phone_at=np.array([at for r in rows for at, _ in r["phones"]], np.int32),
        phone_id=np.array([ids.get(name, 1) for r in rows for _, name in r["phones"]], np.int16),
    )
    with open(folder / "texts.jsonl", "w") as file:
        for row in rows:
            file.write(json.dumps(row["text"], ensure_ascii=False) + "\n")
    (folder / "phones.json").write_text(json.dumps(names, ensure_ascii=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=80000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--finish", action="store_true", help="the corpus of the finishing stretch")
    parser.add_argument("--phones", type=Path, help="another corpus's phones.json, whose numbers to use")
    args = parser.parse_args()
    build(args.out, args.count, args.seed, args.workers, args.finish, args.phones)


if __name__ == "__main__":
    main()

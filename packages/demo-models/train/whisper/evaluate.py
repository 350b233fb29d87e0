"""Word error rates of a checkpoint by condition, through torch. (The numbers that count come from Lehr's own pipeline.)

    python3 evaluate.py --run DIR [--limit 60] [--samples DIR_WITH_MANIFEST]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

import audio
from decode import transcribe, transcribe_long, word_error_rate, word_errors
from model import Whisper
from tokenizer import Tokenizer

HERE = Path(__file__).parent


def held_out(limit: int | None = None) -> list[dict]:
    """The committed list, each entry with its `wave`: spoken now by the espeak-ng command."""
    entries = json.loads((HERE / "eval" / "heldout.json").read_text())["sentences"][:limit]
    with tempfile.TemporaryDirectory() as folder:
        for entry in entries:
            entry["wave"] = audio.speak(entry["text"], entry["voice"], entry["speed"], entry["pitch"], Path(folder) / "x.wav")
    return entries


def in_batches(model: Whisper, t: Tokenizer, waves: list[np.ndarray], size: int = 32, **options) -> list[dict]:
    found = []
    for start in range(0, len(waves), size):
        found += transcribe(model, t, [torch.from_numpy(w) for w in waves[start : start + size]], **options)
    return found


def quiet_waves(chunk_seconds: int) -> list[np.ndarray]:
    rng = np.random.RandomState(5)
    n = chunk_seconds * audio.SAMPLE_RATE
    time = np.arange(n) / audio.SAMPLE_RATE
    noises = [np.zeros(n), np.zeros(1600), *(rng.standard_normal(n) * level for level in (0.001, 0.01, 0.1, 0.3)),
              rng.standard_normal(n // 3) * 0.05, 0.2 * np.sin(2 * np.pi * 440 * time), 0.1 * np.sin(2 * np.pi * 50 * time),
              np.cumsum(rng.standard_normal(n)) * 1e-3]  # fmt: skip
    return [np.clip(x, -1, 1).astype(np.float32) for x in noises]


def long_form(entries: list[dict], model: Whisper, t: Tokenizer, count: int = 25) -> float:
    """Word error rate of one long recording: sentences joined with pauses, read window by window."""
    rng = np.random.RandomState(7)
    pieces: list[np.ndarray] = []
    for entry in entries[:count]:
        start, end = audio.speech_bounds(entry["wave"])
        pieces += [entry["wave"][start:end], np.zeros(int(rng.uniform(0.35, 1.5) * audio.SAMPLE_RATE), np.float32)]
    segments = transcribe_long(model, t, torch.from_numpy(np.concatenate(pieces)), "en")
    return word_error_rate([(" ".join(e["text"] for e in entries[:count]), " ".join(s["text"] for s in segments))])


def report(model: Whisper, t: Tokenizer, entries: list[dict], samples: Path | None = None, mistakes: int = 0) -> dict:
    """All conditions; numbers are word error rates unless the key says otherwise."""
    clean = [e["wave"] for e in entries]
    texts = [e["text"] for e in entries]
    noisy = [audio.add_noise(w, 10, seed=i) for i, w in enumerate(clean)]
    scores: dict[str, float] = {}
    found = in_batches(model, t, clean)
    scores["clean"] = word_error_rate([(a, b["text"]) for a, b in zip(texts, found)])
    by_kind = defaultdict(list)
    for entry, result in zip(entries, found):
        by_kind[f"{entry['language']}/{entry['kind']}"].append((entry["text"], result["text"]))
    scores.update({f"clean {kind}": word_error_rate(pairs) for kind, pairs in sorted(by_kind.items())})
    scores["language wrong"] = sum(e["language"] != r["language"] for e, r in zip(entries, found)) / len(entries)
    scores["exact text"] = sum(e["text"] == r["text"] for e, r in zip(entries, found)) / len(entries)
    timed = in_batches(model, t, clean, timestamps=True)
    scores["clean with timestamps"] = word_error_rate([(a, b["text"]) for a, b in zip(texts, timed)])
    ends = []
    for wave, result in zip(clean, timed):
        times = [(token - t.timestamp_begin) * 0.02 for token in result["tokens"] if token >= t.timestamp_begin]
        start, end = (x / audio.SAMPLE_RATE for x in audio.speech_bounds(wave))
        if len(times) >= 2:
            ends += [abs(times[0] - start), abs(times[-1] - end)]
    scores["timestamp error, mean s"] = float(np.mean(ends)) if ends else 9.0
    scores["noise 10 dB"] = word_error_rate([(a, b["text"]) for a, b in zip(texts, in_batches(model, t, noisy))])
    spanish = [e for e in entries if "english" in e]
    if spanish:
        english = in_batches(model, t, [e["wave"] for e in spanish], language="es", task="translate")
        scores["translate es"] = word_error_rate([(e["english"], r["text"]) for e, r in zip(spanish, english)])
    quiet = [in_batches(model, t, quiet_waves(model.config.chunk_seconds), language=code, timestamps=timed)
             for code, timed in (("en", False), ("en", True), (None, False))]  # fmt: skip
    scores["silence not empty"] = sum(bool(r["text"]) for results in quiet for r in results) / (3 * len(quiet[0]))
    scores["silence no_speech, mean"] = float(np.mean([r["no_speech"] for r in quiet[0]]))
    scores["speech no_speech, max"] = max(r["no_speech"] for r in found)
    if samples:
        manifest = json.loads((samples / "manifest.json").read_text())["speech"]
        waves = [audio.read_wav(samples / entry["file"]) for entry in manifest]
        for timestamps in (False, True):
            for entry, result in zip(manifest, in_batches(model, t, waves, timestamps=timestamps)):
                scores[f"golden {Path(entry['file']).stem}{' timed' if timestamps else ''}"] = word_error_rate([(entry["text"], result["text"])])
                if result["text"] != entry["text"] and mistakes:
                    print(f"  golden  want {entry['text']!r}\n           got {result['text']!r}")
    scores["long form"] = long_form([e for e in entries if e["language"] == "en"], model, t)
    wrong = [(e, r) for e, r in zip(entries, found) if word_errors(e["text"], r["text"])[0]]
    for entry, result in wrong[:mistakes]:
        print(f"  {entry['voice']} {entry['speed']}  want {entry['text']!r}\n    got {result['text']!r}")
    return scores


def load_run(folder: Path, device: str = "cpu") -> tuple[Whisper, Tokenizer, dict]:
    """The averaged weights of a training run."""
    from model import Config

    state = torch.load(folder / "checkpoint.pt", map_location=device)
    config = Config(**state["config"])
    model = Whisper(config).to(device).eval()
    model.load_state_dict(state["average"])
    return model, Tokenizer.read(folder / "merges.txt", config.chunk_seconds), state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--samples", type=Path, help="a folder with manifest.json and the speech files it names")
    parser.add_argument("--mistakes", type=int, default=15)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    model, t, state = load_run(args.run)
    scores = {"step": state["step"], **report(model, t, held_out(args.limit), args.samples, args.mistakes)}
    for name, value in scores.items():
        print(f"{name:32} {value:.4f}" if isinstance(value, float) else f"{name:32} {value}")
    if args.json:
        args.json.write_text(json.dumps(scores, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Makes `fixtures/long-mel.json`: windows of the log-mel that openai-whisper takes of a recording of 70 s.

    ~/.cache/lehr-real/whisper/venv/bin/python lab/real/whisper/make_long_mel.py

The recording is noise of a linear congruential generator, in 16-bit integers so that every language makes the same one, with a
loudness of its own for each second. Its loudest second is in none of the first windows. As `transcribe` does, the log-mel is that of
the recording with 30 s of zeros behind it, and a window is a part of it.
"""

import json
from pathlib import Path

import numpy as np
import whisper

OUT = Path(__file__).parent / "fixtures/long-mel.json"
RATE, FRAMES = 16_000, 3_000
SEED, LENGTH, LOUDEST_S = 4321, 70 * RATE + 77, 61
# The largest sample of second s is LEVELS[s % 7], and 16000 in the loudest one.
LEVELS = [40, 600, 3, 0, 2000, 150, 12]
STARTS = [0, 1, 1234, 3000, 5050, 6900]
PLACES = [(bin, frame) for bin in (0, 17, 40, 79) for frame in (0, 1, 2, 99, 1500, 2998, 2999)]


def recording() -> np.ndarray:
    state, samples = SEED, np.zeros(LENGTH, dtype=np.int16)
    for n in range(LENGTH):
        state = (state * 1664525 + 1013904223) % 2**32
        most = 16_000 if n // RATE == LOUDEST_S else LEVELS[n // RATE % len(LEVELS)]
        samples[n] = (state >> 16) % (2 * most + 1) - most
    return samples


def rounded(values) -> list[float]:
    return [round(float(value), 6) for value in values]


def main() -> None:
    samples = recording()
    waveform = samples.astype(np.float32) / 32768
    mel = whisper.log_mel_spectrogram(waveform, 80, padding=30 * RATE).double().numpy()
    assert mel.shape[1] == LENGTH // 160 + FRAMES
    windows = []
    for start in STARTS:
        window = mel[:, start:start + FRAMES]
        windows.append({"start_frame": start, "mel_bin_sums": rounded(window.sum(axis=1)),
                        "samples": {f"{bin},{frame}": round(float(window[bin, frame]), 6) for bin, frame in PLACES}})
    OUT.write_text(json.dumps({"seed": SEED, "length": LENGTH, "loudest_second": LOUDEST_S, "levels": LEVELS,
                               "first16": samples[:16].tolist(), "windows": windows}, indent=1) + "\n")


main()

"""Writes eval/heldout.json: 200 sentences in held-out voice settings, none of which may be trained on; and the audio of
the first twenty as eval/clips/*.ogg, for tests on machines without espeak-ng (this part needs espeak-ng and ffmpeg).

Run once, before the corpus is made; the files are committed, and the corpus refuses every text in the list.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import audio
import sentences
import voices

FOLDER = Path(__file__).parent / "eval"
CLIPS = 20

PLAN = [("en", "scene", 130), ("es", "scene", 25), ("en", "numbers", 15), ("en", "everyday", 15), ("en", "picture", 15)]


def store_clips(entries: list[dict]) -> None:
    (FOLDER / "clips").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for index, entry in enumerate(entries[:CLIPS]):
            wave = audio.speak(entry["text"], entry["voice"], entry["speed"], entry["pitch"], Path(folder) / "x.wav")
            raw = np.clip(np.round(wave * 32768), -32768, 32767).astype("<i2").tobytes()
            ogg = FOLDER / "clips" / f"{index:03}.ogg"
            # 24 kbit/s of Opus carry all of 16 kHz speech; bit-exact leaves out the encoder's name and a random serial.
            command = ["ffmpeg", "-v", "error", "-y", "-f", "s16le", "-ar", "16000", "-ac", "1", "-i", "-",
                       "-c:a", "libopus", "-b:a", "24k", "-flags", "+bitexact", "-fflags", "+bitexact", str(ogg)]  # fmt: skip
            subprocess.run(command, input=raw, check=True)


def main() -> None:
    rng = random.Random("demo-whisper held out")
    seen = {sentences.normalise(text) for text in sentences.GOLDEN_TEXTS}
    entries = []
    for language, kind, count in PLAN:
        while count:
            sentence = sentences.sentence(rng, language, kind)
            plain = sentences.normalise(sentence.text)
            if plain in seen or not 4 <= len(plain.split()) <= 18:
                continue
            seen.add(plain)
            setting = voices.held_out_setting(rng, language)
            entries.append({"text": sentence.text, "language": language, "kind": kind, "voice": setting.voice,
                            "speed": setting.speed, "pitch": setting.pitch,
                            **({"english": sentence.english} if sentence.english else {})})  # fmt: skip
            count -= 1
    rng.shuffle(entries)
    note = ("Held out of training: no voice variant, speed or pitch here was trained on. Audio: espeak-ng -v voice -s speed -p pitch "
            "-w file text, resampled to 16 kHz. clips/NNN.ogg is the audio of sentence NNN.")  # fmt: skip
    lines = ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in entries)
    store_clips(entries)
    (FOLDER / "heldout.json").write_text(f'{{"note": {json.dumps(note)},\n "sentences": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()

"""Records what openai-whisper's add_word_timestamps makes of given times of words: fixtures/word-limits.json.

Run it in the environment of the section whisper. The alignment is given, so that only the rules after it are recorded.
"""

import json
import random
from pathlib import Path
from types import SimpleNamespace

from whisper import timing

WORDS = [" the", " moon", " is", " far", " away", ",", ".", "?", " and", " well"]
END_OF_TEXT = 1000


def given(seed: int):
    """Words of two segments without gaps, some of them long, and segment times that are partly far from those of the words."""
    draw = random.Random(seed)
    at = draw.choice([0, 0.4, 3])
    segments = []
    for _ in range(2):
        words = []
        for i in range(draw.randint(1, 5)):
            word = draw.choice(WORDS if i else WORDS[:5])
            end = round(at + draw.choice([0, 0.1, 0.2, 0.24, 0.36, 0.8, 1.9]), 2)
            words.append({"word": word, "start": at, "end": end})
            at = end
        start = round(words[0]["start"] + draw.choice([0, 0, 0.2, 0.9]), 2)
        end = round(max(start, words[-1]["end"] - draw.choice([0, 0, 0.2, 0.9])), 2)
        segments.append({"start": start, "end": end, "words": words})
    return segments


def limited(segments):
    words = [timing.WordTiming(each["word"], [1], each["start"], each["end"], 1.0) for segment in segments for each in segment["words"]]
    timing.find_alignment = lambda *_, **__: words
    theirs = [{"start": each["start"], "end": each["end"], "seek": 0, "tokens": [1] * len(each["words"])} for each in segments]
    timing.add_word_timestamps(segments=theirs, model=None, tokenizer=SimpleNamespace(eot=END_OF_TEXT), mel=None, num_frames=3000,
                               last_speech_timestamp=0.0)
    return [[{"word": each["word"], "start": round(float(each["start"]), 4), "end": round(float(each["end"]), 4)}
             for each in segment["words"]] for segment in theirs]


cases = [{"given": given(seed), "wanted": limited(given(seed))} for seed in range(16)]
target = Path(__file__).parent / "fixtures/word-limits.json"
target.write_text("[\n" + ",\n".join(json.dumps(each) for each in cases) + "\n]\n")

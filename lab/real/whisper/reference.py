"""Answers with what transformers, Optimum and openai-whisper write for an audio file; the weights are the same in all of them."""

import importlib
import json
import sys
from functools import cache
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import numpy as np
import soundfile
import torch
from transformers import WhisperForConditionalGeneration, WhisperProcessor

from openai_model import as_openai
from serve import serve

# Only results matter here, and one thread is the least affected by other load.
torch.set_num_threads(1)
# Half of the decoder's positions, where openai-whisper and Lehr end a text; transformers goes on to the last position.
MAX_TOKENS = 224


def waveform(file: str) -> np.ndarray:
    """16 kHz mono."""
    samples, rate = soundfile.read(file, dtype="float32")
    assert rate == 16000 and samples.ndim == 1, file
    return samples


@cache
def processor(folder: str):
    return WhisperProcessor.from_pretrained(folder)


@cache
def in_torch(folder: str):
    return WhisperForConditionalGeneration.from_pretrained(folder, attn_implementation="eager").eval()


@cache
def in_optimum(folder: str):
    from optimum.onnxruntime import ORTModelForSpeechSeq2Seq
    merged = (Path(folder) / "decoder_model_merged.onnx").exists()
    return ORTModelForSpeechSeq2Seq.from_pretrained(folder, use_merged=merged, use_cache=True)


def written(folder: str, prompt: list[int], ids: list[int], text: str):
    """What every program answers: the tokens after the prompt, without the end of text."""
    tokenizer = processor(folder).tokenizer
    end = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    return {"tokens": [id for id in ids if id != end], "language": tokenizer.convert_ids_to_tokens(prompt[1]), "text": text}


def disturbed(features: torch.Tensor, largest: float) -> torch.Tensor:
    """With values to this size added, equal in every run; without them for 0."""
    if largest == 0:
        return features
    noise = torch.rand(features.shape, generator=torch.Generator().manual_seed(1))
    return features + largest * (2 * noise - 1)


def generate(request):
    """What transformers writes for each file, decoded alone and greedily, in one window.

    Without `force_unique_generate_call` transformers decodes a window with timestamps like a long file: after a text that ends in two
    timestamps it goes on in the padding behind the sound, and returns what it writes there as well. It also keeps the prompt only then.
    """
    folder = request["folder"]
    model = (in_optimum if request.get("runtime") == "optimum" else in_torch)(folder)
    tokenizer = processor(folder).tokenizer
    tasks = tokenizer.convert_tokens_to_ids(["<|transcribe|>", "<|translate|>"])
    answers = []
    for each in request["files"]:
        inputs = processor(folder).feature_extractor(waveform(each["file"]), sampling_rate=16000, return_tensors="pt")
        features = disturbed(inputs.input_features, request.get("disturbance", 0))
        if request.get("float16"):
            features = features.half()
        with torch.no_grad():
            ids = model.generate(features, language=each.get("language"), task=each["task"], return_timestamps=request["timestamps"],
                                 num_beams=1, do_sample=False, max_new_tokens=MAX_TOKENS, force_unique_generate_call=True,
                                 return_dict_in_generate=True).sequences[0].tolist()
        assert ids[2] in tasks, ids[:4]
        length = 3 if request["timestamps"] else 4
        text = tokenizer.decode(ids[length:], skip_special_tokens=True)
        answers.append(written(folder, ids[:length], ids[length:], text))
    return answers


def decode(request):
    """What openai-whisper's DecodingTask writes for each file, decoded alone and greedily, in one window."""
    import whisper
    folder = request["folder"]
    answers = []
    for each in request["files"]:
        mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(waveform(each["file"])))
        options = whisper.DecodingOptions(language=each.get("language"), task=each["task"], fp16=False,
                                          without_timestamps=not request["timestamps"])
        result = whisper.decode(in_openai(folder), mel, options)
        start = processor(folder).tokenizer.convert_tokens_to_ids(["<|startoftranscript|>", f"<|{result.language}|>"])
        answers.append(written(folder, start, result.tokens, result.text))
    return answers


@cache
def in_openai(folder: str):
    return as_openai(in_torch(folder))


def silence_behind_the_sound():
    """Lets `transcribe` of openai-whisper fill a short window with silence, as its `decode` gets it, and transformers and Lehr.

    As it is, it fills the log-mel with zeros, which is louder than silence, and writes other words for short files.
    """
    import torch
    loop = importlib.import_module("whisper.transcribe")
    pad_or_trim, log_mel = loop.pad_or_trim, loop.log_mel_spectrogram
    quietest = [0.0]

    def with_quietest(*args, **options):
        mel = log_mel(*args, **options)
        quietest[0] = float(mel.min())
        return mel

    def filled(array, length=480000, *, axis=-1):
        missing = length - array.shape[axis]
        if torch.is_tensor(array) and array.ndim == 2 and missing > 0:
            return torch.nn.functional.pad(array, (0, missing), value=quietest[0])
        return pad_or_trim(array, length, axis=axis)

    loop.log_mel_spectrogram, loop.pad_or_trim = with_quietest, filled


def transcribe(request):
    """openai-whisper's own loop over the windows of a file, with the defaults of its Python function and silence behind the sound."""
    options = {key: request[key] for key in ("language", "task", "word_timestamps", "temperature") if key in request}
    result = in_openai(request["folder"]).transcribe(waveform(request["file"]), fp16=False, **options)
    return {"language": result["language"], "text": result["text"], "segments": [
        {"start": float(each["start"]), "end": float(each["end"]), "text": each["text"], "temperature": float(each["temperature"]),
         "words": [{"word": word["word"], "start": float(word["start"]), "end": float(word["end"])} for word in each.get("words", [])]}
        for each in result["segments"]]}


silence_behind_the_sound()
serve(lambda request: {"generate": generate, "decode": decode, "transcribe": transcribe}[request["do"]](request))

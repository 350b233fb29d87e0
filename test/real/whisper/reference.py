"""Answers with what transformers, Optimum and openai-whisper write for an audio file; the weights are the same in all of them."""

import json
import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import soundfile
import torch
from transformers import WhisperForConditionalGeneration, WhisperProcessor

from serve import serve

# Only results matter here, and one thread is the least affected by other load.
torch.set_num_threads(1)


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


def generate(request):
    """The tokens of each file, decoded alone and greedily: those after the prompt, without the end of text."""
    model = (in_optimum if request.get("runtime") == "optimum" else in_torch)(request["folder"])
    special = processor(request["folder"]).tokenizer
    prompt_end = special.convert_tokens_to_ids("<|notimestamps|>")
    written = []
    for each in request["files"]:
        inputs = processor(request["folder"]).feature_extractor(waveform(each["file"]), sampling_rate=16000, return_tensors="pt")
        features = inputs.input_features
        if request.get("float16"):
            features = features.half()
        with torch.no_grad():
            ids = model.generate(features, language=each.get("language"), task=each.get("task", "transcribe"),
                                 return_timestamps=request["timestamps"], num_beams=1, do_sample=False)[0].tolist()
        language = next((special.convert_ids_to_tokens(id) for id in ids if 50259 <= id <= 50357), None)
        first = next(i for i, id in enumerate(ids) if id in (50358, 50359)) + 1 if any(id in (50358, 50359) for id in ids) else 0
        tokens = [id for id in ids[first:] if id < 50257 or id > prompt_end]
        written.append({"tokens": tokens, "language": language, "text": special.decode(tokens, skip_special_tokens=True)})
    return written


@cache
def in_openai(folder: str):
    import whisper
    from whisper.model import ModelDimensions, Whisper
    renames = [
        ("model.", ""), ("encoder.layers.", "encoder.blocks."), ("decoder.layers.", "decoder.blocks."),
        ("self_attn_layer_norm", "attn_ln"), ("encoder_attn_layer_norm", "cross_attn_ln"), ("final_layer_norm", "mlp_ln"),
        ("self_attn", "attn"), ("encoder_attn", "cross_attn"), ("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"),
        ("out_proj", "out"), ("fc1", "mlp.0"), ("fc2", "mlp.2"), ("encoder.layer_norm", "encoder.ln_post"),
        ("decoder.layer_norm", "decoder.ln"), ("decoder.embed_tokens", "decoder.token_embedding"),
        ("encoder.embed_positions.weight", "encoder.positional_embedding"),
        ("decoder.embed_positions.weight", "decoder.positional_embedding"),
    ]
    state = {}
    for name, tensor in in_torch(folder).state_dict().items():
        if name == "proj_out.weight":
            continue
        for old, new in renames:
            name = name.replace(old, new)
        state[name] = tensor
    model = Whisper(ModelDimensions(n_mels=80, n_audio_ctx=1500, n_audio_state=512, n_audio_head=8, n_audio_layer=6,
                                    n_vocab=51865, n_text_ctx=448, n_text_state=512, n_text_head=8, n_text_layer=6))
    model.load_state_dict(state)
    model.set_alignment_heads(whisper._ALIGNMENT_HEADS["base"])
    return model.eval()


def transcribe(request):
    """openai-whisper's own loop over the windows of a file, with the defaults of its Python function."""
    options = {key: request[key] for key in ("language", "task", "word_timestamps") if key in request}
    result = in_openai(request["folder"]).transcribe(waveform(request["file"]), fp16=False, **options)
    return {"language": result["language"], "text": result["text"], "segments": [
        {"start": float(each["start"]), "end": float(each["end"]), "text": each["text"], "temperature": float(each["temperature"]),
         "words": [{"word": word["word"], "start": float(word["start"]), "end": float(word["end"])} for word in each.get("words", [])]}
        for each in result["segments"]]}


serve(lambda request: {"generate": generate, "transcribe": transcribe}[request["do"]](request))

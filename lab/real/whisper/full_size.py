"""Whisper large-v3 and its smaller forms at full size with random weights: makes them, exports them as onnx-community does, and answers with
what transformers writes in PyTorch. Graphs of this size are not simplified by onnxslim, which would need several times their memory.
"""

import gc
import shutil
import sys
import time
from functools import cache
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import numpy as np
import torch
from transformers import GenerationConfig, GenerationMixin, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

import hub_layout
from serve import serve

torch.set_num_threads(2)
WIDTH, HEADS, END, START = 1280, 20, 50257, 50258
# Layers of encoder and decoder.
LAYERS = {"large-v3": (32, 32), "large-v3-turbo": (32, 4), "distil-large-v3": (32, 2)}


def make(request) -> dict:
    encoder_layers, decoder_layers = LAYERS[request["name"]]
    tokens = dict(pad_token_id=END, bos_token_id=END, eos_token_id=END, decoder_start_token_id=START)
    config = WhisperConfig(
        vocab_size=51866, num_mel_bins=128, d_model=WIDTH, encoder_layers=encoder_layers, decoder_layers=decoder_layers,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=4 * WIDTH, decoder_ffn_dim=4 * WIDTH,
        max_source_positions=1500, max_target_positions=448, suppress_tokens=None, begin_suppress_tokens=None, **tokens)
    torch.manual_seed(1)
    model = WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1 and "embed" not in name:
                # The encoder adds little to what it hears, and what is heard counts most, so that texts depend on the sound.
                is_residue = name.startswith("model.encoder") and ("out_proj" in name or "fc2" in name)
                factor = 0.1 if is_residue else 4 if "encoder_attn" in name else 1
                parameter.normal_(std=factor / parameter[0].numel() ** 0.5)
        model.model.decoder.embed_positions.weight.normal_(std=1.5)
        model.model.decoder.embed_tokens.weight.normal_(std=2 / WIDTH ** 0.5)
    model.generation_config = GenerationConfig(
        alignment_heads=[[decoder_layers - 1, head] for head in range(4)], is_multilingual=True, no_timestamps_token_id=50364,
        prev_sot_token_id=50362, task_to_id={"transcribe": 50360, "translate": 50359}, suppress_tokens=[END],
        lang_to_id={"<|en|>": 50259, "<|yue|>": 50358}, max_initial_timestamp_index=50, max_length=448, return_timestamps=False, **tokens)
    folder = Path(request["folder"])
    model.save_pretrained(folder)
    WhisperFeatureExtractor(feature_size=128).save_pretrained(folder)
    return {"parameters": sum(parameter.numel() for parameter in model.parameters())}


def export(request) -> dict:
    folder = Path(request["folder"])
    shutil.rmtree(folder.with_name(f"{folder.name}-export"), ignore_errors=True)
    hub_layout.export(Path(request["weights"]), folder, timestamped=request.get("timestamped", False), slim=False)
    return {}


def convert(request) -> dict:
    hub_layout.convert(Path(request["folder"]), request["variant"])
    gc.collect()
    return {}


@cache
def in_torch(folder: str):
    return WhisperForConditionalGeneration.from_pretrained(folder).eval()


def write(request) -> list:
    """The tokens after the prompt for each log-mel, decoded alone and greedily."""
    model, answers = in_torch(request["folder"]), []
    for file in request["mels"]:
        features = torch.from_numpy(np.fromfile(file, "<f4").reshape(1, 128, 3000))
        with torch.no_grad():
            prompt = torch.tensor([request["prompt"]])
            ids = GenerationMixin.generate(model, features, decoder_input_ids=prompt, num_beams=1, do_sample=False,
                                           max_new_tokens=request["max_tokens"], suppress_tokens=[END])[0].tolist()
        answers.append(ids[len(request["prompt"]):])
    return answers


def logits(request) -> dict:
    """Writes the logits after the prompt for a log-mel, and tells how long encoder and decoder took."""
    model = in_torch(request["folder"])
    features = torch.from_numpy(np.fromfile(request["mel"], "<f4").reshape(1, 128, 3000))
    with torch.no_grad():
        began = time.perf_counter()
        heard = model.model.encoder(features)
        encoded = time.perf_counter()
        found = model(encoder_outputs=heard, decoder_input_ids=torch.tensor([request["prompt"]])).logits[0, -1]
    found.numpy().astype("<f4").tofile(request["out"])
    return {"encode_seconds": encoded - began, "decode_seconds": time.perf_counter() - encoded}


if __name__ == "__main__":
    serve(lambda request: {"make": make, "export": export, "convert": convert, "write": write, "logits": logits}[request["do"]](request))

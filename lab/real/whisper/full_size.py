"""Whisper large-v3 and its smaller forms at full size with random weights: makes them, exports and converts them, and answers with
what transformers writes in PyTorch. Graphs of this size are not simplified by onnxslim, which would need several times their memory.
"""

import gc
import json
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import numpy as np
import torch
from transformers import GenerationConfig, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

import hub_layout
from serve import serve

EXPORT = Path(__file__).parents[3] / "apps/worker/python/export_model.py"

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
                # The encoder adds little to what it hears, and what is heard counts most, so that texts depend on the sound. Sharper attention than
                # that of 1 would make 32 layers chaotic: a rounding in another order gives other logits, in torch, too.
                is_residue = name.startswith("model.encoder") and ("out_proj" in name or "fc2" in name)
                is_heard = "encoder_attn.v_proj" in name or "encoder_attn.out_proj" in name
                factor = 0.1 if is_residue else 4 if is_heard else 1
                parameter.normal_(std=factor / parameter[0].numel() ** 0.5)
        model.model.decoder.embed_positions.weight.normal_(std=1.5)
        model.model.decoder.embed_tokens.weight.normal_(std=2 / WIDTH ** 0.5)
    model.generation_config = GenerationConfig(
        alignment_heads=[[decoder_layers - 1, head] for head in range(4)], is_multilingual=True, no_timestamps_token_id=50364,
        prev_sot_token_id=50362, task_to_id={"transcribe": 50360, "translate": 50359}, suppress_tokens=[END],
        lang_to_id={"<|en|>": 50259, "<|yue|>": 50358}, max_initial_timestamp_index=50, max_length=448, return_timestamps=False, **tokens)
    folder = Path(request["folder"])
    # In half precision, as they are published: transformers and the exporter make float32 of it again.
    model.half().save_pretrained(folder)
    WhisperFeatureExtractor(feature_size=128).save_pretrained(folder)
    return {"parameters": sum(parameter.numel() for parameter in model.parameters())}


def export(request) -> dict:
    """By the program of `lehr models export`; the graphs then stand below `onnx`, as on the hub."""
    folder = Path(request["folder"])
    graphs = folder / "onnx"
    shutil.rmtree(folder, ignore_errors=True)
    wanted = {"source": request["weights"], "revision": None, "kind": "model", "folder": str(folder), "downloads": str(folder / "downloads")}
    # It ends with its stdin.
    with subprocess.Popen([sys.executable, EXPORT, json.dumps(wanted)], stdin=subprocess.PIPE, stdout=sys.stderr) as program:
        assert program.wait() == 0
    graphs.mkdir()
    for file in folder.glob("*.onnx*"):
        if file.name.startswith(hub_layout.GRAPHS):
            file.rename(graphs / file.name)
        else:
            file.unlink()
    return {}


def convert(request) -> dict:
    hub_layout.convert(Path(request["folder"]), request["variant"])
    gc.collect()
    return {}


@cache
def in_torch(folder: str):
    return WhisperForConditionalGeneration.from_pretrained(folder).eval()


def logits(request) -> dict:
    """Writes the logits after the prompt for a log-mel, and answers with the CPU time of the encoder."""
    model = in_torch(request["folder"])
    features = torch.from_numpy(np.fromfile(request["mel"], "<f4").reshape(1, 128, 3000))
    with torch.no_grad():
        began = time.process_time()
        heard = model.model.encoder(features)
        spent = time.process_time() - began
        found = model(encoder_outputs=heard, decoder_input_ids=torch.tensor([request["prompt"]])).logits[0, -1]
    found.numpy().astype("<f4").tofile(request["out"])
    return {"encode_cpu_seconds": spent}


if __name__ == "__main__":
    serve(lambda request: {"make": make, "export": export, "convert": convert, "logits": logits}[request["do"]](request))

"""Graphs whose attentions Lehr fuses beside the UNets: `{"export": FOLDER}` writes Optimum's exports of them below it.

Whisper base (whisper/), all-MiniLM-L6-v2 (MiniLM/) and bert-base-uncased (BERT-base/) in their published sizes, with seeded random weights.
"""

import sys
from pathlib import Path

import torch
from optimum.exporters.onnx import onnx_export_from_model
from transformers import BertConfig, BertModel, WhisperConfig, WhisperForConditionalGeneration

sys.path.insert(0, str(Path(__file__).parent.parent))
from serve import serve  # noqa: E402


def whisper():
    return WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=51865, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
        encoder_ffn_dim=2048, decoder_ffn_dim=2048, num_mel_bins=80,
    ))


def bert(width: int, layers: int):
    return BertModel(BertConfig(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=12, intermediate_size=4 * width,
    ))


GRAPHS = {
    "whisper": (whisper, "automatic-speech-recognition"),
    "MiniLM": (lambda: bert(384, 6), "feature-extraction"),
    "BERT-base": (lambda: bert(768, 12), "feature-extraction"),
}


def answer(request):
    for name, (make, task) in GRAPHS.items():
        torch.manual_seed(7)
        onnx_export_from_model(make().eval(), Path(request["export"]) / name, task=task, do_validation=False)
    return {}


serve(answer)

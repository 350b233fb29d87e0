"""Whisper's folder of transformers as a file that whisper.cpp opens.

The file is little-endian, without padding: a magic number, the sizes of the model, the mel filters, the bytes of each token of text, then
the tensors until its end. Tensors have the names of openai-whisper; matrices are float16, vectors and positions float32. Written after
what whisper_model_load of whisper.cpp (src/whisper.cpp, 1.8) reads.
"""

import json
import re
import struct
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from serve import serve

MAGIC = 0x67676D6C
FLOAT32, FLOAT16 = 0, 1

# Parts of the names in transformers, and what openai-whisper calls them. All are replaced, one after the other.
NAMES = (
    (r"^model\.", ""), (r"\.layers\.", ".blocks."), (r"embed_positions\.weight", "positional_embedding"), ("embed_tokens", "token_embedding"),
    ("self_attn_layer_norm", "attn_ln"), ("encoder_attn_layer_norm", "cross_attn_ln"), ("final_layer_norm", "mlp_ln"),
    ("self_attn", "attn"), ("encoder_attn", "cross_attn"), ("fc1", "mlp.0"), ("fc2", "mlp.2"),
    ("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "out"),
    (r"^encoder\.layer_norm", "encoder.ln_post"), (r"^decoder\.layer_norm", "decoder.ln"),
)


def openai_name(name: str) -> str:
    for pattern, replacement in NAMES:
        name = re.sub(pattern, replacement, name)
    return name


def numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def header(config: dict) -> bytes:
    return numbers(
        MAGIC, config["vocab_size"],
        config["max_source_positions"], config["d_model"], config["encoder_attention_heads"], config["encoder_layers"],
        config["max_target_positions"], config["d_model"], config["decoder_attention_heads"], config["decoder_layers"],
        config["num_mel_bins"], FLOAT16)


def mel_filters(size: int) -> bytes:
    from transformers import WhisperFeatureExtractor
    filters = np.asarray(WhisperFeatureExtractor(feature_size=size).mel_filters, np.float32).T
    return numbers(*filters.shape) + filters.tobytes()


def vocabulary(folder: Path) -> bytes:
    """The tokens of text only, in the order of their ids: whisper.cpp knows the special ones."""
    from transformers import WhisperTokenizer
    from transformers.models.whisper.tokenization_whisper import bytes_to_unicode
    tokenizer = WhisperTokenizer.from_pretrained(folder)
    byte_of = {character: byte for byte, character in bytes_to_unicode().items()}
    first_special = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    tokens = [bytes(byte_of[character] for character in token) for token in tokenizer.convert_ids_to_tokens(range(first_special))]
    return numbers(len(tokens)) + b"".join(numbers(len(token)) + token for token in tokens)


def tensor(name: str, value: np.ndarray) -> bytes:
    """Sizes are written from the fastest dimension to the slowest; a bias of a convolution is a column."""
    if re.search(r"conv\d\.bias", name):
        value = value[:, None]
    is_matrix = value.ndim > 1 and name.endswith(".weight")
    kind, dtype = (FLOAT16, np.float16) if is_matrix else (FLOAT32, np.float32)
    encoded = name.encode()
    return numbers(value.ndim, len(encoded), kind, *reversed(value.shape)) + encoded + np.ascontiguousarray(value, dtype).tobytes()


def convert(request):
    from safetensors.numpy import load_file
    folder, file = Path(request["folder"]), Path(request["file"])
    config = json.loads((folder / "config.json").read_text())
    # The projection of the decoder has the weights of the embeddings, and is not in either file.
    tensors = {name: value for name, value in load_file(folder / "model.safetensors").items() if name != "proj_out.weight"}
    partial = file.with_suffix(".partial")
    partial.write_bytes(header(config) + mel_filters(config["num_mel_bins"]) + vocabulary(folder)
                        + b"".join(tensor(openai_name(name), value) for name, value in tensors.items()))
    partial.rename(file)
    return {"tensors": len(tensors), "bytes": file.stat().st_size}


serve(convert)

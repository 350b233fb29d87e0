"""Makes the fixtures of Whisper large-v3 and its smaller forms: 128 mel bins, 51,866 tokens, fewer layers in the decoder than in the
encoder, in the layout and the precisions that onnx-community has on the hub. The weights are tiny and random.

    ~/.cache/lehr-real/whisper/venv/bin/python lab/real/whisper/make_v3_fixtures.py

The environment is that of make_fixtures.py. Only the tokens that are used have an embedding; the others are zeros, which gzip removes. The
tokenizer is not among the files: tests make it of the vocabulary in test/golden. `cases.json` has what transformers writes and which
language it detects, and the words that openai-whisper times with the same weights; `features.f32` is the log-mel of the first sample.
"""

import gzip
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

import torch
from transformers import GenerationConfig, GenerationMixin, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration
from whisper.timing import find_alignment
from whisper.tokenizer import get_tokenizer

import exports
import hub_layout
from make_fixtures import features
from openai_model import as_openai

OUT = Path(__file__).parent / "v3/fixtures"
SECONDS, WIDTH, HEADS = 2, 32, 2
ENCODER_LAYERS, DECODER_LAYERS = 3, 2
MAX_TOKENS, ENDS_NEAR, END_PULL = 32, 20, 4
VARIANTS = ("fp16", "quantized", "q4", "q4f16", "bnb4")
TEXTS = ["And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your country.",
         " The quick brown fox jumps over the lazy dog; red circles and blue stars above the old lighthouse.",
         " un círculo rojo y dos estrellas azules sobre el faro viejo", "你好，今日天氣好好，我哋去飲茶"]
LANGUAGES = ("en", "es", "yue")
SAMPLES = ("en_circle", "en_fox", "en_lighthouse", "en_stars", "es_circulo")
CASES = [dict(sample=sample, language=language, task=task) for sample in SAMPLES for language, task in
         (("es" if sample.startswith("es") else "en", "transcribe"), ("yue", "transcribe"), ("yue", "translate"))]
ids = get_tokenizer(True, num_languages=100)


def tiny_model() -> WhisperForConditionalGeneration:
    words = sorted({id for text in TEXTS for id in ids.encode(text)})
    special = list(range(ids.eot, ids.timestamp_begin + 50 * SECONDS + 1))
    tokens = dict(pad_token_id=ids.eot, bos_token_id=ids.eot, eos_token_id=ids.eot, decoder_start_token_id=ids.sot)
    config = WhisperConfig(
        vocab_size=51866, num_mel_bins=128, d_model=WIDTH, encoder_layers=ENCODER_LAYERS, decoder_layers=DECODER_LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=4 * WIDTH, decoder_ffn_dim=4 * WIDTH,
        max_source_positions=SECONDS * 50, max_target_positions=96, suppress_tokens=None, begin_suppress_tokens=None, **tokens)
    torch.manual_seed(3)
    model = WhisperForConditionalGeneration._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1 and "embed" not in name:
                # What is heard counts most, so that texts and languages depend on the sound.
                parameter.normal_(std=(6 if "encoder_attn" in name else 1.5) / parameter[0].numel() ** 0.5)
        table = model.model.decoder.embed_tokens.weight.zero_()
        used = torch.tensor([*words, *special])
        table[used] = torch.randn(len(used), WIDTH) * 2 / WIDTH ** 0.5
        positions = model.model.decoder.embed_positions.weight.normal_(std=1.5)
        positions += END_PULL * torch.arange(len(positions))[:, None] * table[ids.eot] / ENDS_NEAR
    names = {f"<|{code}|>": token for code, token in zip(ids.all_language_codes, ids.all_language_tokens)}
    model.generation_config = GenerationConfig(
        alignment_heads=[[1, 0], [1, 1]], begin_suppress_tokens=[220, ids.eot], lang_to_id=names,
        suppress_tokens=sorted({*special} - {ids.eot}),
        task_to_id={"transcribe": ids.transcribe, "translate": ids.translate}, is_multilingual=True,
        no_timestamps_token_id=ids.no_timestamps, prev_sot_token_id=ids.sot_prev, max_initial_timestamp_index=50, max_length=96,
        return_timestamps=False, **tokens)
    return model


def written(model, extractor, case) -> list[int]:
    """The tokens after the prompt, without the end of text."""
    task = ids.transcribe if case["task"] == "transcribe" else ids.translate
    prompt = [ids.sot, ids.to_language_token(case["language"]), task, ids.no_timestamps]
    with torch.no_grad():
        out = GenerationMixin.generate(model, features(extractor, case["sample"]), decoder_input_ids=torch.tensor([prompt]),
                                       num_beams=1, do_sample=False, max_new_tokens=MAX_TOKENS)[0].tolist()
    return [id for id in out[len(prompt):] if id != ids.eot]


@cache
def in_optimum(folder: Path, variant: str):
    from optimum.onnxruntime import ORTModelForSpeechSeq2Seq
    plain = folder.with_name(f"plain-{variant}")
    plain.mkdir()
    exports.copy_configs(folder, plain)
    for name in hub_layout.GRAPHS:
        (plain / f"{name}.onnx").hardlink_to(folder / "onnx" / f"{name}_{variant}.onnx")
    return ORTModelForSpeechSeq2Seq.from_pretrained(plain, use_merged=True)


def detected(model, extractor, sample) -> str:
    """The likeliest language of all 100."""
    with torch.no_grad():
        token = model.detect_language(features(extractor, sample)).item()
    return ids.decode([token]).strip("<|>")


def timed_words(model, extractor, language: str, text: str) -> dict:
    """As openai-whisper aligns a text with the first sample, before it limits words at pauses."""
    spoken = get_tokenizer(True, num_languages=100, language=language, task="transcribe")
    tokens = spoken.encode(text)
    mel = features(extractor, SAMPLES[0])[0]
    words = find_alignment(as_openai(model), spoken, tokens, mel, mel.shape[1])
    return dict(language=language, tokens=tokens, words=[dict(word=each.word, start=round(float(each.start), 2),
                                                            end=round(float(each.end), 2)) for each in words])


def main() -> None:
    torch.set_num_threads(1)
    shutil.rmtree(OUT, ignore_errors=True)
    extractor, model = WhisperFeatureExtractor(feature_size=128, chunk_length=SECONDS), tiny_model()
    recorded = [dict(case, tokens=written(model, extractor, case)) for case in CASES]
    languages = {sample: detected(model, extractor, sample) for sample in SAMPLES}
    texts = {tuple(each["tokens"]) for each in recorded}
    assert len(texts) > 0.8 * len(CASES) and len({*languages.values()}) > 2, f"too much is equal: {recorded} {languages}"
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        model.save_pretrained(root / "weights")
        extractor.save_pretrained(root / "weights")
        hub_layout.export(root / "weights", root / "turbo", beside=True)
        hub_layout.export(root / "weights", root / "turbo_timestamped", timestamped=True)
        for variant in VARIANTS:
            hub_layout.convert(root / "turbo", variant)
        hub_layout.convert(root / "turbo_timestamped", "fp16")
        precisions = {variant: [written(in_optimum(root / "turbo", variant), extractor, case) for case in CASES]
                      for variant in VARIANTS}
        for file in sorted(root.glob("turbo*/**/*")):
            target = OUT / file.relative_to(root)
            # The encoder of both is the same.
            if file.is_dir() or ("timestamped" in str(file) and "encoder" in file.name):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".json":
                shutil.copy(file, target)
            else:
                target.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    features(extractor, SAMPLES[0]).numpy().astype("<f4").tofile(OUT / "features.f32")
    (OUT / "cases.json").write_text(json.dumps({
        "max_tokens": MAX_TOKENS, "cases": recorded,
        "precisions": precisions, "languages": languages,
        "words": [timed_words(model, extractor, "en", TEXTS[0][:60]), timed_words(model, extractor, "yue", TEXTS[3])],
    }) + "\n")


if __name__ == "__main__":
    main()

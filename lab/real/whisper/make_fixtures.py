"""Makes the Whisper fixtures: exports of Optimum with the real graphs and tiny random weights, and what transformers writes with them.

    python3 -m venv ~/.cache/lehr-real/whisper/venv
    ~/.cache/lehr-real/whisper/venv/bin/pip install -r lab/real/whisper/requirements.txt
    ~/.cache/lehr-real/whisper/venv/bin/python lab/real/whisper/make_fixtures.py

A fixture is a folder of graphs, compressed with gzip; the configs of all of them are in `configs`, their weights for PyTorch in `weights`. `cases.json` has the tokens that
transformers writes in PyTorch for the first two seconds of some samples, and for int8 those that Optimum writes with the same graphs.
`attention.f32` is the attention to the audio while the decoder reads the first of these texts: [layers, heads, tokens, positions].
"""

import gzip
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import soundfile
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration
from transformers import GenerationMixin, WhisperTokenizerFast

import exports

HERE = Path(__file__).parent
OUT = HERE / "fixtures"
SAMPLES = HERE.parents[2] / "test/golden/samples/speech"
SECONDS = 2
WIDTH, LAYERS, HEADS = 32, 2, 2
MAX_TOKENS = 40
# Positions this far on look like the end of text, so that texts end.
ENDS_NEAR, END_PULL = 24, 4
CONFIGS = ("config.json", "generation_config.json", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json")
FORMS = ("merged", "pair", "words", "fp16", "int8")
CASES = [
    dict(sample=sample, language="es" if sample.startswith("es") else "en", task=task)
    for sample in ("en_circle", "en_fox", "en_lighthouse", "en_numbers", "en_stars", "es_circulo")
    for task in ("transcribe", "translate")
]


def tokenizer() -> WhisperTokenizerFast:
    """One token for each byte, and Whisper's special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    names = ["endoftext", "startoftranscript", "en", "es", "translate", "transcribe", "startoflm", "startofprev", "nospeech",
             "notimestamps"]
    tokens.add_special_tokens([f"<|{name}|>" for name in names])
    tokens.add_tokens([f"<|{i * 0.02:.2f}|>" for i in range(SECONDS * 50 + 1)])
    return WhisperTokenizerFast(tokenizer_object=tokens, unk_token="<|endoftext|>", bos_token="<|endoftext|>", eos_token="<|endoftext|>")


def tiny_model(words: WhisperTokenizerFast) -> WhisperForConditionalGeneration:
    token = lambda name: words.convert_tokens_to_ids(f"<|{name}|>")
    end = token("endoftext")
    ids = dict(pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=token("startoftranscript"))
    config = WhisperConfig(
        vocab_size=len(words), d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=2 * WIDTH, decoder_ffn_dim=2 * WIDTH, max_source_positions=SECONDS * 50,
        max_target_positions=96, suppress_tokens=None, begin_suppress_tokens=None, **ids)
    torch.manual_seed(7)
    model = WhisperForConditionalGeneration._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1 and "embed" not in name:
                parameter.normal_(std=1.5 / parameter[0].numel() ** 0.5)
        words_table = model.model.decoder.embed_tokens.weight.normal_(std=2 / WIDTH ** 0.5)
        positions = model.model.decoder.embed_positions.weight.normal_(std=1.5)
        steps = torch.arange(len(positions))[:, None]
        positions += END_PULL * steps * words_table[end] / ENDS_NEAR
    never = ["startoftranscript", "translate", "transcribe", "startoflm", "startofprev", "nospeech"]
    model.generation_config = GenerationConfig(
        alignment_heads=[[layer, 0] for layer in range(LAYERS)], begin_suppress_tokens=[words.convert_tokens_to_ids("Ġ"), end],
        suppress_tokens=sorted(map(token, never)), lang_to_id={"<|en|>": token("en"), "<|es|>": token("es")},
        task_to_id={task: token(task) for task in ("transcribe", "translate")}, is_multilingual=True,
        no_timestamps_token_id=token("notimestamps"), prev_sot_token_id=token("startofprev"), max_initial_timestamp_index=50,
        max_length=96, return_timestamps=False, **ids)
    return model


def features(extractor: WhisperFeatureExtractor, sample: str) -> torch.Tensor:
    waveform, rate = soundfile.read(SAMPLES / f"{sample}.wav", dtype="float32")
    assert rate == 16000
    return extractor(waveform[:SECONDS * rate], sampling_rate=rate, return_tensors="pt").input_features


def prompt_of(words, case) -> list[int]:
    names = ["startoftranscript", case["language"], case["task"], "notimestamps"]
    return [words.convert_tokens_to_ids(f"<|{name}|>") for name in names]


def written(model, extractor, words, case) -> list[int]:
    """The tokens after the prompt, without the end of text."""
    prompt = prompt_of(words, case)
    with torch.no_grad():
        ids = GenerationMixin.generate(model, features(extractor, case["sample"]), decoder_input_ids=torch.tensor([prompt]),
                                       num_beams=1, do_sample=False, max_new_tokens=MAX_TOKENS)[0].tolist()
    return [id for id in ids[len(prompt):] if id != words.eos_token_id]


def record_attention(model, extractor, tokens: list[int], sample: str) -> None:
    with torch.no_grad():
        result = model(features(extractor, sample), decoder_input_ids=torch.tensor([tokens]), output_attentions=True)
    np.concatenate([layer.numpy() for layer in result.cross_attentions]).astype("<f4").tofile(OUT / "attention.f32")


def main() -> None:
    from optimum.onnxruntime import ORTModelForSpeechSeq2Seq
    torch.set_num_threads(1)
    shutil.rmtree(OUT, ignore_errors=True)
    words, extractor = tokenizer(), WhisperFeatureExtractor(feature_size=80, chunk_length=SECONDS)
    model = tiny_model(words)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        model.save_pretrained(root / "weights")
        words.save_pretrained(root / "weights")
        extractor.save_pretrained(root / "weights")
        exports.build_forms(root, FORMS)
        for form in FORMS:
            (OUT / form).mkdir(parents=True)
            for graph in sorted((root / form).glob("*.onnx")):
                # Without a time, so that the same graph gives the same bytes.
                (OUT / form / f"{graph.name}.gz").write_bytes(gzip.compress(graph.read_bytes(), mtime=0))
        (OUT / "weights").mkdir()
        weights = (root / "weights/model.safetensors").read_bytes()
        (OUT / "weights/model.safetensors.gz").write_bytes(gzip.compress(weights, mtime=0))
        (OUT / "configs").mkdir()
        for name in CONFIGS:
            shutil.copy(root / "merged" / name, OUT / "configs")
        int8 = ORTModelForSpeechSeq2Seq.from_pretrained(root / "int8", use_merged=True)
        recorded = [dict(case, tokens=written(model, extractor, words, case), int8=written(int8, extractor, words, case))
                    for case in CASES]
    texts = {tuple(each["tokens"]) for each in recorded}
    assert len(texts) > len(CASES) / 2, f"the texts hardly depend on the sound: {len(texts)} different ones"
    read = [*prompt_of(words, recorded[0]), *recorded[0]["tokens"]]
    record_attention(model, extractor, read, recorded[0]["sample"])
    (OUT / "cases.json").write_text(json.dumps({"max_tokens": MAX_TOKENS, "cases": recorded, "attention_tokens": read}, indent=1) + "\n")


if __name__ == "__main__":
    main()

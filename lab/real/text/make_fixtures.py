"""Makes the text fixtures: exports small models with the real exporter and records what transformers computes in torch.

    python -m venv ~/.cache/lehr-real/text
    ~/.cache/lehr-real/text/bin/pip install -r lab/real/text/requirements.txt
    ~/.cache/lehr-real/text/bin/python lab/real/text/make_fixtures.py [name ...]

A fixture is a folder: the exported files (graphs compressed with gzip), and `expected.json` with the token ids of every text and the
results of the pipelines. The weights are random, but large enough that results differ clearly.
"""

import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
import torch
from onnxruntime import InferenceSession
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16
from optimum.exporters.onnx import main_export
from transformers import (BertConfig, BertForMaskedLM, BertForSequenceClassification, BertForTokenClassification, BertModel,
                          DistilBertConfig, DistilBertForSequenceClassification, RobertaConfig, RobertaForMaskedLM,
                          RobertaModel, XLMRobertaConfig, XLMRobertaForTokenClassification, pipeline)

import tokenizers_of
from sentence_transformers import SentenceTransformer, models
from texts import ENTITIES, LONG, PAIRS, SENTENCES, TEXTS

OUT = Path(__file__).parent / "fixtures"
SIZES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, initializer_range=0.4)
LABELS = ["neutral", "entailment", "contradiction"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def bert_config(tokenizer, **more):
    return BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, pad_token_id=tokenizer.pad_token_id, **SIZES, **more)


def label_maps(labels):
    return dict(id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)})


def build(name):
    """The tokenizer and the model of a fixture."""
    torch.manual_seed(7)
    if name.startswith("bert"):
        tokenizer = tokenizers_of.word_piece()
        if name == "bert-fill-mask":
            return tokenizer, BertForMaskedLM(bert_config(tokenizer)), "fill-mask"
        if name == "bert-classes":
            config = bert_config(tokenizer, **label_maps(LABELS))
            return tokenizer, BertForSequenceClassification(config), "text-classification"
        if name == "bert-entities":
            return tokenizer, BertForTokenClassification(bert_config(tokenizer, **label_maps(TAGS))), "token-classification"
        if name == "bert-sentences":
            return tokenizer, BertModel(bert_config(tokenizer), add_pooling_layer=False), "feature-extraction"
    if name == "distilbert-many-labels":
        tokenizer = tokenizers_of.word_piece()
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
        config = DistilBertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, dim=32, n_layers=2, n_heads=4, hidden_dim=64,
                                  initializer_range=0.4, problem_type="multi_label_classification", **label_maps(LABELS))
        return tokenizer, DistilBertForSequenceClassification(config), "text-classification"
    if name.startswith("roberta"):
        tokenizer = tokenizers_of.byte_level()
        config = RobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=66, type_vocab_size=1,
                               pad_token_id=tokenizer.pad_token_id, bos_token_id=0, eos_token_id=2, **SIZES)
        if name == "roberta-sentences":
            return tokenizer, RobertaModel(config, add_pooling_layer=False), "feature-extraction"
        return tokenizer, RobertaForMaskedLM(config), "fill-mask"
    if name == "xlm-roberta-entities":
        tokenizer = tokenizers_of.unigram()
        config = XLMRobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=66, type_vocab_size=1,
                                  pad_token_id=tokenizer.pad_token_id, bos_token_id=0, eos_token_id=2, **SIZES, **label_maps(TAGS))
        return tokenizer, XLMRobertaForTokenClassification(config), "token-classification"
    raise SystemExit(f"unknown fixture {name}")


NAMES = ["bert-fill-mask", "bert-classes", "bert-entities", "bert-sentences", "distilbert-many-labels", "roberta-fill-mask",
         "roberta-sentences", "xlm-roberta-entities"]
# Its tokenizer keeps blanks and capitals, so that it shows what sentence-transformers does with a text before it is tokenized.
LOWER_CASED = "roberta-sentences"


def encoded(tokenizer):
    """The ids of every text, alone, and of the pairs; long ones are truncated."""
    limit = tokenizer.model_max_length
    rows = []
    for text, pair in [(text, None) for text in [*TEXTS, LONG]] + PAIRS + [(LONG, "A short pair.")]:
        found = tokenizer(text, pair, truncation=True, max_length=limit)
        row = dict(text=text, ids=found["input_ids"], truncated=len(tokenizer(text, pair)["input_ids"]) > limit)
        if pair is not None:
            row.update(pair=pair, type_ids=found.get("token_type_ids"))
        rows.append(row)
    return rows


def fill_mask(tokenizer, model):
    mask = tokenizer.mask_token
    texts = [f"a red {mask} on a blue background", f"Crème {mask}: naïve", f"two {mask} next to a {mask} heart"]
    fill = pipeline("fill-mask", model=model, tokenizer=tokenizer)
    cases = []
    for text in texts:
        found = fill(text, top_k=6)
        cases.append(dict(text=text, top_k=6, fills=found if isinstance(found[0], list) else [found]))
    return cases


def classes(tokenizer, model):
    classify = pipeline("text-classification", model=model, tokenizer=tokenizer)
    cases = []
    for function in [None, "sigmoid", "none"]:
        more = {} if function is None else dict(function_to_apply=function)
        for text in TEXTS[:10]:
            cases.append(dict(text=text, function=function, labels=classify(text, top_k=None, **more)))
        for text, pair in PAIRS:
            found = classify(dict(text=text, text_pair=pair), top_k=None, **more)
            cases.append(dict(text=text, pair=pair, function=function, labels=found))
    return cases


def entities(tokenizer, model):
    cases = []
    for strategy in ["none", "simple", "first", "average", "max"]:
        find = pipeline("token-classification", model=model, tokenizer=tokenizer, aggregation_strategy=strategy)
        for text in ENTITIES:
            found = [dict(label=each.get("entity_group", each.get("entity")), score=float(each["score"]), word=each["word"],
                          start=each["start"], end=each["end"]) for each in find(text)]
            cases.append(dict(text=text, aggregation=strategy, entities=found))
    return cases


def sentences(tokenizer, model):
    """Vectors of every kind of pooling, computed as sentence-transformers does."""
    cases = []
    for text in TEXTS:
        inputs = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            hidden = model(**inputs).last_hidden_state[0]
        mean = hidden.mean(dim=0)
        weights = torch.arange(1, len(hidden) + 1).float()[:, None]
        cases.append(dict(text=text, mean=mean.tolist(), normalized=torch.nn.functional.normalize(mean, dim=0).tolist(),
                          cls=hidden[0].tolist(), last=hidden[-1].tolist(), max=hidden.max(dim=0).values.tolist(),
                          weighted=((hidden * weights).sum(dim=0) / weights.sum()).tolist(),
                          **{"mean-sqrt": (hidden.sum(dim=0) / len(hidden) ** 0.5).tolist()}))
    return cases


def whole_sentences(folder):
    """Ids and vectors of sentence-transformers itself, for a folder with lower-cased texts."""
    transformer = models.Transformer(str(folder), max_seq_length=48, do_lower_case=True)
    model = SentenceTransformer(modules=[transformer, models.Pooling(32, pooling_mode="mean"), models.Normalize()], device="cpu")
    return [dict(text=text, ids=model.tokenize([text])["input_ids"][0].tolist(), vector=model.encode(text).tolist())
            for text in SENTENCES]


def sentence_files(folder, lower_cases):
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    write(folder / "modules.json", [dict(idx=i, name=str(i), path=path, type=f"sentence_transformers.models.{kind}")
                                    for i, (kind, path) in enumerate(modules)])
    modes = dict(cls_token=False, mean_tokens=True, max_tokens=False, mean_sqrt_len_tokens=False)
    write(folder / "1_Pooling" / "config.json",
          dict(word_embedding_dimension=32, **{f"pooling_mode_{mode}": value for mode, value in modes.items()}))
    write(folder / "sentence_bert_config.json", dict(max_seq_length=48, do_lower_case=lower_cases))


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


CASES = {"fill-mask": fill_mask, "text-classification": classes, "token-classification": entities, "feature-extraction": sentences}


def quantized_logits(folder, tokenizer):
    """What ONNX Runtime computes with the int8 graph: it differs from torch by more than any tolerance of ours."""
    session = InferenceSession(folder / "model_quantized.onnx", providers=["CPUExecutionProvider"])
    names = {value.name for value in session.get_inputs()}
    rows = []
    for text in TEXTS[:10]:
        inputs = {name: value for name, value in tokenizer(text, return_tensors="np").items() if name in names}
        rows.append(dict(text=text, logits=session.run(["logits"], inputs)[0][0].tolist()))
    return rows


def add_precisions(folder):
    graph = folder / "model.onnx"
    quantize_dynamic(graph, folder / "model_quantized.onnx", weight_type=QuantType.QInt8)
    half = convert_float_to_float16(onnx.load(graph), keep_io_types=True)
    onnx.save(half, folder / "model_fp16.onnx")


def make(name):
    tokenizer, model, task = build(name)
    model.eval()
    tokenizer.model_max_length = 48
    expected = dict(task=task, encoded=encoded(tokenizer), cases=CASES[task](tokenizer, model))
    target = OUT / name
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as work:
        source, export = Path(work, "source"), Path(work, "export")
        model.save_pretrained(source)
        tokenizer.save_pretrained(source)
        main_export(str(source), output=export, task=task, do_validation=False, library_name="transformers")
        if task == "feature-extraction":
            sentence_files(export, name == LOWER_CASED)
        if name == LOWER_CASED:
            expected["sentences"] = whole_sentences(source)
        if name == "bert-fill-mask":
            # Its weights for PyTorch, as a repository of the hub has them beside the graph.
            target.mkdir(parents=True)
            (target / "model.safetensors.gz").write_bytes(gzip.compress((source / "model.safetensors").read_bytes(), 9, mtime=0))
        if name == "bert-classes":
            add_precisions(export)
            expected["quantized"] = quantized_logits(export, tokenizer)
        for path in sorted(export.rglob("*")):
            if not path.is_file() or path.name in ("vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model"):
                continue
            to = target / path.relative_to(export)
            to.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".onnx":
                to.with_name(to.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
            else:
                shutil.copyfile(path, to)
    (target / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, default=plain) + "\n")
    print(name, sum(path.stat().st_size for path in target.rglob("*") if path.is_file()), "bytes")


def plain(value):
    if isinstance(value, (numpy.floating, numpy.integer)):
        return value.item()
    raise TypeError(type(value))


if __name__ == "__main__":
    torch.set_num_threads(2)
    for each in sys.argv[1:] or NAMES:
        make(each)

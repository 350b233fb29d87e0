"""Writes a trained model as a text folder: one graph with three outputs, the tokenizer, and the pooling of sentence-transformers.

    python3 export.py --work /tmp/demo-text --to ../../models/demo-text

`last_hidden_state` is for embeddings, `logits` for labels, `mask_logits` for masks.
"""

import argparse
import json
from pathlib import Path

import torch
from transformers import BertTokenizerFast

from model import SceneBert, config_of

MODULES = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    args = parser.parse_args()
    tokenizer = BertTokenizerFast.from_pretrained(args.work / "tokenizer")
    config = config_of(tokenizer)
    model = SceneBert(config).eval()
    model.load_state_dict(torch.load(args.work / "model.pt", map_location="cpu"))
    args.to.mkdir(parents=True, exist_ok=True)
    inputs = tokenizer(["a red circle", "two stars"], return_tensors="pt", padding=True)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    rows = {0: "batch", 1: "sequence"}
    outputs = dict(last_hidden_state=rows, logits={0: "batch"}, mask_logits=rows)
    torch.onnx.export(model, tuple(inputs[name] for name in names), args.to / "model.onnx", input_names=names, output_names=list(outputs),
                      dynamic_axes={**{name: rows for name in names}, **outputs}, opset_version=17, dynamo=False)  # fmt: skip
    tokenizer.save_pretrained(args.to)
    (args.to / "vocab.txt").unlink(missing_ok=True)
    write(args.to / "config.json", {**config.to_diff_dict(), "architectures": ["SceneBert"], "vocab_size": config.vocab_size})
    write(args.to / "modules.json", [dict(idx=i, name=str(i), path=path, type=f"sentence_transformers.models.{kind}")
                                     for i, (kind, path) in enumerate(MODULES)])  # fmt: skip
    modes = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens"]
    write(args.to / "1_Pooling" / "config.json", {f"pooling_mode_{mode}": mode == "mean_tokens" for mode in modes})
    print(sum(path.stat().st_size for path in args.to.rglob("*") if path.is_file()), "bytes")


if __name__ == "__main__":
    main()

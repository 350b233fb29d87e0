"""Trains the demo text model on captions of scenes; the same seed gives the same data.

    python3 train.py --work /tmp/demo-text --steps 2000
    python3 export.py --work /tmp/demo-text --to ../../models/demo-text

Three losses on the same layers: words under masks, one object or several, and embeddings whose cosine is how alike two scenes are.
"""

import argparse
import random
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import nn
from transformers import BertTokenizerFast

import corpus
from model import SceneBert, config_of, pooled

VOCABULARY = 800
MASKED = 0.15


def train_tokenizer(rows):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    texts = [text for free, complete, *_ in rows for text in (free, complete)]
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return BertTokenizerFast(tokenizer_object=tokenizer, do_lower_case=True, model_max_length=64)


def masked(ids, tokenizer, generator):
    """Ids with some words masked, and the labels: -100 where nothing was."""
    labels = ids.clone()
    chosen = (torch.rand(ids.shape, generator=generator) < MASKED) & (ids > 4)
    labels[~chosen] = -100
    kind = torch.rand(ids.shape, generator=generator)
    changed = ids.clone()
    changed[chosen & (kind < 0.85)] = tokenizer.mask_token_id
    noise = torch.randint(5, len(tokenizer), ids.shape, generator=generator)
    changed[chosen & (kind >= 0.85) & (kind < 0.95)] = noise[chosen & (kind >= 0.85) & (kind < 0.95)]
    return changed, labels


def step_loss(model, tokenizer, rows, generator):
    """One pass over texts with masks serves all three losses."""
    texts = [row[0] for row in rows] + [row[1] for row in rows]
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=64, return_tensors="pt")
    mask, types = inputs["attention_mask"], inputs["token_type_ids"]
    ids, labels = masked(inputs["input_ids"], tokenizer, generator)
    hidden = model.bert(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
    several = torch.tensor([row[3] for row in rows] * 2).long()
    classes = nn.functional.cross_entropy(model.classes(hidden[:, 0]), several)
    alike = torch.from_numpy(np.stack([row[2] for row in rows] * 2))
    vectors = pooled(hidden, mask)
    embedding = nn.functional.mse_loss(vectors @ vectors.T, alike @ alike.T)
    fill = nn.functional.cross_entropy(model.scores(hidden[labels >= 0]), labels[labels >= 0])
    return fill + classes + 10 * embedding, dict(fill=fill.item(), classes=classes.item(), embedding=embedding.item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--scenes", type=int, default=12_000)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="further steps, from the weights of an earlier run in this folder")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    rows = corpus.captions(args.scenes, seed=1)
    print("captions", len(rows), flush=True)
    if args.resume:
        tokenizer = BertTokenizerFast.from_pretrained(args.work / "tokenizer")
    else:
        tokenizer = train_tokenizer(rows)
        tokenizer.save_pretrained(args.work / "tokenizer")
    model = SceneBert(config_of(tokenizer))
    if args.resume:
        model.load_state_dict(torch.load(args.work / "model.pt", map_location="cpu"))
    print("parameters", sum(p.numel() for p in model.parameters()), flush=True)
    top = 1e-3 if args.resume else 1.5e-3
    optimizer = torch.optim.AdamW(model.parameters(), lr=top, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=top, total_steps=args.steps, pct_start=0.05 if args.resume else 0.1)
    generator, rng = torch.Generator().manual_seed(4 if args.resume else 2), random.Random(5 if args.resume else 3)
    started = time.time()
    for step in range(args.steps):
        loss, parts = step_loss(model, tokenizer, rng.sample(rows, args.batch), generator)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0 or step == args.steps - 1:
            print(step, round(time.time() - started), {name: round(value, 4) for name, value in parts.items()}, flush=True)
        if step % 100 == 99 or step == args.steps - 1:
            torch.save(model.state_dict(), args.work / "model.pt")


if __name__ == "__main__":
    main()

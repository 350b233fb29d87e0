"""Trains demo-whisper on a corpus. Resumes from its checkpoint by itself.

    python3 train.py --corpus DIR --run DIR --minutes 120

and then, on another corpus, with lower rates:

    python3 train.py --corpus OTHER --run RUN2 --from RUN --minutes 70 --peak 0.35 --seed 2

With --minutes the schedule follows the clock (of all sittings together), with --steps it follows the step count and the
result is a function of the seed and the machine's arithmetic.
"""

from __future__ import annotations

import os

# Debian's torch asks OpenBLAS, whose guess for new processors can be the slow kernel; both variables are read at load.
if "avx512bw" in (open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""):
    os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx512")

import argparse
import dataclasses
import json
import math
import shutil
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import evaluate
import tokenizer as tokenizers
from mel import log_mel
from model import Config, Whisper, parameter_count
from muon import Muon
from windows import IGNORED, Corpus, Window, WindowMaker


def collate(windows: list[Window], eot: int, device: str) -> dict[str, torch.Tensor]:
    """One batch; `rows` says which window each transcript is about."""
    asked = [(row, transcript) for row, window in enumerate(windows) for transcript in window.transcripts]
    longest = max(len(transcript.inputs) for _, transcript in asked)
    inputs = np.full((len(asked), longest), eot, np.int64)
    targets = np.full((len(asked), longest), IGNORED, np.int64)
    spans = np.zeros((len(asked), longest, 2), np.int64)
    for line, (_, transcript) in enumerate(asked):
        length = len(transcript.inputs)
        inputs[line, :length], targets[line, :length], spans[line, :length] = transcript.inputs, transcript.targets, transcript.spans
    arrays = {"waves": np.stack([w.wave for w in windows]), "phones": np.stack([w.phones for w in windows]),
              "rows": np.array([row for row, _ in asked]), "inputs": inputs, "targets": targets, "spans": spans}  # fmt: skip
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def random_colors(rng: np.random.Generator, rows: int, bins: int) -> torch.Tensor:
    """Random equalisers [rows, bins] in log10 power: tilts and bumps, and now and then a telephone."""
    x = np.linspace(0, 1, bins)
    color = np.zeros((rows, bins))
    for row in range(rows):
        if rng.random() < 0.5:
            for k in range(1, 4):
                color[row] += rng.normal(0, 0.45 / k) * np.cos(np.pi * k * x + rng.uniform(0, np.pi))
        if rng.random() < 0.08:
            cut = rng.uniform(0.68, 0.8)  # 3.2 to 4.4 kHz on the mel axis
            color[row] -= np.clip((x - cut) * 80, 0, 6)
    return torch.from_numpy(color.astype(np.float32))


def mask_spectrum(rng: np.random.Generator, mel: torch.Tensor) -> torch.Tensor:
    """SpecAugment: a band of bins and a few short times replaced by the window's mean."""
    batch, bins, frames = mel.shape
    mean = mel.mean((1, 2))
    for row in range(batch):
        if rng.random() < 0.4:
            continue
        width = int(rng.integers(1, 14))
        at = int(rng.integers(0, bins - width))
        mel[row, at : at + width] = mean[row]
        for _ in range(rng.integers(0, 3 + frames // 300)):
            width = int(rng.integers(2, 11))
            at = int(rng.integers(0, frames - width))
            mel[row, :, at : at + width] = mean[row]
    return mel


def looking_away(attention: list[torch.Tensor], spans: torch.Tensor) -> torch.Tensor:
    """How little the guided cross-attention heads look at where the token sounds: -log of the attention inside its span.

    Two heads of three in each layer are guided; the others may look where they like. Beside teaching alignment at once
    instead of after an hour, this makes heads whose attention is good for word timestamps.
    """
    known = spans[..., 1] > spans[..., 0]
    frame = torch.arange(attention[0].shape[-1], device=spans.device)
    inside = (frame >= spans[..., :1]) & (frame < spans[..., 1:])
    loss = torch.zeros((), device=spans.device)
    for weights in attention:
        for head in range(weights.shape[1] - 1):
            mass = (weights[:, head].float() * inside).sum(-1)[known]
            loss = loss - (mass + 1e-4).log().mean() / (len(attention) * (weights.shape[1] - 1))
    return loss if known.any() else torch.zeros((), device=spans.device)


class Trainer:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.run = args, args.run
        self.run.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(args.seed)
        self.corpus = Corpus(args.corpus)
        merges = self.run / "merges.txt"
        if args.from_run and not merges.exists():
            shutil.copy(args.from_run / "merges.txt", merges)
        if not merges.exists():
            tokenizers.trained(args.seed, args.chunk).write_merges(merges)
        self.t = tokenizers.Tokenizer.read(merges, args.chunk)
        self.config = Config(vocab_size=self.t.vocab_size, phones=len(self.corpus.phone_names), chunk_seconds=args.chunk,
                             **json.loads(args.shape))  # fmt: skip
        self.model = Whisper(self.config).to(args.device)
        self.average = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.optimizers = self.make_optimizers()
        self.maker = WindowMaker(self.corpus, self.t, args.chunk, self.config.max_target, args.seed,
                                 translated=0.4 if args.from_run else 0.25)  # fmt: skip
        self.step, self.seconds = 0, 0.0
        self.begun = -1000  # the step of a start without optimizer state, which warms up a little
        if (self.run / "checkpoint.pt").exists():
            self.load(self.run)
        elif args.from_run:
            self.load(args.from_run)
            self.step, self.seconds = 0, 0.0
        print(f"{parameter_count(self.model) / 1e6:.2f} M parameters, vocabulary {self.t.vocab_size}, {len(self.corpus)} sentences, "
              f"{len(self.corpus.phone_names)} phonemes, from step {self.step}", flush=True)  # fmt: skip

    def make_optimizers(self) -> list[torch.optim.Optimizer]:
        """Muon for the matrices inside the layers, AdamW for embeddings, convolutions, biases and norms."""
        inner = {name: p for name, p in self.model.named_parameters() if "_layers." in name and p.dim() == 2}
        stacked = {3: "qkv.weight", 2: ".kv.weight"}
        groups = [{"params": [p for name, p in inner.items() if name.endswith(suffix)], "blocks": n} for n, suffix in stacked.items()]
        groups.append({"params": [p for name, p in inner.items() if not name.endswith(tuple(stacked.values()))]})
        outer = [p for name, p in self.model.named_parameters() if name not in inner]
        return [Muon(groups, self.args.matrix_lr), torch.optim.AdamW(outer, self.args.lr, betas=(0.9, 0.98), weight_decay=0.0)]

    # --- schedule -----------------------------------------------------------------------------------------------

    def progress(self) -> float:
        """0 at the start, 1 at the end of the run."""
        if self.args.minutes:
            return self.seconds / (60 * self.args.minutes)
        return self.step / self.args.steps

    def rate(self) -> float:
        """The learning rates' common factor: warm-up, then half a cosine."""
        warm = min(1.0, (self.step - self.begun + 1) / 50, (self.step + 1) / self.args.warmup)
        return self.args.peak * warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, self.progress()))))

    # --- one step -----------------------------------------------------------------------------------------------

    def batch(self) -> dict[str, torch.Tensor]:
        rng = np.random.default_rng([self.args.seed, self.step])  # by step: a resumed run sees what it would have seen
        # Single sentences teach words, and cheaper; full chunks, later, teach timing, order and padding.
        full = 0.5 if self.args.from_run else 0.1 if self.progress() < 0.35 else 0.4
        make = self.maker.full_batch if rng.random() < full else self.maker.short_batch
        data = collate(make(rng, self.args.frames), self.t.eot, self.args.device)
        colors = random_colors(rng, len(data["waves"]), self.config.mel_bins).to(self.args.device)
        data["mel"] = mask_spectrum(rng, log_mel(data.pop("waves"), colors))
        return data

    def losses(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        with torch.autocast(self.args.device.split(":")[0], dtype=torch.bfloat16, enabled=not self.args.fp32):
            source = self.model.encode(data["mel"])
            phones = self.model.phones(source)
            keys = [tuple(part[data["rows"]] for part in pair) for pair in self.model.source_keys(source)]
            logits, attention = self.model.decode(data["inputs"], keys)
        smooth = F.cross_entropy(logits.float().flatten(0, 1), data["targets"].flatten(), ignore_index=IGNORED, label_smoothing=0.05)
        frames = F.cross_entropy(phones.float().flatten(0, 1), data["phones"].flatten())
        return {"text": smooth, "phones": frames, "gaze": looking_away(attention, data["spans"])}

    def learn(self) -> dict[str, float]:
        for optimizer, base in zip(self.optimizers, (self.args.matrix_lr, self.args.lr)):
            for group in optimizer.param_groups:
                group["lr"] = base * self.rate()
            optimizer.zero_grad(set_to_none=True)
        losses = self.losses(self.batch())
        # Phonemes and gaze lead at first (they teach in minutes what the text alone finds in hours), then fade.
        lead = 0.0 if self.args.from_run else max(0.0, 1 - self.progress() / 0.5)
        (losses["text"] + (0.1 + 0.9 * lead) * losses["phones"] + (0.03 + 0.3 * lead) * losses["gaze"]).backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if torch.isfinite(norm):
            for optimizer in self.optimizers:
                optimizer.step()
        self.step += 1
        keep = min(0.998, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, value in self.model.state_dict().items():
                self.average[name].lerp_(value, 1 - keep)
        return {**{name: value.item() for name, value in losses.items()}, "norm": float(norm)}

    # --- keeping ------------------------------------------------------------------------------------------------

    def save(self) -> None:
        state = {"config": dataclasses.asdict(self.config), "model": self.model.state_dict(), "average": self.average,
                 "optimizers": [o.state_dict() for o in self.optimizers], "step": self.step, "seconds": self.seconds}  # fmt: skip
        torch.save(state, self.run / "checkpoint.tmp")
        os.replace(self.run / "checkpoint.tmp", self.run / "checkpoint.pt")

    def load(self, run: Path) -> None:
        state = torch.load(run / "checkpoint.pt", map_location=self.args.device)
        self.model.load_state_dict(state["model"])
        self.average = state["average"]
        self.step, self.seconds = state["step"], state["seconds"]
        if "optimizers" in state:
            for optimizer, kept in zip(self.optimizers, state["optimizers"]):
                optimizer.load_state_dict(kept)
        else:  # weights alone: their moments must be found again
            self.begun = self.step

    def evaluate(self, entries: list[dict]) -> dict[str, float]:
        averaged = Whisper(self.config).to(self.args.device).eval()
        averaged.load_state_dict(self.average)
        return evaluate.report(averaged, self.t, entries, self.args.samples)


def train(args: argparse.Namespace) -> None:
    trainer = Trainer(args)
    entries = evaluate.held_out(args.eval_sentences)
    last_save = last_eval = last_print = time.time()
    shown: list[dict[str, float]] = []
    while trainer.progress() < 1:
        begun = time.time()
        shown.append(trainer.learn())
        now = time.time()
        trainer.seconds += now - begun
        if now - last_print > 20:
            mean = {name: sum(s[name] for s in shown) / len(shown) for name in shown[0]}
            left = trainer.seconds / max(trainer.progress(), 1e-9) - trainer.seconds
            print(f"step {trainer.step}  {100 * trainer.progress():.1f} %  text {mean['text']:.3f}  phones {mean['phones']:.3f}  gaze {mean['gaze']:.3f}  "
                  f"norm {mean['norm']:.2f}  rate {trainer.rate():.3f}  {(now - last_print) / len(shown):.2f} s/step  "
                  f"{left / 60:.0f} min left", flush=True)  # fmt: skip
            shown, last_print = [], now
        if now - last_save > 60 * args.save_minutes:
            trainer.save()
            last_save = time.time()
        if now - last_eval > 60 * args.eval_minutes:
            scores = trainer.evaluate(entries)
            with open(args.run / "scores.jsonl", "a") as file:
                file.write(json.dumps({"step": trainer.step, "seconds": round(trainer.seconds), **scores}) + "\n")
            golden = [v for name, v in scores.items() if name.startswith("golden")]
            print("eval  " + "  ".join(f"{name} {scores[name]:.3f}" for name in ("clean", "clean with timestamps", "noise 10 dB", "translate es",
                  "timestamp error, mean s", "silence not empty", "long form") if name in scores)
                  + (f"  golden {sum(golden) / len(golden):.3f}" if golden else ""), flush=True)  # fmt: skip
            last_eval = last_print = time.time()
            shown = []
    trainer.save()
    print(f"done: step {trainer.step}, {trainer.seconds / 60:.0f} min", flush=True)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True, help="checkpoint, tokenizer and scores of this run")
    parser.add_argument("--from", dest="from_run", type=Path, help="start from this finished run's weights, and hear whole chunks at once")
    parser.add_argument("--peak", type=float, default=1.0, help="factor of both learning rates")
    parser.add_argument("--minutes", type=float, help="time budget; the schedule ends when it ends")
    parser.add_argument("--steps", type=int, default=16000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--chunk", type=int, default=10, help="window length in seconds")
    parser.add_argument("--frames", type=int, default=4000, help="encoder frames (20 ms) a batch")
    parser.add_argument("--lr", type=float, default=1.5e-3)
    parser.add_argument("--matrix-lr", type=float, default=4e-3, help="Muon's")
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--fp32", action="store_true", help="no bfloat16 (for processors without it)")
    parser.add_argument("--shape", default="{}", help="JSON with fields of model.Config")
    parser.add_argument("--samples", type=Path)
    parser.add_argument("--eval-sentences", type=int, default=60)
    parser.add_argument("--eval-minutes", type=float, default=10)
    parser.add_argument("--save-minutes", type=float, default=3)
    return parser


if __name__ == "__main__":
    arguments_now = arguments().parse_args()
    torch.set_num_threads(arguments_now.threads)
    train(arguments_now)

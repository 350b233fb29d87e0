"""Everything from nothing: two corpora, two stretches of training, evaluation, export. Parts that are there are skipped.

    python3 make.py --work DIR --first-only

Interrupted, the same command goes on where it stopped. See README.md for what it needs and how long it took.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def python(script: str, *arguments: str | Path, one_thread: bool = False) -> None:
    environment = {**os.environ, **({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"} if one_thread else {})}
    print(f"--- {script} {' '.join(map(str, arguments))}", flush=True)
    subprocess.run([sys.executable, HERE / script, *map(str, arguments)], check=True, env=environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="corpus and checkpoints (about 13 GB)")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "models" / "demo-whisper")
    parser.add_argument("--minutes", type=float, default=175, help="time budget of the training itself, both stretches")
    parser.add_argument("--steps", type=int, help="a fixed number of steps instead of a time budget: repeatable")
    parser.add_argument("--sentences", type=int, default=140000, help="of both corpora")
    parser.add_argument("--first-only", action="store_true", help="leave out the second stretch, as the committed weights do")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--samples", type=Path, help="golden samples (manifest.json and speech/) to score as well")
    args = parser.parse_args()
    samples = ["--samples", args.samples] if args.samples else []
    # Two stretches: the first from nothing; the second, with lower rates, on sentences and voices that the first finds hard.
    stretches = [
        ("first", args.seed, 4 / 7, [], []),
        ("finish", args.seed + 1, 3 / 7, ["--finish", "--phones", args.work / "corpus-first" / "phones.json"],
         ["--from", args.work / "run-first", "--peak", 0.35, "--warmup", 100]),
    ]  # fmt: skip
    for name, seed, share, corpus_options, train_options in stretches[: 1 if args.first_only else 2]:
        corpus, run = args.work / f"corpus-{name}", args.work / f"run-{name}"
        if not (corpus / "phones.json").exists():  # written last
            count = ["--count", round(args.sentences * share)]
            python("corpus.py", "--out", corpus, *count, "--seed", seed, *corpus_options, one_thread=True)
        budget = ["--steps", round(args.steps * share)] if args.steps else ["--minutes", args.minutes * share]
        python("train.py", "--corpus", corpus, "--run", run, "--seed", seed, "--threads", args.threads, *train_options, *budget, *samples)
    python("evaluate.py", "--run", run, "--json", run / "evaluation.json", *samples)
    # The committed parity clips belong to the committed weights.
    parity = HERE / "eval" / "parity" if args.out == parser.get_default("out") else args.work / "parity"
    python("export.py", "--run", run, "--out", args.out, "--fixtures", args.work / "fixtures", "--parity", parity)
    print(f"exported to {args.out}; compare with ONNX Runtime: node verify_onnx.mjs {args.out} {args.work / 'fixtures'}")


if __name__ == "__main__":
    main()

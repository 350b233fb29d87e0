"""Everything from nothing: corpus, training, evaluation, export. Each part is skipped when it is already there.

    python3 make.py --work /tmp/demo-whisper --minutes 120

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
    parser.add_argument("--work", type=Path, required=True, help="corpus and checkpoints (about 8 GB)")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "models" / "demo-whisper")
    parser.add_argument("--minutes", type=float, default=120, help="time budget of the training itself")
    parser.add_argument("--steps", type=int, help="a fixed number of steps instead of a time budget: repeatable")
    parser.add_argument("--sentences", type=int, default=80000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--samples", type=Path, help="golden samples (manifest.json and speech/) to score as well")
    args = parser.parse_args()
    corpus, run = args.work / "corpus", args.work / "run"
    if not (corpus / "phones.json").exists():  # written last
        python("corpus.py", "--out", corpus, "--count", args.sentences, "--seed", args.seed, one_thread=True)
    samples = ["--samples", args.samples] if args.samples else []
    budget = ["--steps", args.steps] if args.steps else ["--minutes", args.minutes]
    python("train.py", "--corpus", corpus, "--run", run, "--seed", args.seed, "--threads", args.threads, *budget, *samples)
    python("evaluate.py", "--run", run, "--json", run / "evaluation.json", *samples)
    python("export.py", "--run", run, "--out", args.out, "--fixtures", args.work / "fixtures", "--parity", HERE / "eval" / "parity")
    print(f"exported to {args.out}; compare with ONNX Runtime: node verify_onnx.mjs {args.out} {args.work / 'fixtures'}")


if __name__ == "__main__":
    main()

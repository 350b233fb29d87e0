"""Embeds texts with sentence-transformers and its ONNX backend, in this process: `{"alone": [...]}` or `{"together": [...], "batch": 32}` answers
the milliseconds of each text, or of all.

    python sentence_onnx.py FOLDER THREADS
"""

import sys
import time
from pathlib import Path

from onnxruntime import SessionOptions
from sentence_transformers import SentenceTransformer

sys.path.insert(0, str(Path(__file__).parent.parent))
from serve import serve  # noqa: E402

folder, threads = sys.argv[1], int(sys.argv[2])
options = SessionOptions()
options.intra_op_num_threads = threads
settings = dict(file_name="model.onnx", provider="CPUExecutionProvider", session_options=options)
model = SentenceTransformer(folder, backend="onnx", device="cpu", model_kwargs=settings)


def answer(request):
    taken = []
    for work in [[text] for text in request.get("alone", [])] + [request[name] for name in ["together"] if name in request]:
        started = time.perf_counter()
        model.encode(work, batch_size=request.get("batch", 1), show_progress_bar=False)
        taken.append(1000 * (time.perf_counter() - started))
    return taken


serve(answer)

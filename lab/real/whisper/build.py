"""Builds the models of the section whisper in the forms and the folder that a request names, and answers with what the packages held."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import exports
import weights
from serve import serve


def build(request):
    root = Path(request["folder"])
    exports.step(root / "weights", weights.write_folder)
    exports.build_forms(root, request["forms"])
    return json.loads((root / "weights/complete.json").read_text())


serve(build)

"""Answers requests line by line, for openPython of python.ts: one JSON value in, `{"answer": ...}` or `{"error": ...}` out."""

import json
import sys
import traceback


def serve(answer):
    """Calls `answer(request)` for each line of stdin until it closes."""
    for line in sys.stdin:
        try:
            print(json.dumps({"answer": answer(json.loads(line))}), flush=True)
        except Exception as error:  # the caller decides what a failure means
            traceback.print_exc()
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)

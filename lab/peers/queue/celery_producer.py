"""Submits tasks and waits for all results. Request: {"jobs": 2000}; answer: {"ms": ..., "pid": ...}."""

import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "real")]

from celery.result import ResultSet
from celery_tasks import noop
from serve import serve


def answer(request):
    started = time.perf_counter()
    # join_native reads the results of many tasks with one command.
    results = ResultSet([noop.delay("a lighthouse on a rock in the evening") for _ in range(request["jobs"])])
    values = results.join_native(timeout=120)
    assert len(values) == request["jobs"]
    return {"ms": (time.perf_counter() - started) * 1000, "pid": os.getpid()}


serve(answer)

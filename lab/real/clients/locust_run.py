"""Runs lab/peers/t2i.locust.py without its page and answers its figures. Request: {"url", "key", "users", "seconds", "folder", "size"}."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from serve import serve


def run(request):
    report = pathlib.Path(request["folder"]) / "locust"
    report.parent.mkdir(parents=True, exist_ok=True)
    program = pathlib.Path(sys.executable).with_name("locust")
    users = str(request["users"])
    options = ["--headless", "--users", users, "--spawn-rate", users, "--run-time", f"{request['seconds']}s"]
    # Users end the request that they are in.
    options += ["--stop-timeout", "130", "--host", request["url"], "--json-file", str(report), "--only-summary"]
    env = {**os.environ, "LEHR_API_KEY": request["key"], "LEHR_PICTURE_SIZE": str(request["size"])}
    command = [str(program), "--locustfile", str(HERE.parent.parent / "peers/t2i.locust.py"), *options]
    subprocess.run(command, env=env, stdout=sys.stderr, check=False)
    [entry] = [each for each in json.loads(report.with_suffix(".json").read_text()) if each["name"] == "/t2i"]
    times = sorted((float(ms), count) for ms, count in entry["response_times"].items())
    return {
        "requests": entry["num_requests"],
        "failures": entry["num_failures"],
        "median_s": at(times, 0.5) / 1000,
        "p95_s": at(times, 0.95) / 1000,
        "max_s": entry["max_response_time"] / 1000,
        "per_s": entry["num_requests"] / max(0.001, entry["last_request_timestamp"] - entry["start_time"]),
    }


def at(times, share):
    """The time in milliseconds below which this share of the requests lies."""
    total, seen = sum(count for _, count in times), 0
    for ms, count in times:
        seen += count
        if seen >= share * total:
            return ms
    return 0.0


serve(run)

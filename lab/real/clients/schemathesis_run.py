"""Runs schemathesis over the OpenAPI document of a server, with the settings of schemathesis.toml, and answers what it found.

Request: {"url", "key", "seconds", "seed", "folder"}. Answer: the numbers of the report and a line for each kind of failure.
"""

import json
import os
import pathlib
import subprocess
import sys
import urllib.request

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from serve import serve


def run(request):
    folder = pathlib.Path(request["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    document, report = folder / "openapi.json", folder / "report.json"
    with urllib.request.urlopen(f"{request['url']}/openapi.json") as response:
        document.write_bytes(response.read())
    program = pathlib.Path(sys.executable).with_name("schemathesis")
    options = ["--url", request["url"], "--max-time", str(request["seconds"]), "--seed", str(request["seed"])]
    # Large: the time ends each run.
    options += ["--max-examples", "200", "--no-color", "--report", "json", "--report-json-path", str(report)]
    env = {**os.environ, "LEHR_API_KEY": request["key"], "SCHEMATHESIS_HOOKS": "schemathesis_hooks"}
    env["PYTHONPATH"] = str(HERE)
    command = [str(program), "--config-file", str(HERE / "schemathesis.toml"), "run", str(document), *options]
    # It keeps a cache where it runs.
    subprocess.run(command, cwd=folder, env=env, stdout=sys.stderr, check=False)
    found = json.loads(report.read_text())
    return {
        "cases": found["test_cases"]["generated"],
        "operations": found["operations"]["tested"],
        "phases": {name: phase["status"] for name, phase in found["phases"].items()},
        "failures": [json.dumps(failure)[:300] for failure in found["failures"]],
        "errors": len(found["errors"]),
        "seconds": found["running_time"],
    }


serve(run)

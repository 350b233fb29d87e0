"""Every call of the official `replicate` package that Lehr answers, unchanged but for base URL and key.

Environment: LEHR_URL, LEHR_API_KEY (the operator's key), SAMPLES (folder of recordings). The server has the demo models
and allows webhooks to this machine.
"""

import asyncio
import os
import pathlib
import queue
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version as version_of

import httpx
from replicate import Client
from replicate.exceptions import ModelError, ReplicateError
from replicate.pagination import async_paginate, paginate
from replicate.webhook import InvalidSignatureError, InvalidTimestampError, Webhooks

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from calls import Calls, equal, match, raises
from lehr_api import MODELS, Api
from serve import serve

URL = os.environ["LEHR_URL"]
KEY = os.environ["LEHR_API_KEY"]
SAMPLES = pathlib.Path(os.environ["SAMPLES"])
api = Api(URL, KEY)
calls = Calls("replicate", version_of("replicate"))
client = Client(base_url=URL, api_token=KEY)
IMAGE, SPEECH = f"lehr/{MODELS['image']}", f"lehr/{MODELS['speech']}"
CHAIN = f"lehr/{MODELS['speech']}+{MODELS['image']}"
CIRCLE = {"prompt": "a red circle", "num_inference_steps": 4}
LONG = {"prompt": "a red circle", "num_inference_steps": 80}
CIRCLE_WAV = SAMPLES / "speech/en_circle.wav"


def models():
    found = {model.id: model for model in client.models.list()}
    assert {IMAGE, SPEECH} <= set(found), found
    model = client.models.get(IMAGE)
    equal(client.models.get("lehr", MODELS["image"]).id, model.id, "id")
    versions = model.versions.list()
    version = model.versions.get(versions[0].id)
    schema = version.openapi_schema["components"]["schemas"]
    assert "prompt" in schema["Input"]["properties"]
    model.reload()
    return f"{len(found)} models, version {version.id}"


def run():
    version = client.models.get(IMAGE).latest_version
    for ref in [IMAGE, f"{IMAGE}:{version.id}", version, client.models.get(IMAGE)]:
        [picture] = client.run(ref, input=CIRCLE)
        equal(api.fetch(str(picture))[:4], b"\x89PNG", "the picture")
    many = client.run(IMAGE, input={**CIRCLE, "num_outputs": 2}, use_file_output=False)
    equal(len(many), 2, "pictures")
    return "name, name:version, Version, Model; two outputs"


def run_polled():
    [picture] = client.run(IMAGE, input={**CIRCLE, "num_inference_steps": 20}, wait=False)
    assert api.fetch(str(picture))
    [picture] = client.run(IMAGE, input=LONG, wait=1)
    assert api.fetch(str(picture))
    return "wait=False, and wait=1 of a longer job"


def run_speech():
    texts = []
    with CIRCLE_WAV.open("rb") as file:
        texts.append(client.run(SPEECH, input={"audio": file})["text"])
    with CIRCLE_WAV.open("rb") as file:
        texts.append(client.run(SPEECH, input={"audio": file}, file_encoding_strategy="base64")["text"])
    texts.append(client.run(SPEECH, input={"audio": CIRCLE_WAV, "language": "en", "temperature": 0})["text"])
    assert all("circle" in text.lower() for text in texts), texts
    chained = client.run(CHAIN, input={"audio": CIRCLE_WAV, "num_inference_steps": 4})
    assert "circle" in chained["text"].lower() and api.fetch(str(chained["images"][0]))
    return "file, data: URI, Path, and a chain with pictures"


def predictions():
    created = client.predictions.create(model=IMAGE, input=CIRCLE)
    assert created.status == "starting" and created.urls["get"], created
    created.wait()
    equal(created.status, "succeeded", "status")
    assert created.metrics["predict_time"] > 0 and created.completed_at
    same = client.predictions.get(created.id)
    equal(same.id, created.id, "id")
    held = client.predictions.create(version=client.models.get(IMAGE).latest_version, input=CIRCLE, wait=True)
    equal(held.status, "succeeded", "status of a held prediction")
    by_model = client.models.predictions.create(model=IMAGE, input=CIRCLE, wait=30)
    equal(by_model.status, "succeeded", "status")
    iterated = client.predictions.create(model=IMAGE, input=CIRCLE)
    equal(len(list(iterated.output_iterator())), 1, "outputs of the iterator")
    return "create, wait, get, reload, output_iterator"


def progress():
    prediction = client.predictions.create(model=IMAGE, input=LONG)
    seen = None
    while prediction.status not in ["succeeded", "failed", "canceled"]:
        seen = prediction.progress or seen
        time.sleep(0.3)
        prediction.reload()
    assert seen and 0 < seen.percentage <= 1 and seen.total > 0, prediction.logs
    return f"{seen.current}/{seen.total} steps seen"


def cancel():
    prediction = client.predictions.create(model=IMAGE, input=LONG)
    prediction.cancel()
    prediction.wait()
    equal(prediction.status, "canceled", "status")
    equal(client.predictions.cancel(prediction.id).status, "canceled", "status of a repeated cancel")
    return "and again when it has ended"


def pages():
    for _ in range(101):
        client.predictions.create(model=IMAGE, input=CIRCLE).cancel()
    found = [prediction for page in paginate(client.predictions.list) for prediction in page]
    assert len(found) > 100 and len({prediction.id for prediction in found}) == len(found)
    assert [each.created_at for each in found] == sorted((each.created_at for each in found), reverse=True)
    return f"{len(found)} predictions, newest first"


def stream():
    kinds = [event.event.value for event in client.stream(IMAGE, input={**CIRCLE, "num_inference_steps": 40})]
    equal(kinds[-1], "done", "the last event")
    assert "output" in kinds, kinds
    text = "".join(str(event) for event in client.stream(SPEECH, input={"audio": CIRCLE_WAV}))
    assert "circle" in text.lower(), text
    prediction = client.predictions.create(model=IMAGE, input=CIRCLE, stream=True)
    equal([event.event.value for event in prediction.stream()][-1], "done", "the last event")
    return f"{len(kinds)} events of a picture; text; prediction.stream"


def files():
    made = client.files.create(CIRCLE_WAV, metadata={"order": 81})
    equal((made.name, made.content_type), ("en_circle.wav", "audio/x-wav"), "name and type")
    equal(made.metadata, {"order": 81}, "metadata")
    equal(client.files.get(made.id).etag, made.etag, "etag")
    equal(client.files.delete(made.id), True, "delete")
    return "create, get, delete; " + raises(ReplicateError, lambda: client.files.get(made.id), status=404)


def file_list():
    return "not offered: " + raises(ReplicateError, lambda: client.files.list(), status=405)


def webhooks():
    received = queue.Queue()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):  # noqa: N802 - the name is the standard library's
            body = self.rfile.read(int(self.headers["content-length"]))
            received.put((dict(self.headers), body.decode()))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hook = f"http://127.0.0.1:{server.server_port}/hook"
    prediction = client.predictions.create(model=IMAGE, input=CIRCLE, webhook=hook, webhook_events_filter=["completed"])
    headers, body = received.get(timeout=60)
    server.shutdown()
    secret = client.webhooks.default.secret()
    Webhooks.validate(headers=headers, body=body, secret=secret, tolerance=60)
    assert prediction.id in body
    request = httpx.Request("POST", hook, headers=headers, content=body)
    Webhooks.validate(request, secret=secret)
    forged = raises(InvalidSignatureError, lambda: Webhooks.validate(headers=headers, body=body + " ", secret=secret))
    old = {**{name.lower(): value for name, value in headers.items()}, "webhook-timestamp": "1"}
    stale = raises(InvalidTimestampError, lambda: Webhooks.validate(headers=old, body=body, secret=secret, tolerance=60))
    return f"valid; {forged}; {stale}"


def errors():
    create = client.predictions.create
    wrong = Client(base_url=URL, api_token="wrong")
    reader = Client(base_url=URL, api_token=api.key(scopes=["read"]))
    seen = [
        raises(ReplicateError, lambda: create(model=IMAGE, input={"prompt": "x", "width": 63}), status=422),
        raises(ReplicateError, lambda: create(model=IMAGE, input={"prompt": "x", "colour": 1}), status=422),
        raises(ReplicateError, lambda: create(model="lehr/none", input={"prompt": "x"}), status=404),
        raises(ReplicateError, lambda: client.predictions.get("none"), status=404),
        raises(ReplicateError, lambda: client.models.get("lehr/none"), status=404),
        raises(ReplicateError, lambda: wrong.models.list(), status=401),
        raises(ReplicateError, lambda: reader.predictions.create(model=IMAGE, input=CIRCLE), status=403),
        raises(ReplicateError, lambda: client.accounts.current(), status=404),
    ]
    try:
        create(model=IMAGE, input={"prompt": "x", "width": 63})
    except ReplicateError as error:
        assert "width" in error.detail and error.title and error.type, error
    return "; ".join(seen)


def failed():
    silence_is_no_audio = SAMPLES / "manifest.json"
    with silence_is_no_audio.open("rb") as file:
        return match(caught(ModelError, lambda: client.run(SPEECH, input={"audio": file})), {})


def caught(kind, run_it):
    try:
        run_it()
    except kind as error:
        assert isinstance(error.prediction.error, str) and error.prediction.status == "failed"
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def limited():
    """Creating is not retried by this client; reading is, after Retry-After."""
    own = Client(base_url=URL, api_token=api.key(limits={"requests_per_minute": 1}))
    own.predictions.create(model=IMAGE, input=CIRCLE)
    return raises(ReplicateError, lambda: [own.predictions.create(model=IMAGE, input=CIRCLE) for _ in range(9)], status=429)


async def async_calls():
    own = Client(base_url=URL, api_token=KEY)

    async def run_async():
        outputs = await asyncio.gather(*[own.async_run(IMAGE, input=CIRCLE) for _ in range(3)])
        equal([len(output) for output in outputs], [1] * 3, "pictures")
        return "three at once"

    async def predictions_async():
        prediction = await own.predictions.async_create(model=IMAGE, input=CIRCLE)
        await prediction.async_wait()
        equal(prediction.status, "succeeded", "status")
        other = await own.predictions.async_create(model=IMAGE, input=LONG)
        await other.async_cancel()
        await other.async_wait()
        equal(other.status, "canceled", "status")
        return "create, wait, cancel"

    async def stream_async():
        events = [event.event.value async for event in await own.async_stream(IMAGE, input=CIRCLE)]
        equal(events[-1], "done", "the last event")
        return f"{len(events)} events"

    async def others():
        made = await own.files.async_create(CIRCLE_WAV)
        await own.files.async_delete(made.id)
        version = (await own.models.async_get(IMAGE)).latest_version
        secret = await own.webhooks.default.async_secret()
        count = 0
        async for page in async_paginate(own.predictions.async_list):
            count += len(page)
        return f"version {version.id}, {secret.key[:6]}, {count} predictions"

    await calls.check_async("async_run", "", run_async)
    await calls.check_async("predictions.async_*", "create, wait, cancel", predictions_async)
    await calls.check_async("async_stream", "", stream_async)
    await calls.check_async("files, models, webhooks, async_paginate", "async", others)


def run_all(_request):
    calls.check("models.list, get; versions.list, get", "", models)
    calls.check("run", "pictures", run)
    calls.check("run", "wait", run_polled)
    calls.check("run", "speech and files", run_speech)
    calls.check("predictions.create, get, wait", "", predictions)
    calls.check("prediction.progress", "", progress)
    calls.check("predictions.cancel", "", cancel)
    calls.check("predictions.list, paginate", "more than one page", pages)
    calls.check("stream", "pictures and text", stream)
    calls.check("files.create, get, delete", "", files)
    calls.check("files.list", "not offered by Lehr", file_list)
    calls.check("webhooks.default.secret, Webhooks.validate", "", webhooks)
    calls.check("errors", "ReplicateError with status, title, detail", errors)
    calls.check("a job that fails", "ModelError", failed)
    calls.check("rate limit", "", limited)
    asyncio.run(async_calls())
    return calls.answer()


serve(run_all)

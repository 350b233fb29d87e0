"""Every call of the official `openai` package that Lehr answers, unchanged but for base URL and key.

Environment: LEHR_URL, LEHR_API_KEY (the operator's key), SAMPLES (folder of recordings). The server has the demo models.
"""

import asyncio
import base64
import json
import os
import pathlib
import sys
import threading
import time
import warnings

import openai
from openai import AsyncOpenAI, OpenAI

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from calls import Calls, equal, match, raises
from lehr_api import MODELS, Api, picture_size, pixels, png
from serve import serve

warnings.filterwarnings("ignore", category=DeprecationWarning)

URL = os.environ["LEHR_URL"]
KEY = os.environ["LEHR_API_KEY"]
SAMPLES = os.environ["SAMPLES"]
api = Api(URL, KEY)
calls = Calls("openai", openai.__version__)
# The strict client also checks that each answer has the fields and types that the package declares.
client = OpenAI(base_url=f"{URL}/v1", api_key=KEY, _strict_response_validation=True)
IMAGE, SPEECH = MODELS["image"], MODELS["speech"]
CIRCLE = {"model": IMAGE, "prompt": "a red circle on a blue background", "extra_body": {"steps": 4}}
# Such a job takes longer than the timeouts of the script, also on a fast machine.
LONG = {**CIRCLE, "extra_body": {"steps": 80}}


def recording(name="speech/en_circle.wav"):
    return open(os.path.join(SAMPLES, name), "rb")


def models():
    page = client.models.list()
    assert {IMAGE, SPEECH} <= {model.id for model in page}, page
    equal(client.models.retrieve(IMAGE).id, IMAGE, "id")
    return f"{len(page.data)} models"


def image_formats():
    for size in ["64x64", "256x128", "512x512", "auto"]:
        answer = client.images.generate(**CIRCLE, size=size)
        wanted = "256x256" if size == "auto" else size
        equal(picture_size(base64.b64decode(answer.data[0].b64_json)), wanted, size)
    for output_format in ["png", "jpeg", "webp"]:
        answer = client.images.generate(**CIRCLE, size="64x64", output_format=output_format)
        equal(answer.output_format, output_format, "output_format")
    return "exact sizes; png, jpeg, webp"


def image_response_formats():
    both = client.images.generate(**CIRCLE, n=2).data
    assert all(image.url and image.b64_json for image in both) and len(both) == 2
    assert both[0].b64_json != both[1].b64_json
    [link] = client.images.generate(**CIRCLE, response_format="url").data
    assert link.b64_json is None and api.fetch(link.url)[:4] == b"\x89PNG"
    [inline] = client.images.generate(**CIRCLE, response_format="b64_json").data
    assert inline.url is None and base64.b64decode(inline.b64_json)[:4] == b"\x89PNG"
    return "url, b64_json, both; the link needs no key"


def image_parameters():
    answer = client.images.generate(
        **CIRCLE, background="auto", moderation="low", n=1, output_compression=80, output_format="jpeg",
        quality="high", style="vivid", user="somebody", complexity="low", safety_identifier="s", size="64x64",
    )
    equal(len(answer.data), 1, "pictures")
    answer = client.images.generate(model=IMAGE, prompt="a circle", n=None, size=None, quality=None, background=None)
    equal(len(answer.data), 1, "pictures")
    seeded = [client.images.generate(model=IMAGE, prompt="x", extra_body={"seed": 7, "steps": 4}) for _ in range(2)]
    first, second = [pixels(base64.b64decode(answer.data[0].b64_json)) for answer in seeded]
    assert first == second, "one seed gives two pictures"
    return "all parameters, null, and seed and steps in extra_body"


def image_stream():
    kinds = []
    for event in client.images.generate(**LONG, stream=True, partial_images=2):
        kinds.append(event.type.rsplit(".", 1)[1])
        assert base64.b64decode(event.b64_json) and event.size and event.created_at and event.quality
    equal(kinds[-1], "completed", "the last event")
    assert "partial_image" in kinds, kinds
    return ", ".join(kinds)


START = ("start.png", png(64, lambda x, y: (4 * x, 4 * y, 90, 255)), "image/png")
# The left half is to be drawn again.
MASK = ("mask.png", png(64, lambda x, y: (0, 0, 0, 0 if x < 32 else 255)), "image/png")
EDIT = {"model": IMAGE, "prompt": "a red circle", "image": START, "extra_body": {"steps": 4, "seed": 7}}


def edits():
    plain = client.images.edit(**EDIT, size="64x64", n=2, output_format="png", quality="high", input_fidelity="low", user="u")
    equal([picture_size(base64.b64decode(image.b64_json)) for image in plain.data], ["64x64"] * 2, "sizes")
    listed = client.images.edit(**{**EDIT, "image": [START]}, size="64x64", response_format="url")
    assert api.fetch(listed.data[0].url)[:4] == b"\x89PNG" and listed.data[0].b64_json is None
    masked = [client.images.edit(**EDIT, mask=MASK).data[0].b64_json for _ in range(2)]
    equal(pixels(base64.b64decode(masked[0])), pixels(base64.b64decode(masked[1])), "one seed")
    equal(picture_size(base64.b64decode(masked[0])), "64x64", "the size of the picture")
    return "one picture or a list of one, mask, n, size, response_format"


def edit_stream():
    kinds = []
    for event in client.images.edit(**{**EDIT, "extra_body": {"steps": 80}}, size="256x256", stream=True, partial_images=2):
        kinds.append(event.type)
        assert base64.b64decode(event.b64_json) and event.size and event.created_at and event.quality
    equal(kinds[-1], "image_edit.completed", "the last event")
    assert "image_edit.partial_image" in kinds, kinds
    return ", ".join(kind.rsplit(".", 1)[1] for kind in kinds)


def variations():
    answer = client.images.create_variation(model=IMAGE, image=START, n=2, size="256x256", response_format="b64_json")
    equal([picture_size(base64.b64decode(image.b64_json)) for image in answer.data], ["256x256"] * 2, "sizes")
    assert answer.data[0].b64_json != answer.data[1].b64_json
    return "image, n, size, response_format"


def edit_errors():
    once = client.with_options(max_retries=0)
    bad = openai.BadRequestError
    opaque = ("mask.png", png(64, lambda x, y: (0, 0, 0, 255)), "image/png")
    small = ("mask.png", png(32, lambda x, y: (0, 0, 0, 0)), "image/png")
    seen = [
        raises(bad, lambda: once.images.edit(**{**EDIT, "image": b"no picture"}), param="image"),
        raises(bad, lambda: once.images.edit(**{**EDIT, "image": [START, START]}), param="image"),
        raises(bad, lambda: once.images.edit(**EDIT, mask=b"no picture"), param="mask"),
        raises(bad, lambda: once.images.edit(**EDIT, mask=small), param="mask"),
        raises(bad, lambda: once.images.edit(**EDIT, mask=opaque), param="mask"),
        raises(bad, lambda: once.images.edit(**EDIT, size="63x64"), param="size"),
        raises(bad, lambda: once.images.edit(**EDIT, background="transparent"), param="background"),
        raises(openai.NotFoundError, lambda: once.images.edit(**{**EDIT, "model": "dall-e-2"}), code="model_not_found"),
    ]
    return "; ".join(seen)


def transcriptions():
    found = {}
    for form in ["json", "text", "srt", "verbose_json", "vtt"]:
        answer = client.audio.transcriptions.create(file=recording(), model=SPEECH, response_format=form)
        found[form] = answer if isinstance(answer, str) else answer.text
        assert "circle" in found[form].lower(), (form, answer)
    assert found["vtt"].startswith("WEBVTT") and found["srt"].startswith("1\n")
    return ", ".join(found)


def transcription_fields():
    answer = client.audio.transcriptions.create(
        file=recording(), model=SPEECH, response_format="verbose_json", language="en", prompt="Shapes.",
        temperature=0, timestamp_granularities=["segment"], include=["logprobs"], chunking_strategy="auto",
    )
    equal(answer.language, "english", "language")
    assert isinstance(answer.duration, float) and answer.segments[0].end > 0
    for name in ["en_circle.flac", "en_circle.mp3", "en_circle.m4a", "en_circle.opus.ogg", "en_circle.webm"]:
        assert "circle" in client.audio.transcriptions.create(file=recording(f"formats/{name}"), model=SPEECH).text.lower()
    named = ("memo", recording().read(), "application/octet-stream")
    assert "circle" in client.audio.transcriptions.create(file=named, model=SPEECH).text.lower()
    return "all parts; wav, flac, mp3, m4a, ogg, webm, and bytes without a telling name"


def files():
    lines = b'{"a": 1}\n'
    sent = client.files.create(file=("lines.jsonl", lines), purpose="batch")
    equal((sent.bytes, sent.filename, sent.purpose), (len(lines), "lines.jsonl", "batch"), "the file")
    assert sent.id in {file.id for file in client.files.list(purpose="batch", limit=1)}
    equal(client.files.retrieve(sent.id).created_at, sent.created_at, "created_at")
    equal(client.files.content(sent.id).read(), lines, "content")
    assert client.files.delete(sent.id).deleted
    gone = raises(openai.NotFoundError, lambda: client.files.retrieve(sent.id), code="not_found")
    large = b"x" * 60_000_000
    equal(client.files.create(file=("large.jsonl", large), purpose="batch").bytes, len(large), "bytes")
    return f"create, list, retrieve, content, delete; a file of 60 MB; {gone}"


def run_batch(url, bodies):
    """Runs a batch of one line for each body, and returns it with the answers of its output, in their order."""
    lines = [json.dumps({"custom_id": str(i), "method": "POST", "url": url, "body": body}) for i, body in enumerate(bodies)]
    sent = client.files.create(file=("lines.jsonl", "\n".join(lines).encode()), purpose="batch")
    batch = client.batches.create(input_file_id=sent.id, endpoint=url, completion_window="24h", metadata={"run": "7"})
    assert batch.id in {each.id for each in client.batches.list(limit=1)}
    while batch.status not in ("completed", "failed", "expired", "cancelled"):
        time.sleep(0.2)
        batch = client.batches.retrieve(batch.id)
    if not batch.output_file_id:
        return batch, []
    answers = [json.loads(line) for line in client.files.content(batch.output_file_id).iter_lines()]
    equal([answer["response"]["status_code"] for answer in answers], [200] * len(answers), "statuses")
    return batch, [(answer["custom_id"], answer["response"]["body"]) for answer in answers]


def batches():
    prompts = [f"a red circle, {i}" for i in range(20)]
    wanted = {"model": IMAGE, "size": "64x64", "steps": 4, "response_format": "url"}
    batch, answers = run_batch("/v1/images/generations", [{**wanted, "prompt": prompt} for prompt in prompts])
    equal((batch.status, batch.request_counts.completed), ("completed", 20), "the batch")
    equal([custom_id for custom_id, _ in answers], [str(i) for i in range(20)], "the order")
    assert api.fetch(answers[19][1]["data"][0]["url"])[:4] == b"\x89PNG"
    start = client.files.create(file=START, purpose="vision")
    edit = {**wanted, "prompt": "a red circle", "images": [{"file_id": start.id}], "response_format": "b64_json"}
    _, [(_, edited)] = run_batch("/v1/images/edits", [edit])
    equal(picture_size(base64.b64decode(edited["data"][0]["b64_json"])), "64x64", "the size of the picture")
    spoken = client.files.create(file=recording(), purpose="user_data")
    bodies = [{"model": SPEECH, "file": spoken.id, "response_format": form} for form in ("json", "text", "srt")]
    _, texts = run_batch("/v1/audio/transcriptions", bodies)
    assert all("circle" in str(text).lower() for _, text in texts) and len(texts) == 3, texts
    _, [(_, embedded)] = run_batch("/v1/embeddings", [{"model": "demo-text", "input": ["a", "b"]}])
    equal(len(embedded["data"]), 2, "embeddings")
    return "20 pictures, an edit, transcripts in 3 formats, embeddings"


def batch_errors():
    body = {"model": IMAGE, "prompt": "x"}
    batch, answers = run_batch("/v1/images/generations", [{**body, "size": "63x64"}, {**body, "model": "dall-e-1"}])
    equal((batch.status, batch.request_counts.failed, answers), ("completed", 2, []), "the batch")
    lines = [json.loads(line) for line in client.files.content(batch.error_file_id).iter_lines()]
    seen = [(line["response"]["status_code"], line["response"]["body"]["error"]["param"]) for line in lines]
    equal(seen, [(400, "size"), (404, "model")], "errors")
    sent = client.files.create(file=("lines.jsonl", b'{"custom_id":'), purpose="batch")
    failed = client.batches.create(input_file_id=sent.id, endpoint="/v1/embeddings", completion_window="24h")
    while failed.status != "failed":
        time.sleep(0.2)
        failed = client.batches.retrieve(failed.id)
    equal((failed.errors.data[0].code, failed.errors.data[0].line), ("invalid_json_line", 1), "the error")
    long = {"model": IMAGE, "prompt": "x", "steps": 80}
    lines = [json.dumps({"custom_id": str(i), "method": "POST", "url": "/v1/images/generations", "body": long}) for i in range(50)]
    sent = client.files.create(file=("lines.jsonl", "\n".join(lines).encode()), purpose="batch")
    made = client.batches.create(input_file_id=sent.id, endpoint="/v1/images/generations", completion_window="24h")
    ended = client.batches.cancel(made.id)
    assert ended.status in ("cancelling", "cancelled"), ended.status
    while ended.status == "cancelling":
        time.sleep(0.2)
        ended = client.batches.retrieve(made.id)
    equal(ended.status, "cancelled", "status")
    return f"lines {seen}; invalid_json_line; cancelled with {ended.request_counts.completed} of 50 done"


def words():
    def ask():
        return client.audio.transcriptions.create(
            file=recording(), model=SPEECH, response_format="verbose_json", timestamp_granularities=["word"]
        )

    if not MODELS["times_words"]:
        return "refused, the demo model cannot: " + raises(openai.BadRequestError, ask, param="timestamp_granularities")
    answer = ask()
    assert answer.words and all(word.end >= word.start for word in answer.words)
    return f"{len(answer.words)} words"


def transcription_stream():
    events = list(client.audio.transcriptions.create(file=recording(), model=SPEECH, stream=True))
    deltas = "".join(event.delta for event in events if event.type == "transcript.text.delta")
    equal(events[-1].type, "transcript.text.done", "the last event")
    equal(events[-1].text, deltas, "the joined deltas")
    return f"{len(events)} events"


def translations():
    forms = ["json", "text", "srt", "verbose_json", "vtt"]
    for form in forms:
        answer = client.audio.translations.create(
            file=recording("speech/es_circulo.wav"), model=SPEECH, response_format=form, temperature=0, prompt="Shapes."
        )
        assert "circle" in (answer if isinstance(answer, str) else answer.text).lower(), (form, answer)
    return ", ".join(forms)


def errors():
    once = client.with_options(max_retries=0)
    bad = openai.BadRequestError
    seen = [
        raises(bad, lambda: once.images.generate(model=IMAGE, prompt="x", size="63x64"), param="size"),
        raises(bad, lambda: once.images.generate(model=IMAGE, prompt="x", n=99), param="n"),
        raises(bad, lambda: once.images.generate(model=IMAGE, prompt="x", output_format="gif"), param="output_format"),
        raises(bad, lambda: once.images.generate(model=IMAGE, prompt="x", background="transparent"), param="background"),
        raises(bad, lambda: once.audio.transcriptions.create(file=b"no audio", model=SPEECH), param="file"),
        raises(bad, lambda: once.audio.transcriptions.create(file=recording(), model=SPEECH, language="xx"), param="language"),
        raises(openai.NotFoundError, lambda: once.images.generate(model="dall-e-1", prompt="x"), code="model_not_found"),
        raises(openai.NotFoundError, lambda: once.models.retrieve("no-such-model"), param="model"),
        raises(openai.NotFoundError, lambda: once.completions.create(model="x", prompt="y"), code="not_found"),
        raises(openai.APIStatusError, lambda: once.audio.transcriptions.create(file=b"x" * 26_000_000, model=SPEECH), status_code=413),
    ]
    return "; ".join(seen)


def key_errors():
    wrong = OpenAI(base_url=f"{URL}/v1", api_key="wrong", max_retries=0)
    reader = OpenAI(base_url=f"{URL}/v1", api_key=api.key(scopes=["read"]), max_retries=0)
    seen = [
        raises(openai.AuthenticationError, lambda: wrong.models.list(), code="invalid_api_key"),
        raises(openai.PermissionDeniedError, lambda: reader.images.generate(**CIRCLE), code="insufficient_permissions"),
    ]
    try:
        wrong.models.list()
    except openai.AuthenticationError as error:
        assert error.request_id, "no request id"
    return "; ".join(seen) + "; request_id"


def idempotency():
    headers = {"Idempotency-Key": f"key-{time.time()}"}
    first, second = [client.images.generate(**CIRCLE, extra_headers=headers) for _ in range(2)]
    equal(first.data[0].b64_json, second.data[0].b64_json, "the repeated picture")
    other = {**CIRCLE, "prompt": "another"}
    return raises(
        openai.UnprocessableEntityError,
        lambda: client.images.generate(**other, extra_headers=headers),
        code="idempotency_key_reused",
    )


def rate_limit():
    """Two requests a minute: the third is refused, and the client obeys Retry-After before it asks again."""
    limited = OpenAI(base_url=f"{URL}/v1", api_key=api.key(limits={"requests_per_minute": 1}), max_retries=0)
    limited.images.generate(**CIRCLE)
    try:
        for _ in range(20):
            limited.images.generate(**CIRCLE)
    except openai.RateLimitError as error:
        after = float(error.response.headers["retry-after"])
        assert 0 < after <= 60, after
        return match(error, {"code": "rate_limit_exceeded"}) + f"; Retry-After {after:g}"
    raise AssertionError("no request was refused")


def retry():
    """A key with 30 requests a minute has one more every two seconds; the client's own retries must get it."""
    limited = OpenAI(base_url=f"{URL}/v1", api_key=api.key(limits={"requests_per_minute": 30}), max_retries=4)
    retries = 0
    for _ in range(40):
        raw = limited.images.with_raw_response.generate(**CIRCLE, size="64x64")
        retries += raw.retries_taken
        if retries:
            return f"served after {retries} retry of the client"
    raise AssertionError("no request was retried")


def timeout():
    before = api.jobs()
    # Lehr answers a second before the timeout, and the client's retries get the same job.
    kept = client.with_options(timeout=3, max_retries=20).images.generate(**LONG)
    equal(len(kept.data), 1, "pictures")
    equal(api.jobs() - before, 1, "the jobs of a retried call")
    held = raises(openai.InternalServerError, held_call, code="hold_expired")
    return f"{held}; one job for all retries"


def held_call():
    """A call that Lehr must answer after one second; the client gives up after two."""
    started, load = time.monotonic(), os.getloadavg()[0]
    try:
        client.with_options(max_retries=0, timeout=2).images.generate(**LONG)
    except openai.APITimeoutError as error:
        waited = time.monotonic() - started
        late = f"no answer in {waited:.1f} s to a call that is answered after 1 s; load {load:.1f} on {os.cpu_count()} cores"
        raise AssertionError(late) from error


def canceled():
    result = []

    def draw():
        try:
            client.images.generate(**LONG)
            result.append("not canceled")
        except openai.ConflictError as error:
            result.append(match(error, {"code": "job_canceled"}))

    thread = threading.Thread(target=draw)
    thread.start()
    api.cancel_newest()
    thread.join()
    assert result[0].startswith("Conflict"), result
    return result[0]


async def async_calls():
    own = AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, _strict_response_validation=True)

    async def at_once():
        answers = await asyncio.gather(*[own.images.generate(**CIRCLE) for _ in range(4)])
        equal([len(answer.data) for answer in answers], [1] * 4, "pictures")
        return "four at once"

    async def streamed():
        events = [event async for event in await own.images.generate(**CIRCLE, stream=True, partial_images=1)]
        equal(events[-1].type, "image_generation.completed", "the last event")
        return f"{len(events)} events"

    async def speech():
        answer = await own.audio.transcriptions.create(file=recording(), model=SPEECH)
        stream = await own.audio.transcriptions.create(file=recording(), model=SPEECH, stream=True)
        events = [event async for event in stream]
        assert "circle" in answer.text.lower() and events[-1].text == answer.text
        return "create, and as a stream"

    async def listed():
        return f"{len([model async for model in own.models.list()])} models"

    await calls.check_async("AsyncOpenAI images.generate", "four at once", at_once)
    await calls.check_async("AsyncOpenAI images.generate", "stream", streamed)
    await calls.check_async("AsyncOpenAI audio.transcriptions.create", "file, stream", speech)
    await calls.check_async("AsyncOpenAI models.list", "async for", listed)


def run_all(_request):
    calls.check("models.list, models.retrieve", "", models)
    calls.check("images.generate", "size, output_format", image_formats)
    calls.check("images.generate", "response_format", image_response_formats)
    calls.check("images.generate", "every parameter", image_parameters)
    calls.check("images.generate", "stream, partial_images", image_stream)
    calls.check("images.edit", "image, mask, and every parameter", edits)
    calls.check("images.edit", "stream, partial_images", edit_stream)
    calls.check("images.create_variation", "image, n, size", variations)
    calls.check("errors of an edit", "class and param or code", edit_errors)
    calls.check("audio.transcriptions.create", "response_format", transcriptions)
    calls.check("audio.transcriptions.create", "every parameter and format", transcription_fields)
    calls.check("audio.transcriptions.create", "timestamp_granularities word", words)
    calls.check("audio.transcriptions.create", "stream", transcription_stream)
    calls.check("audio.translations.create", "response_format", translations)
    calls.check("files", "create, list, retrieve, content, delete", files)
    calls.check("batches", "create, retrieve, list; outputs in order", batches)
    calls.check("batches", "errors of lines and files, cancel", batch_errors)
    calls.check("errors of a request", "class and param or code", errors)
    calls.check("errors of a key", "class and code", key_errors)
    calls.check("Idempotency-Key", "repeated, and with another body", idempotency)
    calls.check("rate limit", "RateLimitError", rate_limit)
    calls.check("retries", "max_retries=4 against a limited key", retry)
    calls.check("timeouts", "timeout=3 with retries, timeout=2 without", timeout)
    calls.check("a job that is canceled", "ConflictError", canceled)
    asyncio.run(async_calls())
    return calls.answer()


serve(run_all)

"""Embeddings with the package `openai`, and every task of `huggingface_hub` that Lehr answers, unchanged but for address and key.

Environment: LEHR_URL, LEHR_API_KEY; EMBED_MODEL, LABEL_MODEL and MASK_MODEL (default: demo-text). NER_MODEL, IMAGE_MODEL and SPEECH_MODEL
with RECORDING are called only if they are set.
"""

import base64
import os
import pathlib
import struct
import sys

import huggingface_hub
import openai
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError
from openai import OpenAI

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from calls import Calls, raises
from serve import serve

URL = os.environ["LEHR_URL"]
KEY = os.environ["LEHR_API_KEY"]
EMBED, LABEL, MASK = (os.environ.get(f"{name}_MODEL", "demo-text") for name in ("EMBED", "LABEL", "MASK"))
TEXTS = ["a red circle", "a green square on a blue background"]
calls = Calls("huggingface_hub", huggingface_hub.__version__)
api = OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)


def hub(model, task, key=KEY):
    return InferenceClient(model=f"{URL}/models/{model}/pipeline/{task}", api_key=key)


def embeddings():
    floats = api.embeddings.create(model=EMBED, input=TEXTS, encoding_format="float")
    packed = api.embeddings.create(model=EMBED, input=TEXTS)
    text = api.embeddings.create(model=EMBED, input=TEXTS, encoding_format="base64").data[0].embedding
    assert len(floats.data) == 2 and floats.usage.prompt_tokens == floats.usage.total_tokens > 0, floats.usage
    for one, other in zip(floats.data, packed.data):
        assert all(abs(a - b) < 1e-6 for a, b in zip(one.embedding, other.embedding))
    first = struct.unpack(f"<{len(floats.data[0].embedding)}f", base64.b64decode(text))
    assert all(abs(a - b) < 1e-6 for a, b in zip(first, floats.data[0].embedding))
    return f"{len(floats.data[0].embedding)} dimensions, {floats.usage.total_tokens} tokens"


def token_ids():
    assert len(api.embeddings.create(model=EMBED, input=[[5, 6, 7], [8]]).data) == 2
    return f"{len(api.embeddings.create(model=EMBED, input=[5, 6, 7], dimensions=2).data[0].embedding)} dimensions"


def features():
    one = hub(EMBED, "feature-extraction").feature_extraction(TEXTS[0])
    several = hub(f"some-owner/{EMBED}", "feature-extraction").feature_extraction(TEXTS, normalize=True)
    assert one.ndim == 1 and several.shape == (2, len(one)), (one.shape, several.shape)
    return f"{one.shape} and {several.shape}, {one.dtype}"


def masks():
    fills = hub(MASK, "fill-mask").fill_mask("a red [MASK] on a blue background", top_k=3)
    assert len(fills) == 3 and fills[0].score >= fills[1].score and fills[0].token_str in fills[0].sequence, fills
    return f"{fills[0].token_str} {fills[0].score:.3f}"


def labels():
    found = hub(LABEL, "text-classification").text_classification(TEXTS[0], top_k=1)
    assert len(found) == 1 and 0 <= found[0].score <= 1, found
    return f"{found[0].label} {found[0].score:.3f}"


def entities():
    found = hub(os.environ["NER_MODEL"], "token-classification").token_classification("Ada Lovelace lived in London")
    assert all(each.entity_group and each.start < each.end for each in found), found
    return f"{len(found)} entities"


def picture():
    model = f"{URL}/models/{os.environ['IMAGE_MODEL']}"
    image = InferenceClient(model=model, api_key=KEY).text_to_image("a red circle", num_inference_steps=2, seed=7)
    return f"{image.size}"


def speech():
    model = f"{URL}/models/{os.environ['SPEECH_MODEL']}"
    return InferenceClient(model=model, api_key=KEY).automatic_speech_recognition(os.environ["RECORDING"]).text


def status_of(run):
    try:
        run()
    except HfHubHTTPError as error:
        return f"{type(error).__name__} {error.response.status_code}: {error.response.json()['error'][:80]}"
    raise AssertionError("the call was not refused")


def run(_request):
    calls.check("openai embeddings.create", "float, base64, as the client asks", embeddings)
    calls.check("openai embeddings.create", "token ids, dimensions", token_ids)
    calls.check(
        "openai embeddings.create",
        "an unknown model",
        lambda: raises(openai.NotFoundError, lambda: api.embeddings.create(model="nothing", input="a"), status_code=404),
    )
    calls.check("feature_extraction", "a text, a list", features)
    calls.check("fill_mask", "top_k", masks)
    calls.check("text_classification", "top_k", labels)
    if "NER_MODEL" in os.environ:
        calls.check("token_classification", "merged", entities)
    if "IMAGE_MODEL" in os.environ:
        calls.check("text_to_image", "steps, seed", picture)
    if "SPEECH_MODEL" in os.environ:
        calls.check("automatic_speech_recognition", "a file", speech)
    for form, call in {
        "an unknown model": lambda: hub("nothing", "fill-mask").fill_mask("a [MASK]"),
        "a wrong key": lambda: hub(MASK, "fill-mask", "wrong").fill_mask("a [MASK]"),
        "targets, which are not supported": lambda: hub(MASK, "fill-mask").fill_mask("a [MASK]", targets=["b"]),
        "top_k of 0": lambda: hub(LABEL, "text-classification").text_classification("a", top_k=0),
    }.items():
        calls.check("refusals", form, lambda call=call: status_of(call))
    return calls.answer()


serve(run)

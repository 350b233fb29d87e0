"""Every call of the package `webuiapi` that Lehr answers, unchanged but for base URL and key.

Environment: LEHR_URL, LEHR_API_KEY (the operator's key). The server has the demo models.
"""

import asyncio
import os
import pathlib
import sys
import threading
import time
from importlib.metadata import version as version_of

import webuiapi
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from calls import Calls, equal
from lehr_api import MODELS, Api
from serve import serve

URL = os.environ["LEHR_URL"]
KEY = os.environ["LEHR_API_KEY"]
operator = Api(URL, KEY)
calls = Calls("webuiapi", version_of("webuiapi"))
IMAGE = MODELS["image"]
CIRCLE = {"prompt": "a red circle on a blue background", "width": 64, "height": 64, "steps": 4, "seed": 7}
# Such a call is still running when the next one is made, also on a fast machine.
LONG = {**CIRCLE, "width": 256, "height": 256, "steps": 80}


def client(key=None):
    """With a key of its own: progress and interrupt are about the calls of one key."""
    return webuiapi.WebUIApi(baseurl=f"{URL}/sdapi/v1", username="lehr", password=key or operator.key())


api = client()


def refused(run, status, words):
    try:
        run()
    except RuntimeError as error:
        got, text = error.args
        equal(got, status, "status")
        assert words in text, text
        return f"{status}: {words}"
    raise AssertionError("not refused")


def lists():
    equal(api.util_get_model_names(), [IMAGE], "models")
    equal(api.util_get_current_model(), IMAGE, "the current model")
    assert {"Euler a", "DPM++ 2M", "DDIM"} <= set(api.util_get_sampler_names()), api.get_samplers()
    assert "karras" in api.util_get_scheduler_names()
    equal([each["name"] for each in api.get_upscalers()], ["None", "Lanczos", "demo-upscaler"], "upscalers")
    equal(api.get_latent_upscale_modes(), [{"name": "Latent"}], "upscalers of latents")
    for name in ["loras", "sd_vae", "hypernetworks", "face_restorers", "prompt_styles"]:
        equal(getattr(api, f"get_{name}")(), [], name)
    equal(api.get_embeddings(), {"loaded": {}, "skipped": {}}, "embeddings")
    equal(api.refresh_checkpoints(), None, "refresh")
    equal(api.set_options({"CLIP_stop_at_last_layers": 2}), None, "set_options")
    api.util_set_model(IMAGE)
    return "models, samplers, schedulers, options, and empty lists"


def draw():
    first, second = [api.txt2img(**CIRCLE) for _ in range(2)]
    equal(first.image.size, (64, 64), "size")
    equal(list(first.image.getdata()), list(second.image.getdata()), "the picture of one seed")
    equal(first.info["all_seeds"], [7], "seeds")
    equal(first.image.info["parameters"], first.info["infotexts"][0], "the text in the PNG")
    assert "Sampler: Euler a" in first.image.info["parameters"], first.image.info
    several = api.txt2img(**CIRCLE, batch_size=2, n_iter=2)
    equal([len(several.images), several.info["all_seeds"]], [4, [7, 8, 9, 10]], "pictures")
    random = [api.txt2img(**{**CIRCLE, "seed": -1}).info["seed"] for _ in range(2)]
    assert random[0] != random[1], random
    return "one, four, and random seeds; infotext in the PNG"


def samplers():
    for name in api.util_get_sampler_names():
        made = api.txt2img(**CIRCLE, sampler_name=name)
        equal(made.info["sampler_name"], name, "sampler")
    api.txt2img(**CIRCLE, sampler_name="DPM++ 2M", scheduler="Uniform")
    override = {"sd_model_checkpoint": IMAGE, "CLIP_stop_at_last_layers": 1}
    api.txt2img(**CIRCLE, sampler_name="DPM++ 2M Karras", override_settings=override)
    return ", ".join(api.util_get_sampler_names())


def hires():
    made = api.txt2img(**CIRCLE, enable_hr=True, hr_scale=2, denoising_strength=0.7)
    equal(made.image.size, (128, 128), "size")
    assert "Hires upscale: 2" in made.image.info["parameters"], made.image.info
    return "64x64, then 128x128"


def png_info():
    picture = api.txt2img(**CIRCLE, negative_prompt="green").image
    told = api.png_info(picture)
    equal(told.info, picture.info["parameters"], "info")
    equal(told.parameters["Negative prompt"], "green", "negative prompt")
    equal(told.parameters["Seed"], "7", "seed")
    return "info and parameters of a picture of txt2img"


def enlarge():
    start = Image.new("RGB", (48, 32), (200, 50, 100))
    by_factor = api.extra_single_image(start, upscaler_1="demo-upscaler", upscaling_resize=3)
    equal(by_factor.image.size, (144, 96), "size")
    sized = {"resize_mode": 1, "upscaling_resize_w": 96, "upscaling_resize_h": 64}
    equal(api.extra_single_image(start, upscaler_1="demo-upscaler", **sized).image.size, (96, 64), "size")
    return "by a factor, and to a size"


def edit():
    start = Image.new("RGB", (64, 64), (200, 50, 100))
    mask = Image.new("L", (64, 64), 0)
    mask.paste(255, (32, 0, 64, 64))
    try:
        made = api.img2img(images=[start], denoising_strength=0.5, **CIRCLE)
        masked = api.img2img(images=[start], mask_image=mask, mask_blur=0, inpaint_full_res=False, **CIRCLE)
    except RuntimeError as error:
        assert error.args[0] == 422 and "VAE encoder" in error.args[1], error
        return "refused, the demo model cannot"
    equal(made.image.size, (64, 64), "size")
    kept = masked.image.crop((0, 0, 32, 64))
    equal(set(kept.getdata()), {(200, 50, 100)}, "what the mask keeps")
    return "a picture of the same size; and a mask, outside of which nothing changes"


def errors():
    seen = [
        refused(lambda: api.txt2img(**{**CIRCLE, "width": 65}), 422, "width"),
        refused(lambda: api.txt2img(**CIRCLE, sampler_name="Restart"), 404, "Sampler not found"),
        refused(lambda: api.txt2img(**CIRCLE, override_settings={"sd_model_checkpoint": "v1-5"}), 404, "v1-5"),
        refused(lambda: api.txt2img(**CIRCLE, tiling=True), 422, "tiling"),
        refused(lambda: api.img2img(images=[], **CIRCLE), 404, "Init image not found"),
        refused(lambda: api.extra_single_image(Image.new("RGB", (8, 8)), upscaler_1="Lanczos"), 422, "upscaler"),
        refused(lambda: client("wrong").txt2img(**CIRCLE), 401, "not known"),
    ]
    return "; ".join(seen)


def progress():
    """A call of one key is seen by this key, with a preview, and interrupted; another key sees nothing."""
    own, other = client(), client()
    ended = []
    thread = threading.Thread(target=lambda: ended.append(refused(lambda: own.txt2img(**LONG), 409, "canceled")))
    thread.start()
    give_up_at = time.monotonic() + 120
    steps, preview = set(), None
    while (len(steps) < 2 or not preview) and time.monotonic() < give_up_at:
        seen = own.get_progress()
        assert 0 <= seen["progress"] <= 1 and seen["eta_relative"] >= 0, seen
        steps.add(seen["state"]["sampling_step"])
        preview = seen["current_image"] or preview
        time.sleep(0.05)
    equal(other.get_progress()["state"]["job_count"], 0, "calls of the other key")
    other.interrupt()
    assert thread.is_alive(), "another key has interrupted the call"
    equal(own.interrupt(), {}, "interrupt")
    thread.join()
    own.util_wait_for_ready(check_interval=0.1)
    assert preview and len(steps) >= 2, (steps, preview)
    return f"progress and preview of the own call alone; {ended[0]}"


def at_once():
    async def four():
        return await asyncio.gather(*[api.txt2img(**CIRCLE, use_async=True) for _ in range(4)])

    equal([len(made.images) for made in asyncio.run(four())], [1] * 4, "pictures")
    return "four at once"


def run_all(_request):
    calls.check("get_*, set_options", "", lists)
    calls.check("txt2img", "seed, batch_size, n_iter", draw)
    calls.check("txt2img", "every sampler", samplers)
    calls.check("txt2img", "use_async", at_once)
    calls.check("txt2img", "enable_hr", hires)
    calls.check("png_info", "", png_info)
    calls.check("extra_single_image", "", enlarge)
    calls.check("img2img", "", edit)
    calls.check("errors of a request", "status and words", errors)
    calls.check("get_progress, interrupt", "", progress)
    return calls.answer()


serve(run_all)

"""The pipelines of the fixtures (few channels), exported by Optimum in float32 and float16 and drawn by three programs.

Requests, one line of JSON each:

    {"do": "make", "name": "sd15", "folder": F}                       F/torch: the pipeline as diffusers saves it
    {"do": "export", "folder": F, "dtype": "fp16"}                    F/onnx-fp16: as `optimum-cli export onnx` writes it
    {"do": "draw", "folder": F, "engine": E, "cases": [...]}          F/drawn/E/NAME.latent.f32, NAME.png

E is torch-fp32 or torch-fp16 (diffusers), or onnx-fp32 (Optimum's pipeline).
"""

import shutil
import sys
from pathlib import Path

import torch

import make_fixtures
import pipelines

sys.path.insert(0, str(Path(__file__).parent.parent))
from serve import serve  # noqa: E402

MAKERS = {
    "sd15": pipelines.sd15,
    "sd21": pipelines.sd21,
    "sd-turbo": lambda work: pipelines.sd_turbo(pipelines.sd21(work)),
    "lcm": pipelines.lcm,
    "sdxl": pipelines.sdxl,
    "sdxl-turbo": lambda work: pipelines.sdxl_turbo(pipelines.sdxl(work)),
    "sdxl-lcm": pipelines.sdxl_lcm,
}
TYPES = {"fp32": torch.float32, "fp16": torch.float16}


def make(name: str, folder: Path) -> None:
    MAKERS[name](folder / "work").save_pretrained(folder / "torch")
    shutil.rmtree(folder / "work")


def export(folder: Path, dtype: str) -> None:
    from optimum.exporters.onnx import main_export

    out = folder / f"onnx-{dtype}"
    main_export(str(folder / "torch"), output=str(out), task="text-to-image", dtype=dtype, do_validation=False)
    shutil.rmtree(out / "vae_encoder", ignore_errors=True)


def open_pipeline(folder: Path, engine: str):
    kind, dtype = engine.split("-")
    if kind == "torch":
        from diffusers import DiffusionPipeline

        return DiffusionPipeline.from_pretrained(folder / "torch", torch_dtype=TYPES[dtype])
    import onnxruntime
    from optimum.onnxruntime import ORTPipelineForText2Image

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return ORTPipelineForText2Image.from_pretrained(folder / f"onnx-{dtype}", session_options=options)


def draw_same_noise() -> None:
    """Draws all noise in float32 and then rounds it: in float16, torch makes other numbers of the same seed."""
    import diffusers.utils.torch_utils as utils

    own = utils.randn_tensor

    def in_float32(shape, generator=None, device=None, dtype=None, layout=None):
        return own(shape, generator=generator, device=device, dtype=torch.float32, layout=layout).to(dtype)

    for module in list(sys.modules.values()):
        if getattr(module, "randn_tensor", None) is own:
            module.randn_tensor = in_float32


def draw(folder: Path, engine: str, cases: list) -> None:
    pipeline = open_pipeline(folder, engine)
    pipeline.set_progress_bar_config(disable=True)
    draw_same_noise()
    out = folder / "drawn" / engine
    shutil.copytree(folder / "torch/scheduler", out / "scheduler", dirs_exist_ok=True)
    make_fixtures.record(pipeline, cases, out)
    for file in (out / "expected").iterdir():
        file.replace(out / file.name)
    for each in cases:
        (out / f"{each['name']}.json").write_text("{}")


def answer(request: dict):
    folder = Path(request["folder"])
    torch.set_num_threads(1)
    if request["do"] == "make":
        make(request["name"], folder)
    elif request["do"] == "export":
        export(folder, request["dtype"])
    elif request["do"] == "draw":
        draw(folder, request["engine"], request["cases"])
    else:
        raise ValueError(f"unknown request {request['do']}")
    return {}


if __name__ == "__main__":
    serve(answer)

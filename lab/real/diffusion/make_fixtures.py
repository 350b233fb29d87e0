"""Makes the diffusion fixtures: exports pipelines with the real exporters and records what diffusers draws in torch.

    python -m venv ~/.cache/lehr-real/venv
    ~/.cache/lehr-real/venv/bin/pip install -r lab/real/diffusion/requirements.txt
    ~/.cache/lehr-real/venv/bin/python lab/real/diffusion/make_fixtures.py [name ...]

A fixture is a folder: the exported files (graphs compressed with gzip), and `expected/` with the final latent (float32) and the
picture (PNG) of each case in `cases.json`. `base` in cases.json names a fixture whose files this one has too; `same_as_base` names
the cases of the base whose pictures this fixture must draw too. A case with an `image` begins at that file of the fixture (and with a
`mask` changes what is white there), one with a `latent` at the final latent of a case of another fixture, and one with `hires` has a
second call at a larger size. `whole.safetensors` and `unet.safetensors` are other weights for the graphs of the base.
"""

import contextlib
import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from optimum.exporters.onnx import main_export

import adapter_files
import control_files
import drawing
import dynamo_exports
import pipelines
import prompt_states
import torch_exports
import weight_files
from fixture_cases import (
    PLAIN, TURBO, LCM, SDXL, IMAGE_TO_IMAGE, LCM_IMAGE, SDXL_IMAGE, INPAINT, OWN_INPAINT, SDXL_INPAINT,
    OWN_XL_INPAINT, REFINER, WINDOW, REFINER_WINDOW, REFINER_INPAINT, MASKED_HIRES, OWN_MASKED_HIRES, HIRES,
    SDXL_HIRES, ADAPTERS, SDXL_ADAPTERS, CONTROL, SDXL_CONTROL,
)

OUT = Path(__file__).parent / "fixtures"
SIDE = 64


def expected_latent(name: str) -> Path:
    """Of a case of another fixture."""
    fixture, each = name.split("/")
    return OUT / fixture / "expected" / f"{each}.latent.f32"


def record(pipeline, cases, folder: Path, controls=None) -> None:
    # From the file: a config in memory hides which of its values are defaults of its class.
    config = json.loads((folder / "scheduler/scheduler_config.json").read_text())
    (folder / "expected").mkdir(parents=True, exist_ok=True)
    for each in cases:
        latent, picture = drawing.draw(pipeline, each, config, folder, expected_latent, controls=controls)
        drawing.save(latent, picture, folder / "expected" / each["name"])
        print(folder.name, each["name"], "latent std", float(torch.as_tensor(latent).std()))


def optimum_export(pipeline, folder: Path, task="text-to-image") -> None:
    """What `optimum-cli export onnx --model <folder> <out>` does."""
    with tempfile.TemporaryDirectory() as work:
        pipeline.save_pretrained(f"{work}/torch")
        main_export(f"{work}/torch", output=f"{work}/onnx", task=task, do_validation=False)
        if task == "text-to-image":
            # Not used by the cases of these fixtures.
            shutil.rmtree(f"{work}/onnx/vae_encoder", ignore_errors=True)
        shutil.copytree(f"{work}/onnx", folder, dirs_exist_ok=True)
        for file in folder.rglob("*tokenizer*/tokenizer.json"):
            file.unlink()


def compress(folder: Path) -> None:
    for file in folder.rglob("*.json"):
        content = json.loads(file.read_text())
        if isinstance(content, dict) and content.pop("_name_or_path", None) is not None:
            # The path of a temporary folder.
            file.write_text(json.dumps(content, indent=1) + "\n")
    for file in [each for kind in ("onnx", "data", "onnx_data", "safetensors") for each in folder.rglob(f"*.{kind}")]:
        with gzip.GzipFile(f"{file}.gz", "wb", 9, mtime=0) as out:
            out.write(file.read_bytes())
        file.unlink()


def encoder_export(pipeline, folder: Path) -> None:
    """The VAE encoder alone, for a fixture whose base has the other graphs."""
    with tempfile.TemporaryDirectory() as work:
        optimum_export(pipeline, Path(work) / "all", task="image-to-image")
        shutil.copytree(f"{work}/all/vae_encoder", folder / "vae_encoder")


def bases(name):
    """Where the schedule of a fixture may be: in its folder, or in that of its base."""
    while name:
        yield OUT / name / "scheduler"
        name = json.loads((OUT / name / "cases.json").read_text())["base"]


def unet_export(pipeline, folder: Path) -> None:
    """For a fixture whose bases have the other graphs."""
    with tempfile.TemporaryDirectory() as work:
        optimum_export(pipeline, Path(work) / "all", task="inpainting")
        shutil.copytree(f"{work}/all/unet", folder / "unet")


def no_export(_pipeline, _folder: Path) -> None:
    """For a fixture whose bases have all graphs."""


def save(name, pipeline, cases, sampler, base=None, export=optimum_export, controls=None) -> None:
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    cases = [{**each, "width": SIDE, "height": SIDE} for each in cases]
    drawing.write_files(folder, cases)
    if base and export is not optimum_export:
        export(pipeline, folder)
        shutil.copytree(next(path for path in bases(base) if path.exists()), folder / "scheduler")
    elif base:
        # Only the files that differ from those of the base.
        for part in ("scheduler", "model_index.json"):
            with tempfile.TemporaryDirectory() as work:
                pipeline.save_pretrained(work)
                folder.mkdir(exist_ok=True)
                source = Path(work) / part
                shutil.copytree(source, folder / part) if source.is_dir() else shutil.copy(source, folder / part)
    else:
        export(pipeline, folder)
    record(pipeline, cases, folder, controls)
    named = [{**each, "sampler": each["sampler"] or sampler} for each in cases]
    (folder / "cases.json").write_text(json.dumps({"base": base, "cases": named}, indent=1) + "\n")
    if base and export is not optimum_export:
        shutil.rmtree(folder / "scheduler")
    compress(folder)


def main(wanted) -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for fixture, make in FIXTURES.items():
            if not wanted or fixture in wanted:
                make(work / fixture)


def make_sd15(work):
    pipeline = pipelines.sd15(work)
    save("sd15", pipeline, PLAIN, "pndm")


def make_image_to_image(work):
    save("sd15-image", pipelines.sd15(work / "sd15"), IMAGE_TO_IMAGE, "pndm", base="sd15", export=encoder_export)
    save("lcm-image", pipelines.lcm(work / "lcm"), LCM_IMAGE, "lcm", base="lcm", export=encoder_export)
    save("sdxl-image", pipelines.sdxl(work / "sdxl"), SDXL_IMAGE, "euler", base="sdxl", export=encoder_export)


def make_inpaint(work):
    save("sd15-inpaint", pipelines.sd15(work / "sd15"), INPAINT, "pndm", base="sd15-image", export=no_export)
    save("sdxl-inpaint", pipelines.sdxl(work / "sdxl"), SDXL_INPAINT, "euler", base="sdxl-image", export=no_export)


def make_own_inpaint(work):
    pipeline = pipelines.sd15_inpaint(pipelines.sd15(work))
    save("sd-inpaint", pipeline, OWN_INPAINT, "pndm", base="sd15-image", export=unet_export)
    save("sd-inpaint-hires", pipeline, OWN_MASKED_HIRES, "pndm", base="sd-inpaint", export=no_export)


def make_masked_hires(work):
    save("sd15-inpaint-hires", pipelines.sd15(work), MASKED_HIRES, "pndm", base="sd15-image", export=no_export)


def make_refiner_inpaint(work):
    save("sdxl-refiner-inpaint", pipelines.sdxl_refiner(work), REFINER_INPAINT, "euler", base="sdxl-refiner", export=no_export)


def make_own_xl_inpaint(work):
    pipeline = pipelines.sdxl_inpaint(pipelines.sdxl(work))
    save("sdxl-own-inpaint", pipeline, OWN_XL_INPAINT, "euler", base="sdxl-image", export=unet_export)


def make_refiner(work):
    export = lambda pipeline, folder: optimum_export(pipeline, folder, task="image-to-image")
    save("sdxl-refiner", pipelines.sdxl_refiner(work), REFINER, "euler", export=export)


def make_windows(work):
    save("sdxl-window", pipelines.sdxl(work / "base"), WINDOW, "euler", base="sdxl")
    save("sdxl-refiner-window", pipelines.sdxl_refiner(work / "refiner"), REFINER_WINDOW, "euler", base="sdxl-refiner")


def make_hires(work):
    save("sd15-hires", pipelines.sd15(work / "sd15"), HIRES, "pndm", base="sd15-image")
    save("sdxl-hires", pipelines.sdxl(work / "sdxl"), SDXL_HIRES, "euler", base="sdxl")


def make_sd21(work):
    pipeline = pipelines.sd21(work)
    save("sd21", pipeline, PLAIN, "ddim")
    save("sd-turbo", pipelines.sd_turbo(pipeline), TURBO, "euler", base="sd21")


def make_lcm(work):
    save("lcm", pipelines.lcm(work), LCM, "lcm")


def make_sdxl(work):
    pipeline = pipelines.sdxl(work)
    save("sdxl", pipeline, SDXL, "euler")
    save("sdxl-turbo", pipelines.sdxl_turbo(pipeline), TURBO, "euler_a", base="sdxl")


def make_sdxl_lcm(work):
    save("sdxl-lcm", pipelines.sdxl_lcm(work), LCM, "lcm")


def make_weight_files(work):
    for base, make, seed, cases, sampler in (
        ("sd15", pipelines.sd15, 115, PLAIN, "pndm"), ("sd21", pipelines.sd21, 121, PLAIN, "ddim"),
        ("sdxl", pipelines.sdxl, 110, SDXL, "euler"),
    ):
        cases = [{**each, "width": SIDE, "height": SIDE} for each in cases[:1]]
        weight_files.make(f"{base}-weights", make(work / base, seed), cases, sampler, base, OUT, record, with_unet=base == "sd15")


def make_adapters(work):
    for base, make, of, cases, sampler in (
        ("sd15", pipelines.sd15, adapter_files.of_sd15, ADAPTERS, "pndm"), ("sdxl", pipelines.sdxl, adapter_files.of_sdxl, SDXL_ADAPTERS, "euler"),
    ):
        pipeline_of = lambda: make(work / base)

        def write(pipeline, folder):
            (folder / "adapters").mkdir()
            of(pipeline_of, folder / "adapters")
            adapter_files.load(pipeline, folder / "adapters")

        save(f"{base}-adapters", pipeline_of(), cases, sampler, base=f"{base}-image", export=write)


def make_controls(work):
    for base, make, nets, cases, sampler in (
        ("sd15", pipelines.sd15, (control_files.edges, control_files.depth), CONTROL, "pndm"),
        ("sdxl", pipelines.sdxl, (control_files.edges,), SDXL_CONTROL, "euler"),
    ):
        pipeline = make(work / base)
        controls = {net.__name__: net(pipeline) for net in nets}

        def write(pipeline, folder):
            for name, net in controls.items():
                {"edges": control_files.torchscript, "depth": control_files.dynamo}[name](net, folder / "controls" / name)
            with unpacked_adapters(base) as adapters:
                adapter_files.load(pipeline, adapters)

        save(f"{base}-control", pipeline, cases, sampler, base=f"{base}-adapters", export=write, controls=controls)


@contextlib.contextmanager
def unpacked_adapters(base: str):
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "adapters"
        shutil.copytree(OUT / f"{base}-adapters" / "adapters", folder)
        for file in folder.rglob("*.gz"):
            file.with_suffix("").write_bytes(gzip.decompress(file.read_bytes()))
            file.unlink()
        yield folder


def make_torch(work):
    torch_exports.make(pipelines.sd15(work), OUT, compress)


def make_dynamo(work):
    makers = {"sd15": pipelines.sd15, "sdxl-lcm": pipelines.sdxl_lcm}
    dynamo_exports.make(lambda base: makers[base](work / base), OUT, compress)


def make_prompts(work):
    """Of the pipelines of three other fixtures, whose graphs the tests run."""
    bases = {"sd15": pipelines.sd15, "sd21": pipelines.sd21, "sdxl": pipelines.sdxl}
    prompt_states.make({name: make(work / name) for name, make in bases.items()}, OUT / "prompts")


FIXTURES = {
    "sd15": make_sd15, "sd21": make_sd21, "lcm": make_lcm, "sdxl": make_sdxl, "sdxl-lcm": make_sdxl_lcm, "torch": make_torch,
    "dynamo": make_dynamo, "image": make_image_to_image, "refiner": make_refiner,
    "windows": make_windows, "hires": make_hires, "inpaint": make_inpaint, "sd-inpaint": make_own_inpaint,
    "refiner-inpaint": make_refiner_inpaint, "masked-hires": make_masked_hires, "sdxl-own-inpaint": make_own_xl_inpaint,
    "prompts": make_prompts, "weights": make_weight_files, "adapters": make_adapters, "control": make_controls,
}

if __name__ == "__main__":
    main(sys.argv[1:])

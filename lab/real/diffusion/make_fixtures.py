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

import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from optimum.exporters.onnx import main_export

import drawing
import dynamo_exports
import pipelines
import prompt_states
import torch_exports
import weight_files

OUT = Path(__file__).parent / "fixtures"
SIDE = 64


def case(name, sampler, steps, guidance, seed, prompt="a red circle", negative=None, **size):
    return dict(name=name, prompt=prompt, negative_prompt=negative, sampler=sampler, steps=steps, guidance=guidance,
                seed=seed, **size)


PLAIN = [
    case("guided", None, 6, 7.5, 1),
    case("negative", "euler", 5, 4.0, 2, negative="blue, blurred"),
    case("unguided", "ddim", 4, 1.0, 3),
    case("karras", "dpmpp_2m_karras", 7, 6.0, 4, prompt="Two GREEN squares, 5 px apart"),
]
TURBO = [
    case("one-step", None, 1, 0.0, 1),
    case("four-steps", None, 4, 0.0, 2, prompt="a cat"),
]
LCM = [
    case("four-steps", "lcm", 4, 8.5, 1),
    case("one-step", "lcm", 1, 8.5, 2),
    case("eight-steps", "lcm", 8, 1.0, 3, prompt="a cat"),
]
SDXL = [
    case("guided", None, 5, 5.0, 1),
    case("negative", "euler_a", 4, 7.0, 2, negative="blue, blurred"),
    case("unguided", "ddim", 3, 1.0, 3),
    case("cropped", "unipc", 4, 5.0, 4, original_size=[32, 48], crops_coords_top_left=[8, 16], target_size=[128, 64]),
]
# diffusers makes `steps * strength` steps of these.
IMAGE_TO_IMAGE = [
    case("guided", None, 6, 7.5, 1, image="input.png", strength=0.7),
    case("negative", "euler", 5, 4.0, 2, negative="blue, blurred", image="input.png", strength=0.4),
    case("unguided", "ddim", 4, 1.0, 3, image="input.png", strength=0.5),
    case("ancestral", "euler_a", 4, 5.0, 4, prompt="a cat", image="input.png", strength=1.0),
]
LCM_IMAGE = [
    case("four-steps-image", "lcm", 4, 8.5, 1, image="input.png", strength=0.5),
    case("three-steps-image", "lcm", 3, 8.5, 2, prompt="a cat", image="input.png", strength=0.9),
]
SDXL_IMAGE = [
    case("guided-image", None, 10, 5.0, 1, image="input.png", strength=0.3),
    case("cropped-image", "dpmpp_2m_karras", 6, 5.0, 4, negative="blue", image="input.png", strength=0.5,
         original_size=[32, 48], crops_coords_top_left=[8, 16], target_size=[128, 64]),
]
MASKED = dict(image="input.png", mask="mask.png")
INPAINT = [
    case("masked", None, 6, 7.5, 1, **MASKED, strength=0.7),
    case("masked-euler", "euler", 5, 4.0, 2, negative="blue, blurred", **MASKED, strength=0.75),
    case("masked-unguided", "ddim", 4, 1.0, 3, **MASKED, strength=1.0),
    case("masked-ancestral", "euler_a", 4, 5.0, 4, prompt="a cat", **MASKED, strength=1.0),
    case("masked-karras", "dpmpp_2m_karras", 6, 5.0, 5, **MASKED, strength=0.6),
    case("masked-unipc", "unipc", 6, 5.0, 6, **MASKED, strength=0.5),
    case("outpainted", "euler", 6, 5.0, 7, image="wide.png", mask="around.png", strength=0.75),
]
OWN_INPAINT = [
    case("guided", None, 6, 7.5, 1, **MASKED, strength=1.0),
    case("negative", "euler", 5, 4.0, 2, negative="blue, blurred", **MASKED, strength=0.6),
    case("unguided", "ddim", 4, 1.0, 3, **MASKED, strength=0.75),
    case("ancestral", "euler_a", 4, 5.0, 4, prompt="a cat", **MASKED, strength=1.0),
]
SDXL_INPAINT = [
    case("masked", None, 8, 5.0, 1, **MASKED, strength=0.5),
    case("masked-ancestral", "euler_a", 4, 7.0, 2, negative="blue, blurred", **MASKED, strength=1.0),
    case("masked-base", None, 10, 5.0, 3, **MASKED, strength=1.0, denoising_end=0.7),
    case("masked-base-ancestral", "euler_a", 8, 5.0, 4, **MASKED, strength=0.9, denoising_end=0.6),
    case("masked-base-ddim", "ddim", 9, 5.0, 5, negative="blue", **MASKED, strength=1.0, denoising_end=0.6),
    # A picture is encoded, and only what is kept gets noise.
    case("masked-middle", "ddim", 10, 5.0, 6, **MASKED, denoising_start=0.5, denoising_end=0.9),
]
OWN_XL_INPAINT = [
    case("guided", None, 5, 5.0, 1, **MASKED, strength=1.0),
    case("ancestral", "euler_a", 5, 7.0, 2, negative="blue, blurred", **MASKED, strength=0.6),
]
REFINER = [
    case("guided", None, 10, 5.0, 1, image="input.png", strength=0.3),
    case("negative", "ddim", 6, 7.0, 2, negative="blue, blurred", image="input.png", strength=0.5),
    case("unguided", "euler_a", 5, 1.0, 3, image="input.png", strength=0.8),
    case("cropped", "unipc", 6, 5.0, 4, image="input.png", strength=0.5, original_size=[32, 48],
         crops_coords_top_left=[8, 16]),
]
# The base stops early, and the refiner goes on with its latent.
WINDOW = [
    case("base", None, 10, 5.0, 1, denoising_end=0.8),
    case("base-ancestral", "euler_a", 8, 5.0, 2, negative="blue, blurred", denoising_end=0.6),
    case("base-karras", "dpmpp_2m_karras", 9, 6.0, 3, prompt="a cat", denoising_end=0.7),
]
REFINER_WINDOW = [
    case("refined", None, 10, 5.0, 1, latent="sdxl-window/base", denoising_start=0.8),
    case("refined-ancestral", "euler_a", 8, 5.0, 2, negative="blue, blurred", latent="sdxl-window/base-ancestral",
         denoising_start=0.6),
    case("refined-karras", "dpmpp_2m_karras", 9, 6.0, 3, prompt="a cat", latent="sdxl-window/base-karras", denoising_start=0.7),
    # A picture is encoded, and no noise is added to it either.
    case("middle", "ddim", 10, 5.0, 4, image="input.png", denoising_start=0.5, denoising_end=0.9),
]
REFINER_INPAINT = [
    case("masked", None, 10, 5.0, 3, latent="sdxl-inpaint/masked-base", mask="mask.png", denoising_start=0.7),
    case("masked-ancestral", "euler_a", 8, 5.0, 4, latent="sdxl-inpaint/masked-base-ancestral", mask="mask.png",
         denoising_start=0.6),
    case("masked-ddim", "ddim", 9, 5.0, 5, negative="blue", latent="sdxl-inpaint/masked-base-ddim", mask="mask.png",
         denoising_start=0.6),
]
MASKED_HIRES = [
    case("masked-latent", None, 6, 7.5, 1, **MASKED, strength=0.8, hires=dict(scale=2, steps=5, strength=0.7, upscaler="latent")),
    case("masked-lanczos", "euler_a", 5, 4.0, 2, negative="blue, blurred", **MASKED, strength=1.0,
         hires=dict(scale=2, steps=6, strength=0.5, upscaler="lanczos")),
]
OWN_MASKED_HIRES = [
    case("masked-latent", "euler_a", 5, 5.0, 1, **MASKED, strength=1.0, hires=dict(scale=2, steps=5, strength=0.7, upscaler="latent")),
    case("masked-lanczos", "ddim", 5, 4.0, 2, **MASKED, strength=0.8, hires=dict(scale=2, steps=6, strength=0.5, upscaler="lanczos")),
]
HIRES = [
    case("latent", None, 6, 7.5, 1, hires=dict(scale=2, steps=5, strength=0.7, upscaler="latent")),
    case("lanczos", "euler_a", 5, 4.0, 2, negative="blue, blurred",
         hires=dict(scale=2, steps=6, strength=0.5, upscaler="lanczos")),
]
SDXL_HIRES = [case("latent", None, 5, 5.0, 1, hires=dict(scale=2, steps=4, strength=0.75, upscaler="latent"))]


def expected_latent(name: str) -> Path:
    """Of a case of another fixture."""
    fixture, each = name.split("/")
    return OUT / fixture / "expected" / f"{each}.latent.f32"


def record(pipeline, cases, folder: Path) -> None:
    # From the file: a config in memory hides which of its values are defaults of its class.
    config = json.loads((folder / "scheduler/scheduler_config.json").read_text())
    (folder / "expected").mkdir(parents=True, exist_ok=True)
    for each in cases:
        latent, picture = drawing.draw(pipeline, each, config, folder, expected_latent)
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
    for file in [*folder.rglob("*.onnx"), *folder.rglob("*.data"), *folder.rglob("*.onnx_data")]:
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


def save(name, pipeline, cases, sampler, base=None, export=optimum_export) -> None:
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
    record(pipeline, cases, folder)
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
    "prompts": make_prompts, "weights": make_weight_files,
}

if __name__ == "__main__":
    main(sys.argv[1:])

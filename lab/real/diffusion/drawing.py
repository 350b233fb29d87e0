"""What diffusers draws of a case, for the fixtures (make_fixtures.py) and for the pipelines at full size (full_size.py).

make_fixtures.py says what a case has; the files that cases begin at are made here.
"""

import functools
from pathlib import Path

import numpy
import torch
from diffusers import AutoPipelineForImage2Image, AutoPipelineForInpainting
from diffusers import DDIMScheduler, DPMSolverMultistepScheduler, EulerAncestralDiscreteScheduler, EulerDiscreteScheduler
from diffusers import UniPCMultistepScheduler
from PIL import Image

import adapter_files
import control_files
import prompt_states

SAMPLERS = {
    # Lehr switches clip_sample off, as the pipelines of Stable Diffusion 1 and 2 do.
    "ddim": lambda config: DDIMScheduler.from_config(config, clip_sample=False),
    "euler": lambda config: EulerDiscreteScheduler.from_config(config),
    "euler_a": lambda config: EulerAncestralDiscreteScheduler.from_config(config),
    "unipc": lambda config: UniPCMultistepScheduler.from_config(config),
    "dpmpp_2m_karras": lambda config: DPMSolverMultistepScheduler.from_config(config, use_karras_sigmas=True),
}


def write_files(folder: Path, cases) -> None:
    """The pictures and masks of the cases, as large as the first one."""
    side = cases[0]["width"]
    folder.mkdir(parents=True, exist_ok=True)
    if any("image" in each for each in cases):
        write_input(folder / "input.png", side)
    if any("mask" in each for each in cases):
        write_mask(folder / "mask.png", side)
    if any(each.get("image") == "wide.png" for each in cases):
        write_outpainting(folder, side)
    if any("hires" in each and "mask" in each for each in cases):
        write_larger(folder, 2 * side)
    if any("control" in each for each in cases):
        write_controls(folder, side, {control["image"] for each in cases for control in each.get("control", [])})


def write_input(path: Path, side: int) -> None:
    """A picture with gradients and noise, so that no two parts of it are equal."""
    random = numpy.random.default_rng(7)
    y, x = numpy.mgrid[0:side, 0:side] / side
    planes = numpy.stack([x, y, 0.5 + 0.5 * numpy.sin(9 * x * y)], axis=-1)
    noisy = numpy.clip(planes + 0.1 * random.standard_normal(planes.shape), 0, 1)
    Image.fromarray((255 * noisy).astype("uint8")).save(path)


def write_outpainting(folder: Path, side: int) -> None:
    """A part of input.png as it is and mirrored around, and the mask of what is to be drawn."""
    part_of_side = side // 8
    added = ((part_of_side, 0), (2 * part_of_side, part_of_side))
    part = numpy.asarray(Image.open(folder / "input.png"))[: side - part_of_side, : side - 3 * part_of_side]
    Image.fromarray(numpy.pad(part, (*added, (0, 0)), mode="symmetric")).save(folder / "wide.png")
    around = numpy.pad(numpy.zeros(part.shape[:2], "uint8"), added, constant_values=255)
    Image.fromarray(around).save(folder / "around.png")


def write_mask(path: Path, side: int) -> None:
    """A disc and a bar, white on black; their edges cross the squares of the latent's values."""
    y, x = numpy.mgrid[0:side, 0:side] * 64 / side
    shape = ((x - 40) ** 2 + (y - 26) ** 2 < 15 ** 2) | ((x > 4) & (x < 14) & (y > 29))
    Image.fromarray((255 * shape).astype("uint8")).save(path)


def write_larger(folder: Path, side: int) -> None:
    """Picture and mask at the size of a second pass. diffusers reads no grey of a mask."""
    for name, kernel in (("input.png", Image.LANCZOS), ("mask.png", Image.NEAREST)):
        Image.open(folder / name).resize((side, side), kernel).save(folder / f"large-{name}")


def write_controls(folder: Path, side: int, wanted: set) -> None:
    """What ControlNets read: white lines on black, and a depth, near in the middle."""
    y, x = numpy.mgrid[0:side, 0:side] / side
    distance = numpy.hypot(x - 0.6, y - 0.4)
    lines = (abs(distance - 0.25) < 0.02) | (abs(x - y - 0.3) < 0.02)
    for file, picture in (("edges.png", lines), ("depth.png", numpy.clip(1 - distance, 0, 1))):
        if file in wanted:
            Image.fromarray((255 * picture).astype("uint8")).convert("RGB").save(folder / file)


def second_call(pipeline, first, hires, arguments):
    """Image to image at the larger size, from a first call's latent or from its picture."""
    if hires["upscaler"] == "latent":
        latent = first(output_type="latent").images
        image = torch.nn.functional.interpolate(latent, scale_factor=hires["scale"], mode="bilinear")
    else:
        picture = first().images[0]
        image = picture.resize(tuple(side * hires["scale"] for side in picture.size), Image.LANCZOS)
    larger = quiet(AutoPipelineForImage2Image.from_pipe(pipeline))
    return functools.partial(larger, **{**arguments, "num_inference_steps": hires["steps"]}, image=image, strength=hires["strength"])


def masked_second_call(pipeline, first, each, arguments, folder: Path):
    """Inpainting at the larger size: what is kept is the picture at that size, and the drawing begins at the first call's latent or picture."""
    hires = each["hires"]
    image, mask = Image.open(folder / f"large-{each['image']}"), Image.open(folder / f"large-{each['mask']}")
    larger = quiet(AutoPipelineForInpainting.from_pipe(pipeline))
    if hires["upscaler"] == "latent":
        begun = torch.nn.functional.interpolate(first(output_type="latent").images, scale_factor=hires["scale"], mode="bilinear")
    else:
        pixels = larger.image_processor.preprocess(first().images[0].resize(image.size, Image.LANCZOS))
        begun = larger.vae.encode(pixels).latent_dist.mode() * larger.vae.config.scaling_factor
    drawn = torch.nn.functional.interpolate(larger.mask_processor.preprocess(mask), size=begun.shape[2:])
    prepare = larger.prepare_latents

    def prepare_latents(*args, return_image_latents, timestep, **more):
        _, noise, kept = prepare(*args, return_image_latents=True, timestep=timestep, **more)
        latent = larger.scheduler.add_noise(drawn * begun + (1 - drawn) * kept, noise, timestep)
        return (latent, noise, kept)[: 3 if return_image_latents else 2]

    larger.prepare_latents = prepare_latents
    return functools.partial(larger, **{**arguments, "num_inference_steps": hires["steps"]}, image=image, mask_image=mask,
                             height=image.height, width=image.width, strength=hires["strength"])


def quiet(pipeline):
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def draw(pipeline, each, config, folder: Path, latent_file=None, at_step=lambda: None, controls=None):
    """The final latent and the picture.

    `config` is the schedule's own; `latent_file` finds the latent that a case begins at, by its name; `controls` are ControlNets by their names.
    """
    own = pipeline.scheduler
    pipeline.scheduler = SAMPLERS[each["sampler"]](config) if each["sampler"] in SAMPLERS else own
    arguments = dict(num_inference_steps=each["steps"], guidance_scale=each["guidance"], **prompt_of(pipeline, each),
                     **{key: tuple(each[key]) for key in ("original_size", "crops_coords_top_left", "target_size") if key in each})
    start = {key: each[key] for key in ("strength", "denoising_start", "denoising_end") if key in each}
    size = dict(height=each["height"], width=each["width"])
    drawer = pipeline
    if "image" in each:
        start.update(image=Image.open(folder / each["image"]))
    elif "latent" in each:
        values = numpy.fromfile(latent_file(each["latent"]), dtype="<f4")
        start.update(image=torch.from_numpy(values).reshape(1, 4, each["height"] // 8, each["width"] // 8))
    if "mask" in each:
        drawer = AutoPipelineForInpainting.from_pipe(pipeline)
        start.update(size, mask_image=Image.open(folder / each["mask"]))
    elif "image" in each:
        # It draws the size of its picture.
        drawer = AutoPipelineForImage2Image.from_pipe(pipeline)
    elif "latent" not in each:
        start.update(size)
    if "control" in each:
        drawer, name = control_files.pipeline_of(pipeline, each, controls)
        start.update(control_files.arguments(each, name, lambda file: Image.open(folder / file)), **size)
    start.update(adapter_files.use(pipeline, each))
    kept = []

    def keep(_pipeline, _step, _timestep, values):
        kept[:] = [values["latents"]]
        at_step()
        return {}

    def call(run, **more):
        return run(generator=torch.Generator().manual_seed(each["seed"]), callback_on_step_end=keep, **more)

    with torch.no_grad():
        run = functools.partial(quiet(drawer), **arguments, **start)
        if "hires" in each and "mask" in each:
            run = masked_second_call(pipeline, functools.partial(call, run), each, arguments, folder)
        elif "hires" in each:
            run = second_call(pipeline, functools.partial(call, run), each["hires"], arguments)
        picture = call(run).images[0]
    pipeline.scheduler = own
    return kept[0], picture


def prompt_of(pipeline, each):
    if each.get("promptSyntax") == "weighted":
        return prompt_states.embeddings(pipeline, each)
    negative = {} if each["negative_prompt"] is None else {"negative_prompt": each["negative_prompt"]}
    return dict(prompt=each["prompt"], **negative)


def save(latent, picture, path: Path) -> None:
    """NAME.latent.f32 and NAME.png."""
    torch.as_tensor(latent).float().numpy().astype("<f4").tofile(f"{path}.latent.f32")
    picture.save(f"{path}.png")

"""The cases of the fixtures: what is drawn, and with which samplers; make_fixtures.py says what a case has."""


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


def lora(**scales):
    return [dict(name=name, scale=scale) for name, scale in scales.items()]


def control(name, **more):
    return dict(name=name, image=f"{name}.png", **more)


ADAPTERS = [
    case("kohya", None, 6, 7.5, 1, adapters=lora(kohya=1.0)),
    case("plain", "euler", 5, 4.0, 2, negative="blue, blurred", adapters=lora(plain=0.6)),
    case("locon", "ddim", 4, 1.0, 3, adapters=lora(locon=0.8)),
    case("diffusers", "dpmpp_2m_karras", 7, 6.0, 4, prompt="Two GREEN squares, 5 px apart", adapters=lora(diffusers=0.3)),
    case("trained", "euler_a", 5, 5.0, 5, adapters=lora(trained=-0.7)),
    case("peft", "unipc", 5, 5.0, 6, adapters=lora(peft=0.4)),
    case("two", None, 6, 7.5, 1, adapters=lora(kohya=0.7, locon=-0.3)),
    case("three", "euler", 5, 4.0, 7, prompt="a cat", negative="blue", adapters=lora(plain=1.2, diffusers=0.25, peft=0.1)),
    case("shared-scale", "ddim", 4, 5.0, 8, adapters=lora(kohya=0.4, plain=0.2), cross_attention_scale=0.5),
    case("image", "euler", 5, 5.0, 9, adapters=lora(kohya=0.8), image="input.png", strength=0.6),
    case("masked", "euler_a", 5, 5.0, 10, adapters=lora(locon=0.9), **MASKED, strength=0.8),
]
SDXL_ADAPTERS = [
    case("kohya", None, 4, 5.0, 1, adapters=lora(kohya=1.0)),
    case("two", "ddim", 3, 5.0, 2, negative="blue, blurred", adapters=lora(kohya=0.6, locon=0.5)),
    case("locon", "euler_a", 3, 1.0, 3, adapters=lora(locon=-0.8)),
]
CONTROL = [
    case("edges", None, 6, 7.5, 1, control=[control("edges")]),
    case("scaled", "euler", 5, 4.0, 2, negative="blue, blurred", control=[control("depth", scale=0.6)]),
    case("window", "ddim", 8, 1.0, 3, control=[control("edges", start=0.2, end=0.7)]),
    case("window-pndm", None, 6, 5.0, 4, control=[control("depth", scale=1.5, start=0.3)]),
    case("two", "dpmpp_2m_karras", 6, 6.0, 5, prompt="a cat", control=[control("edges", scale=0.7), control("depth", scale=0.4)]),
    case("two-windows", "euler_a", 8, 5.0, 6, control=[control("edges", end=0.5), control("depth", scale=0.5, start=0.25, end=0.9)]),
    case("with-adapters", "euler", 5, 5.0, 7, control=[control("edges", scale=0.8)], adapters=lora(kohya=0.6, plain=0.3)),
    case("image", "euler", 6, 5.0, 8, control=[control("edges", scale=0.9, end=0.75)], image="input.png", strength=0.7),
    case("masked", "euler_a", 6, 5.0, 9, control=[control("depth", scale=0.8)], **MASKED, strength=0.8),
]
SDXL_CONTROL = [
    case("edges", None, 4, 5.0, 1, control=[control("edges")]),
    case("window", "ddim", 5, 1.0, 2, negative="blue, blurred", control=[control("edges", scale=0.7, start=0.2, end=0.8)]),
    case("with-adapters", "euler_a", 3, 5.0, 3, control=[control("edges", scale=0.5)], adapters=lora(kohya=0.6)),
]

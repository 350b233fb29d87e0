"""Stable Diffusion 1.5 at its full size, with seeded random weights: makes, exports and draws them, for test/real/diffusion.

One process does one thing, because each holds gigabytes. Requests, one line of JSON each:

    {"do": "make", "name": "sd15", "folder": F}      F/torch: the pipeline as diffusers saves it
    {"do": "export", "folder": F}                    F/onnx: as `optimum-cli export onnx` writes it
    {"do": "open", "folder": F, "engine": E}         E: torch (diffusers) or onnx (Optimum's pipeline)
    {"do": "draw", "case": C, "out": D}              D/NAME.latent.f32, D/NAME.png; answers the seconds, and those of the CPU
"""

import json
import resource
import shutil
import sys
import time
from pathlib import Path

import torch

import pipelines

sys.path.insert(0, str(Path(__file__).parent.parent))
from serve import serve  # noqa: E402

# As Lehr has. More would wait for each other on a machine that others use too.
THREADS = 1


def text_encoder(width: int, layers: int, heads: int, act: str):
    from transformers import CLIPTextConfig, CLIPTextModel

    return CLIPTextModel(CLIPTextConfig(
        vocab_size=49408, hidden_size=width, intermediate_size=4 * width, num_hidden_layers=layers, num_attention_heads=heads,
        hidden_act=act, projection_dim=512, max_position_embeddings=77, bos_token_id=0, eos_token_id=2, pad_token_id=1,
    ))


def vae(scaling: float):
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        in_channels=3, out_channels=3, latent_channels=4, layers_per_block=2, norm_num_groups=32, sample_size=512,
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=(128, 256, 512, 512), scaling_factor=scaling, force_upcast=False,
    )


def unet(cross: int, sample: int):
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=sample, in_channels=4, out_channels=4, layers_per_block=2, cross_attention_dim=cross,
        down_block_types=("CrossAttnDownBlock2D",) * 3 + ("DownBlock2D",),
        up_block_types=("UpBlock2D",) + ("CrossAttnUpBlock2D",) * 3,
        block_out_channels=(320, 640, 1280, 1280), attention_head_dim=8,
    )


def sd15(work: Path):
    from diffusers import PNDMScheduler, StableDiffusionPipeline

    return StableDiffusionPipeline(
        vae=vae(0.18215), text_encoder=text_encoder(768, 12, 12, "quick_gelu"),
        tokenizer=pipelines.tokenizer(work / "tokenizer", "<|endoftext|>"), unet=unet(768, 64),
        scheduler=PNDMScheduler(**pipelines.BETAS, skip_prk_steps=True, set_alpha_to_one=False, steps_offset=1),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )


MAKERS = {"sd15": sd15}


def make(name: str, folder: Path) -> None:
    torch.manual_seed(15)
    pipeline = MAKERS[name](folder / "work")
    pipeline.unet.eval()
    with torch.no_grad():
        # Untrained UNets predict almost nothing: the last layer is scaled to predictions of unit variance.
        cross = pipeline.unet.config.cross_attention_dim
        prediction = pipeline.unet(torch.randn(1, 4, 16, 16), 500, torch.randn(1, 77, cross)).sample
        pipeline.unet.conv_out.weight.mul_(1 / prediction.std())
    pipeline.save_pretrained(folder / "torch")
    shutil.rmtree(folder / "work")


def export(folder: Path) -> None:
    from optimum.exporters.onnx import main_export

    main_export(str(folder / "torch"), output=str(folder / "onnx"), task="text-to-image", do_validation=False)
    shutil.rmtree(folder / "onnx/vae_encoder", ignore_errors=True)


def open_pipeline(folder: Path, engine: str):
    if engine == "onnx":
        import onnxruntime
        from optimum.onnxruntime import ORTStableDiffusionPipeline

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        return ORTStableDiffusionPipeline.from_pretrained(folder / "onnx", session_options=options)
    from diffusers import DiffusionPipeline

    return DiffusionPipeline.from_pretrained(folder / "torch", torch_dtype=torch.float32)


class Engine:
    """An open pipeline."""

    def __init__(self, folder: Path, engine: str):
        torch.set_num_threads(THREADS)
        self.pipeline = open_pipeline(folder, engine)
        self.pipeline.set_progress_bar_config(disable=True)
        self.own = self.pipeline.scheduler
        self.config = json.loads((folder / "torch/scheduler/scheduler_config.json").read_text())

    def draw(self, case: dict, out: Path) -> dict:
        from make_fixtures import SAMPLERS

        pipeline, latents = self.pipeline, []
        pipeline.scheduler = SAMPLERS[case["sampler"]](self.config) if case["sampler"] in SAMPLERS else self.own
        negative = {} if case["negative_prompt"] is None else {"negative_prompt": case["negative_prompt"]}
        steps = []

        def keep(_pipeline, _step, _timestep, values):
            latents[:] = [values["latents"]]
            steps.append((time.monotonic(), time.process_time()))
            return {}

        started, cpu = time.monotonic(), time.process_time()
        with torch.no_grad():
            picture = pipeline(
                prompt=case["prompt"], height=case["height"], width=case["width"], num_inference_steps=case["steps"],
                guidance_scale=case["guidance"], generator=torch.Generator().manual_seed(case["seed"]),
                callback_on_step_end=keep, **negative,
            ).images[0]
        out.mkdir(parents=True, exist_ok=True)
        torch.as_tensor(latents[0]).float().numpy().astype("<f4").tofile(out / f"{case['name']}.latent.f32")
        picture.save(out / f"{case['name']}.png")
        # Of the steps after the first, which also holds the text encoders.
        made = max(1, len(steps) - 1)
        return dict(seconds=time.monotonic() - started, cpu_seconds=time.process_time() - cpu,
                    step_seconds=(steps[-1][0] - steps[0][0]) / made, step_cpu_seconds=(steps[-1][1] - steps[0][1]) / made)


opened: dict[str, Engine] = {}


def answer(request: dict):
    do, folder = request["do"], Path(request.get("folder", ""))
    result = {}
    if do == "make":
        make(request["name"], folder)
    elif do == "export":
        export(folder)
    elif do == "open":
        opened["engine"] = Engine(folder, request["engine"])
    elif do == "draw":
        result = opened["engine"].draw(request["case"], Path(request["out"]))
    else:
        raise ValueError(f"unknown request {do}")
    return {**result, "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


if __name__ == "__main__":
    serve(answer)

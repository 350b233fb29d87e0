"""Pipelines with all blocks and layers of the published ones and seeded random weights: makes, exports and draws them.

Stable Diffusion 1.5 has its full width, and so has its form for inpainting. Stable Diffusion 2.1, SDXL and its refiner have the depth, the
options and the picture sizes of the published models, and smaller widths, which this file says.

One process does one thing, because each holds gigabytes. Requests, one line of JSON each:

    {"do": "make", "name": "sd15", "folder": F}      F/torch: the pipeline as diffusers saves it; or another one of MAKERS
    {"do": "export", "folder": F}                    F/onnx: as `optimum-cli export onnx` writes it, without the VAE encoder
    {"do": "export-graph", "folder": F, "graph": G}  F/onnx/G: this graph alone
    {"do": "make-checkpoint", "name": N, "folder": F} F/checkpoint/whole.safetensors: other weights for it in one file
    {"do": "make-adapters", "folder": F}             F/adapters: LoRAs of rank 32; what diffusers draws with them is a case of fixture_cases.py
    {"do": "make-control", "folder": F}              F/controls/edges: a ControlNet as TorchScript; F/torch-controls/edges: as diffusers saves it
    {"do": "open", "folder": F, "engine": E}         E: torch (diffusers), onnx (Optimum's pipeline) or checkpoint (diffusers, with the weights of the file)
    {"do": "draw", "case": C, "out": D}              D/NAME.latent.f32, D/NAME.png; answers the CPU seconds of a step
    {"do": "steps", "case": C}                       begins a picture and answers; each {"do": "step"} then makes a step of it
"""

import json
import resource
import shutil
import sys
import time
from pathlib import Path

import torch
from safetensors.torch import save_file

import adapter_files
import control_files
import drawing
import pipelines
import weight_files

sys.path.insert(0, str(Path(__file__).parent.parent))
from serve import serve  # noqa: E402

# As Lehr has. More would wait for each other on a machine that others use too.
THREADS = 1


def text_encoder(width: int, layers: int, heads: int, act: str, projection=512, pooled=False):
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

    return (CLIPTextModelWithProjection if pooled else CLIPTextModel)(CLIPTextConfig(
        vocab_size=49408, hidden_size=width, intermediate_size=4 * width, num_hidden_layers=layers, num_attention_heads=heads,
        hidden_act=act, projection_dim=projection, max_position_embeddings=77, bos_token_id=0, eos_token_id=2, pad_token_id=1,
    ))


def vae(scaling: float, widths=(128, 256, 512, 512), sample=512):
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        in_channels=3, out_channels=3, latent_channels=4, layers_per_block=2, norm_num_groups=32, sample_size=sample,
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=widths, scaling_factor=scaling, force_upcast=False,
    )


def unet(cross: int, sample: int, widths=(320, 640, 1280, 1280), heads=8, channels=4, **more):
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=sample, in_channels=channels, out_channels=4, layers_per_block=2, cross_attention_dim=cross,
        down_block_types=("CrossAttnDownBlock2D",) * 3 + ("DownBlock2D",),
        up_block_types=("UpBlock2D",) + ("CrossAttnUpBlock2D",) * 3,
        block_out_channels=widths, attention_head_dim=heads, **more,
    )


def sd15(work: Path, channels=4):
    from diffusers import PNDMScheduler, StableDiffusionInpaintPipeline, StableDiffusionPipeline

    return (StableDiffusionPipeline if channels == 4 else StableDiffusionInpaintPipeline)(
        vae=vae(0.18215), text_encoder=text_encoder(768, 12, 12, "quick_gelu"),
        tokenizer=pipelines.tokenizer(work / "tokenizer", "<|endoftext|>"), unet=unet(768, 64, channels=channels),
        scheduler=PNDMScheduler(**pipelines.BETAS, skip_prk_steps=True, set_alpha_to_one=False, steps_offset=1),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )


def sd21(work: Path):
    """Half of the published width: 216 million parameters in the UNet."""
    from diffusers import DDIMScheduler, StableDiffusionPipeline

    return StableDiffusionPipeline(
        vae=vae(0.18215, (64, 128, 256, 256), 768), text_encoder=text_encoder(512, 23, 8, "gelu"),
        tokenizer=pipelines.tokenizer(work / "tokenizer", "!"),
        unet=unet(512, 96, (160, 320, 640, 640), (5, 10, 20, 20), use_linear_projection=True),
        scheduler=DDIMScheduler(
            **pipelines.BETAS, prediction_type="v_prediction", set_alpha_to_one=False, steps_offset=1, clip_sample=False,
        ),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )


def sdxl(work: Path):
    """Three tenths of the published width, with its 70 transformer blocks."""
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline, UNet2DConditionModel

    pooled, time = 320, 256
    return StableDiffusionXLPipeline(
        vae=vae(0.13025, (64, 128, 256, 256), 1024), text_encoder=text_encoder(192, 12, 3, "quick_gelu", 192),
        text_encoder_2=text_encoder(pooled, 32, 5, "gelu", pooled, pooled=True),
        tokenizer=pipelines.tokenizer(work / "tokenizer", "<|endoftext|>"),
        tokenizer_2=pipelines.tokenizer(work / "tokenizer_2", "!"),
        unet=UNet2DConditionModel(
            sample_size=128, in_channels=4, out_channels=4, layers_per_block=2,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            block_out_channels=(96, 192, 384), attention_head_dim=(3, 6, 12), cross_attention_dim=192 + pooled,
            transformer_layers_per_block=(1, 2, 10), use_linear_projection=True, addition_embed_type="text_time",
            addition_time_embed_dim=time, projection_class_embeddings_input_dim=pooled + 6 * time,
        ),
        scheduler=EulerDiscreteScheduler(
            **pipelines.BETAS, prediction_type="epsilon", timestep_spacing="leading", steps_offset=1,
        ),
        force_zeros_for_empty_prompt=True, add_watermarker=False,
    )


def sdxl_refiner(work: Path):
    """A third of the published width, with its four levels and 44 transformer blocks, and the second text encoder and VAE of sdxl."""
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLImg2ImgPipeline, UNet2DConditionModel

    pooled, time = 320, 256
    return StableDiffusionXLImg2ImgPipeline(
        vae=vae(0.13025, (64, 128, 256, 256), 1024), text_encoder=None, tokenizer=None,
        text_encoder_2=text_encoder(pooled, 32, 5, "gelu", pooled, pooled=True),
        tokenizer_2=pipelines.tokenizer(work / "tokenizer_2", "!"),
        unet=UNet2DConditionModel(
            sample_size=128, in_channels=4, out_channels=4, layers_per_block=2,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            block_out_channels=(128, 256, 512, 512), attention_head_dim=(2, 4, 8, 8), cross_attention_dim=pooled,
            transformer_layers_per_block=4, use_linear_projection=True, addition_embed_type="text_time",
            addition_time_embed_dim=time, projection_class_embeddings_input_dim=pooled + 5 * time,
        ),
        scheduler=EulerDiscreteScheduler(
            **pipelines.BETAS, prediction_type="epsilon", timestep_spacing="leading", steps_offset=1,
        ),
        force_zeros_for_empty_prompt=False, requires_aesthetics_score=True, add_watermarker=False,
    )


MAKERS = {
    "sd15": sd15, "sd15-inpaint": lambda work: sd15(work, channels=9), "sd21": sd21, "sdxl": sdxl, "sdxl-refiner": sdxl_refiner,
}


def make(name: str, folder: Path) -> None:
    made(name, folder / "work", 15).save_pretrained(folder / "torch")
    shutil.rmtree(folder / "work")


def make_checkpoint(name: str, folder: Path) -> None:
    """The same model with other weights, in one file of half precision in the original layout."""
    weights = weight_files.original(made(name, folder / "work", 115))
    (folder / "checkpoint").mkdir()
    save_file({key: weight.half().contiguous() for key, weight in weights.items()}, folder / "checkpoint/whole.safetensors")
    shutil.rmtree(folder / "work")


def made(name: str, work: Path, seed: int):
    torch.manual_seed(seed)
    pipeline = MAKERS[name](work)
    pipeline.unet.eval()
    with torch.no_grad():
        # Untrained UNets predict almost nothing: the last layer is scaled to predictions of unit variance.
        config = pipeline.unet.config
        conditions = {}
        if config.addition_embed_type == "text_time":
            pooled = torch.randn(1, pipeline.text_encoder_2.config.projection_dim)
            ids = (config.projection_class_embeddings_input_dim - pooled.shape[1]) // config.addition_time_embed_dim
            conditions["added_cond_kwargs"] = {"text_embeds": pooled, "time_ids": torch.full((1, ids), 256.0)}
        latent, text = torch.randn(1, config.in_channels, 16, 16), torch.randn(1, 77, config.cross_attention_dim)
        prediction = pipeline.unet(latent, 500, text, **conditions).sample
        pipeline.unet.conv_out.weight.mul_(1 / prediction.std())
    if pipeline.text_encoder:
        change_norms(pipeline.text_encoder)
    return pipeline


def change_norms(encoder) -> None:
    """Untrained norms give states with a mean of zero, up to rounding, and the weights of a prompt divide by their mean."""
    torch.manual_seed(16)
    with torch.no_grad():
        for parameter in encoder.parameters():
            if parameter.dim() == 1:
                parameter += 0.1 * torch.randn_like(parameter)


def export(folder: Path) -> None:
    from optimum.exporters.onnx import main_export

    main_export(str(folder / "torch"), output=str(folder / "onnx"), task="text-to-image", do_validation=False)
    shutil.rmtree(folder / "onnx/vae_encoder", ignore_errors=True)


def export_graph(folder: Path, graph: str) -> None:
    from optimum.exporters.onnx.convert import export_models
    from optimum.exporters.utils import get_diffusion_models_for_export

    pipeline = open_torch(folder)
    model, config = get_diffusion_models_for_export(pipeline)[graph]
    export_models({graph: (model, config)}, folder / "onnx", output_names=[f"{graph}/model.onnx"])
    (model.save_config if hasattr(model, "save_config") else model.config.save_pretrained)(folder / "onnx" / graph)


def open_torch(folder: Path):
    from diffusers import DiffusionPipeline

    return DiffusionPipeline.from_pretrained(folder / "torch", torch_dtype=torch.float32)


def make_adapters(folder: Path) -> None:
    """`style` with all text encoders, and `look`, of convolutions too; SDXL's in the names of the first program for it, as people have them."""
    torch.manual_seed(31)
    pipeline, out = open_torch(folder), folder / "adapters"
    out.mkdir()
    unet, second = pipeline.unet, getattr(pipeline, "text_encoder_2", None)
    name_of = {"name_of": adapter_files.sgm_name(unet)} if second else {}
    of_encoder = lambda model: adapter_files.places(model, lambda name: name.endswith(adapter_files.ENCODER))
    text = [("lora_te1" if second else "lora_te", of_encoder(pipeline.text_encoder)), *([("lora_te2", of_encoder(second))] if second else [])]
    inner = adapter_files.places(unet, lambda name: ".attentions." in name)
    adapter_files.write(adapter_files.kohya([("lora_unet", inner), *text], 32, 16.0, **name_of), out / "style.safetensors")
    others = adapter_files.places(unet, lambda name: ".attentions." not in name or name.endswith(("to_q", "to_out.0")))
    adapter_files.write(adapter_files.kohya([("lora_unet", others)], 32, 8.0, **name_of), out / "look.safetensors")


def make_control(folder: Path) -> None:
    from diffusers import ControlNetModel

    torch.manual_seed(32)
    net = control_files.trained(ControlNetModel.from_unet(open_torch(folder).unet))
    net.save_pretrained(folder / "torch-controls/edges")
    control_files.torchscript(net, folder / "controls/edges")


def open_pipeline(folder: Path, engine: str):
    if engine == "onnx":
        import onnxruntime
        from optimum.onnxruntime import ORTStableDiffusionPipeline, ORTStableDiffusionXLPipeline

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        is_xl = (folder / "onnx/text_encoder_2").exists()
        pipeline = ORTStableDiffusionXLPipeline if is_xl else ORTStableDiffusionPipeline
        return pipeline.from_pretrained(folder / "onnx", session_options=options)
    pipeline = open_torch(folder)
    if engine != "checkpoint":
        return pipeline
    more = {"requires_safety_checker": False} if "safety_checker" in pipeline.components else {"add_watermarker": False}
    return type(pipeline).from_single_file(str(folder / "checkpoint/whole.safetensors"), config=str(folder / "torch"),
                                           local_files_only=True, torch_dtype=torch.float32, **more)


class Engine:
    """An open pipeline."""

    def __init__(self, folder: Path, engine: str):
        torch.set_num_threads(THREADS)
        self.folder = folder
        self.pipeline = drawing.quiet(open_pipeline(folder, engine))
        self.config = json.loads((folder / "torch/scheduler/scheduler_config.json").read_text())
        self.controls = {}

    def prepare(self, case: dict) -> None:
        """Loads what the case is the first one to use."""
        if "adapters" in case and not self.pipeline.get_list_adapters():
            adapter_files.load(self.pipeline, self.folder / "adapters")
        if "control" in case and not self.controls:
            from diffusers import ControlNetModel

            self.controls = {each.name: ControlNetModel.from_pretrained(each) for each in (self.folder / "torch-controls").iterdir()}

    def draw(self, case: dict, out: Path) -> dict:
        steps = []
        self.prepare(case)
        drawing.write_files(self.folder, [case])
        latent, picture = drawing.draw(
            self.pipeline, case, self.config, self.folder,
            # Of a pipeline beside this one.
            latent_file=lambda name: self.folder.parent / "{}/drawn/torch/{}.latent.f32".format(*name.split("/")),
            at_step=lambda: steps.append(time.process_time()), controls=self.controls,
        )
        out.mkdir(parents=True, exist_ok=True)
        drawing.save(latent, picture, out / case["name"])
        # Of the steps after the first, which also holds the text encoders.
        return dict(step_cpu_seconds=(steps[-1] - steps[0]) / max(1, len(steps) - 1))

    def steps(self, case: dict):
        """Makes the steps of a picture, each when it is asked for, and answers how long it took. Holds no VAE and no text encoder."""
        pipeline = self.pipeline
        with torch.no_grad():
            text, _ = pipeline.encode_prompt(case["prompt"], "cpu", 1, False)
        for part in (pipeline.text_encoder, pipeline.vae_decoder):
            part.session = None
        began = []

        def wait(*_):
            if began:
                print(json.dumps({"answer": dict(seconds=time.monotonic() - began[0], cpu_seconds=time.process_time() - began[1])}),
                      flush=True)
            sys.stdin.readline()
            began[:] = [time.monotonic(), time.process_time()]
            return {}

        print(json.dumps({"answer": {}}), flush=True)
        wait()
        with torch.no_grad():
            pipeline(prompt_embeds=text, height=case["height"], width=case["width"], num_inference_steps=case["steps"],
                     guidance_scale=1, generator=torch.Generator().manual_seed(case["seed"]), output_type="latent",
                     callback_on_step_end=wait)
        return {}


opened: dict[str, Engine] = {}


def answer(request: dict):
    do, folder = request["do"], Path(request.get("folder", ""))
    result = {}
    if do == "make":
        make(request["name"], folder)
    elif do == "export":
        export(folder)
    elif do == "export-graph":
        export_graph(folder, request["graph"])
    elif do == "make-checkpoint":
        make_checkpoint(request["name"], folder)
    elif do == "make-adapters":
        make_adapters(folder)
    elif do == "make-control":
        make_control(folder)
    elif do == "open":
        opened["engine"] = Engine(folder, request["engine"])
    elif do == "steps":
        opened["engine"].steps(request["case"])
    elif do == "draw":
        result = opened["engine"].draw(request["case"], Path(request["out"]))
    else:
        raise ValueError(f"unknown request {do}")
    return {**result, "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


if __name__ == "__main__":
    serve(answer)

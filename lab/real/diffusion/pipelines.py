"""The pipelines of the fixtures: the published configurations with few channels, and seeded random weights.

Every pipeline has the blocks, layers and options of the published model, so that its exported graphs have the same nodes; only
widths are small. Weights are rounded to a coarse grid, so that the files compress well.
"""

import json
from pathlib import Path

import torch
from diffusers import (
    AutoencoderKL,
    EulerAncestralDiscreteScheduler,
    EulerDiscreteScheduler,
    LatentConsistencyModelPipeline,
    LCMScheduler,
    PNDMScheduler,
    DDIMScheduler,
    StableDiffusionInpaintPipeline,
    StableDiffusionPipeline,
    StableDiffusionXLImg2ImgPipeline,
    StableDiffusionXLInpaintPipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer
from transformers.models.clip.tokenization_clip import bytes_to_unicode

VAE_WIDTHS = (4, 8, 8, 8)
BETAS = dict(beta_schedule="scaled_linear", beta_start=0.00085, beta_end=0.012, num_train_timesteps=1000)


def tokenizer(folder: Path, pad: str) -> CLIPTokenizer:
    """CLIP's byte tokens without its merges: a token for each letter."""
    letters = list(bytes_to_unicode().values())
    words = letters + [letter + "</w>" for letter in letters] + ["<|startoftext|>", "<|endoftext|>"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), pad_token=pad, model_max_length=77)


def text_config(width: int, layers: int, act: str, projection: int) -> CLIPTextConfig:
    # As in the published configs: eos_token_id is 2, so the pooled embedding is that of the largest id.
    return CLIPTextConfig(
        vocab_size=514, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers, num_attention_heads=2,
        hidden_act=act, projection_dim=projection, max_position_embeddings=77, bos_token_id=0, eos_token_id=2, pad_token_id=1,
    )


def vae(scaling: float, sample: int, upcast: bool) -> AutoencoderKL:
    return AutoencoderKL(
        in_channels=3, out_channels=3, latent_channels=4, layers_per_block=2, norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=VAE_WIDTHS, sample_size=sample, scaling_factor=scaling, force_upcast=upcast,
    )


def sd_unet(cross: int, **more) -> UNet2DConditionModel:
    return UNet2DConditionModel(
        sample_size=8, out_channels=4, layers_per_block=2, norm_num_groups=4,
        down_block_types=("CrossAttnDownBlock2D",) * 3 + ("DownBlock2D",),
        up_block_types=("UpBlock2D",) + ("CrossAttnUpBlock2D",) * 3,
        block_out_channels=(8, 16, 16, 16), cross_attention_dim=cross,
        **{"in_channels": 4, "attention_head_dim": 2, **more},
    )


def sdxl_unet(cross: int, pooled: int, depths, time_ids=6, **more) -> UNet2DConditionModel:
    return UNet2DConditionModel(
        sample_size=8, out_channels=4, layers_per_block=2, norm_num_groups=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        block_out_channels=(8, 16, 16), attention_head_dim=(1, 2, 4), cross_attention_dim=cross,
        transformer_layers_per_block=depths, use_linear_projection=True, addition_embed_type="text_time",
        addition_time_embed_dim=8, projection_class_embeddings_input_dim=pooled + time_ids * 8,
        **{"in_channels": 4, **more},
    )


def round_weights(module: torch.nn.Module) -> None:
    """Rounds to a grid of about 16 steps per tensor: a power of two, so that float16 holds every value too."""
    for parameter in module.parameters():
        if parameter.dim() == 1:
            # Biases and norms begin as zeros and ones; exporters merge equal weights.
            parameter.data += 0.1 * torch.randn_like(parameter)
        largest = parameter.data.abs().max().item()
        if largest == 0:
            continue
        step = 2.0 ** torch.tensor(largest / 8).log2().ceil().item()
        parameter.data = (parameter.data / step).round() * step


def strengthen(unet: UNet2DConditionModel, conditions: dict) -> None:
    """Untrained UNets predict almost nothing; scales the last layer to predictions of unit variance."""
    cross = unet.config.cross_attention_dim
    with torch.no_grad():
        prediction = unet(torch.randn(2, unet.config.in_channels, 8, 8), 500, torch.randn(2, 77, cross), **conditions).sample
        factor = 2.0 ** round(float(torch.log2(1 / prediction.std())))
        unet.conv_out.weight.mul_(factor)


def sd15(work: Path, seed=15) -> StableDiffusionPipeline:
    torch.manual_seed(seed)
    return whole(StableDiffusionPipeline(
        vae=vae(0.18215, 64, False), text_encoder=CLIPTextModel(text_config(16, 12, "quick_gelu", 16)),
        tokenizer=tokenizer(work / "tokenizer", "<|endoftext|>"), unet=sd_unet(16),
        scheduler=PNDMScheduler(**BETAS, skip_prk_steps=True, set_alpha_to_one=False, steps_offset=1),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    ))


def sd15_inpaint(base: StableDiffusionPipeline) -> StableDiffusionInpaintPipeline:
    """A UNet that reads the mask and the masked picture beside the latent; all else is that of Stable Diffusion 1.5."""
    torch.manual_seed(9)
    unet = sd_unet(16, in_channels=9).eval()
    round_weights(unet)
    strengthen(unet, {})
    return StableDiffusionInpaintPipeline(**{**base.components, "unet": unet}, requires_safety_checker=False)


def sdxl_inpaint(base: StableDiffusionXLPipeline) -> StableDiffusionXLInpaintPipeline:
    """The same for SDXL; the UNet has one transformer block where SDXL has two and ten, because the depth is that of the fixture sdxl."""
    torch.manual_seed(13)
    conditions = {"added_cond_kwargs": {"text_embeds": torch.randn(2, 16), "time_ids": torch.full((2, 6), 64.0)}}
    unet = sdxl_unet(24, 16, (1, 1, 1), in_channels=9).eval()
    round_weights(unet)
    strengthen(unet, conditions)
    return StableDiffusionXLInpaintPipeline(**{**base.components, "unet": unet}, add_watermarker=False)


def sd21(work: Path, seed=21) -> StableDiffusionPipeline:
    torch.manual_seed(seed)
    return whole(StableDiffusionPipeline(
        vae=vae(0.18215, 64, False), text_encoder=CLIPTextModel(text_config(16, 23, "gelu", 16)),
        tokenizer=tokenizer(work / "tokenizer", "!"),
        unet=sd_unet(16, attention_head_dim=(1, 2, 4, 4), use_linear_projection=True),
        scheduler=DDIMScheduler(
            **BETAS, prediction_type="v_prediction", set_alpha_to_one=False, steps_offset=1, clip_sample=False,
        ),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    ))


def sd_turbo(base: StableDiffusionPipeline) -> StableDiffusionPipeline:
    """The architecture of 2.1, distilled; it predicts noise."""
    scheduler = EulerDiscreteScheduler(
        **BETAS, prediction_type="epsilon", timestep_spacing="trailing", steps_offset=1,
    )
    return StableDiffusionPipeline(**{**base.components, "scheduler": scheduler}, requires_safety_checker=False)


def lcm(work: Path) -> LatentConsistencyModelPipeline:
    torch.manual_seed(4)
    return whole(LatentConsistencyModelPipeline(
        vae=vae(0.18215, 64, False), text_encoder=CLIPTextModel(text_config(16, 12, "quick_gelu", 16)),
        tokenizer=tokenizer(work / "tokenizer", "<|endoftext|>"), unet=sd_unet(16, time_cond_proj_dim=16),
        scheduler=LCMScheduler(**BETAS, original_inference_steps=50, set_alpha_to_one=True, clip_sample=False),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    ), timestep_cond=torch.randn(2, 16))


def sdxl(work: Path, seed=10, depths=(1, 2, 10), scheduler=None, **more) -> StableDiffusionXLPipeline:
    torch.manual_seed(seed)
    scheduler = scheduler or EulerDiscreteScheduler(
        **BETAS, prediction_type="epsilon", timestep_spacing="leading", steps_offset=1,
    )
    conditions = {"added_cond_kwargs": {"text_embeds": torch.randn(2, 16), "time_ids": torch.full((2, 6), 64.0)}}
    if "time_cond_proj_dim" in more:
        conditions["timestep_cond"] = torch.randn(2, more["time_cond_proj_dim"])
    return whole(StableDiffusionXLPipeline(
        vae=vae(0.13025, 64, True),
        text_encoder=CLIPTextModel(text_config(8, 12, "quick_gelu", 8)),
        text_encoder_2=CLIPTextModelWithProjection(text_config(16, 32, "gelu", 16)),
        tokenizer=tokenizer(work / "tokenizer", "<|endoftext|>"), tokenizer_2=tokenizer(work / "tokenizer_2", "!"),
        unet=sdxl_unet(24, 16, depths, **more), scheduler=scheduler, force_zeros_for_empty_prompt=True,
        add_watermarker=False,
    ), **conditions)


def sdxl_turbo(base: StableDiffusionXLPipeline) -> StableDiffusionXLPipeline:
    scheduler = EulerAncestralDiscreteScheduler(
        **BETAS, prediction_type="epsilon", timestep_spacing="trailing", steps_offset=1,
    )
    return StableDiffusionXLPipeline(**{**base.components, "scheduler": scheduler}, add_watermarker=False)


def sdxl_lcm(work: Path) -> StableDiffusionXLPipeline:
    """One transformer block where SDXL has two and ten: the depth is that of the fixture sdxl."""
    scheduler = LCMScheduler(**BETAS, original_inference_steps=50, set_alpha_to_one=True, clip_sample=False)
    return sdxl(work, 11, (1, 1, 1), scheduler, time_cond_proj_dim=16)


def sdxl_refiner(work: Path) -> StableDiffusionXLImg2ImgPipeline:
    """The second text encoder alone, five time ids, and a UNet with four levels, of which the outer two have no attention."""
    torch.manual_seed(12)
    conditions = {"added_cond_kwargs": {"text_embeds": torch.randn(2, 16), "time_ids": torch.full((2, 5), 64.0)}}
    unet = UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, layers_per_block=2, norm_num_groups=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        block_out_channels=(8, 16, 16, 16), attention_head_dim=(1, 2, 4, 4), cross_attention_dim=16,
        transformer_layers_per_block=4, use_linear_projection=True, addition_embed_type="text_time",
        addition_time_embed_dim=8, projection_class_embeddings_input_dim=16 + 5 * 8,
    )
    scheduler = EulerDiscreteScheduler(**BETAS, prediction_type="epsilon", timestep_spacing="leading", steps_offset=1)
    return whole(StableDiffusionXLImg2ImgPipeline(
        vae=vae(0.13025, 64, True), text_encoder=None, tokenizer=None,
        text_encoder_2=CLIPTextModelWithProjection(text_config(16, 32, "gelu", 16)),
        tokenizer_2=tokenizer(work / "tokenizer_2", "!"), unet=unet, scheduler=scheduler,
        force_zeros_for_empty_prompt=False, requires_aesthetics_score=True, add_watermarker=False,
    ), **conditions)


def whole(pipeline, **conditions):
    for module in (pipeline.vae, pipeline.text_encoder, getattr(pipeline, "text_encoder_2", None), pipeline.unet):
        if module is not None:
            module.eval()
            round_weights(module)
    strengthen(pipeline.unet, conditions)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline

"""The noise schedule (scaled linear, rescaled to zero terminal SNR), the velocity target, and DDIM, as in diffusers.

Run as a program with the path of a golden (`ddim__v_zsnr_trailing.json`) it checks itself against diffusers' numbers.
"""

import numpy as np
import torch

STEPS = 1000
CONFIG = {
    "_class_name": "DDIMScheduler",
    "_diffusers_version": "0.31.0",
    "num_train_timesteps": STEPS,
    "beta_start": 0.00085,
    "beta_end": 0.012,
    "beta_schedule": "scaled_linear",
    "trained_betas": None,
    "clip_sample": False,
    "set_alpha_to_one": False,
    "steps_offset": 1,
    "prediction_type": "v_prediction",
    "timestep_spacing": "trailing",
    "rescale_betas_zero_snr": True,
    "thresholding": False,
}


def alphas_cumprod():
    betas = torch.linspace(CONFIG["beta_start"] ** 0.5, CONFIG["beta_end"] ** 0.5, STEPS) ** 2
    root = torch.cumprod(1 - betas, 0).sqrt()
    first, last = root[0].clone(), root[-1].clone()
    bar = ((root - last) * first / (first - last)) ** 2
    alphas = torch.cat([bar[:1], bar[1:] / bar[:-1]])
    return torch.cumprod(1 - (1 - alphas), 0)


ALPHAS = alphas_cumprod()


def noised(clean, noise, timestep):
    """(noisy latent, velocity target) for long timesteps [B]."""
    a = ALPHAS.to(clean.device)[timestep].sqrt()[:, None, None, None]
    b = (1 - ALPHAS.to(clean.device)[timestep]).sqrt()[:, None, None, None]
    return a * clean + b * noise, a * noise - b * clean


def trailing_timesteps(count):
    return (np.round(np.arange(STEPS, 0, -STEPS / count)) - 1).astype(int)[:count].tolist()


def ddim_step(velocity, timestep, sample, count):
    previous = timestep - STEPS // count
    a = ALPHAS[timestep]
    a_previous = ALPHAS[previous] if previous >= 0 else ALPHAS[0]
    clean = a**0.5 * sample - (1 - a) ** 0.5 * velocity
    noise = a**0.5 * velocity + (1 - a) ** 0.5 * sample
    return a_previous**0.5 * clean + (1 - a_previous) ** 0.5 * noise


def initial_noise(seed, width, height):
    """What diffusers draws for this seed on the CPU."""
    generator = torch.Generator("cpu").manual_seed(seed)
    return torch.randn(1, 4, height // 8, width // 8, generator=generator)


if __name__ == "__main__":
    import json
    import sys

    for run in json.load(open(sys.argv[1]))["runs"]:
        count = run["num_inference_steps"]
        assert trailing_timesteps(count) == run["timesteps"], count
        x = torch.tensor(run["initial_sample"]).view(1, 4, 8, 8)
        worst = 0.0
        for t, expected in zip(run["timesteps"], run["prev_samples"]):
            index = torch.arange(256, dtype=torch.float64)
            out = (0.1 * x.double().flatten() + torch.sin(0.01 * t + 0.001 * index)).float().view_as(x)
            x = ddim_step(out, t, x, count)
            expected = torch.tensor(expected)
            worst = max(worst, ((x.flatten() - expected).abs().max() / max(1, expected.abs().max())).item())
        print(f"{count} steps: largest difference {worst:.1e}")
        assert worst < 1e-5

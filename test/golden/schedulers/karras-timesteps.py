"""Makes karras-timesteps.json: python3 karras-timesteps.py, with numpy (1.24.2 and 2.4.6 give the same file).

Repeats the arithmetic of diffusers' DPMSolverMultistepScheduler.set_timesteps with use_karras_sigmas (commit 58eb52c):
betas in float32, cumulative alphas multiplied in float64 and stored in float32, sigmas and their logarithms in float32,
Karras sigmas in float64. torch is not needed: its linspace differs from numpy's in the last bit of some betas, which changes
no timestep. The script checks its result against timesteps-table.json, which was made by diffusers itself.
"""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
STEPS = range(2, 101)
RHO = 7.0
BETAS = {
    "scaled_linear": np.linspace(0.00085**0.5, 0.012**0.5, 1000) ** 2,
    "linear": np.linspace(0.0001, 0.02, 1000),
}


def schedule_sigmas(betas):
    alphas = np.float32(1) - betas.astype(np.float32)
    alphas_cumprod = np.cumprod(alphas.astype(np.float64)).astype(np.float32)
    return ((1 - alphas_cumprod) / alphas_cumprod) ** np.float32(0.5)


def karras_sigmas(largest, smallest, steps):
    ramp = np.linspace(0, 1, steps)
    start, end = largest ** (1 / RHO), smallest ** (1 / RHO)
    return (start + ramp * (end - start)) ** RHO


def timestep_of(sigma, log_sigmas):
    log_sigma = np.log(sigma)
    low = min(int(np.searchsorted(log_sigmas, log_sigma, side="right")) - 1, len(log_sigmas) - 2)
    low = max(low, 0)
    share = (log_sigmas[low] - log_sigma) / (log_sigmas[low] - log_sigmas[low + 1])
    share = np.clip(share, 0, 1)
    return int(((1 - share) * low + share * (low + 1)).round())


def timesteps(betas, steps):
    sigmas = schedule_sigmas(betas)
    run = karras_sigmas(float(sigmas[-1]), float(sigmas[0]), steps)
    return [timestep_of(sigma, np.log(sigmas)) for sigma in run]


def main():
    tables = {name: {steps: timesteps(betas, steps) for steps in STEPS} for name, betas in BETAS.items()}
    made_by_diffusers = json.loads((HERE / "timesteps-table.json").read_text())["dpmpp_karras"]
    for steps, row in made_by_diffusers.items():
        assert int(steps) < 2 or tables["scaled_linear"][int(steps)] == row["timesteps"], steps
    lines = [
        f' "{name}": {{\n' + ",\n".join(f'  "{n}": {json.dumps(t, separators=(",", ":"))}' for n, t in rows.items()) + "\n }"
        for name, rows in tables.items()
    ]
    (HERE / "karras-timesteps.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()

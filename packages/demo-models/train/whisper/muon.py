"""Muon: momentum whose matrix updates are made orthogonal before they are applied (Jordan et al. 2024, with the scale that
lets it share AdamW's learning rate, Liu et al. 2025). On this model it needs markedly fewer steps than AdamW alone; the
Newton-Schulz iteration costs about a tenth of a step.
"""

from __future__ import annotations

import torch
from torch import Tensor


def orthogonal(update: Tensor, steps: int = 5) -> Tensor:
    """The nearest (semi-)orthogonal matrix, nearly: singular values end between 0.7 and 1.2. bfloat16 is enough."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = update.bfloat16()
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.t()
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        gram = x @ x.t()
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return (x.t() if tall else x).to(update.dtype)


class Muon(torch.optim.Optimizer):
    """For the weight matrices inside the layers. A group's `blocks` says how many matrices each parameter stacks by
    rows (query, key and value are one product here, yet three matrices)."""

    def __init__(self, groups: list[dict], lr: float, momentum: float = 0.95, weight_decay: float = 0.02) -> None:
        super().__init__(groups, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "blocks": 1})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["momentum"] = torch.zeros_like(p)
                state["momentum"].lerp_(p.grad, 1 - group["momentum"])
                ahead = torch.lerp(p.grad, state["momentum"], group["momentum"])
                update = torch.cat([orthogonal(block) for block in ahead.chunk(group["blocks"])])
                rows, columns = p.shape[0] // group["blocks"], p.shape[1]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(update, alpha=group["lr"] * 0.2 * max(rows, columns) ** 0.5)

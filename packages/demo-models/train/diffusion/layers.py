"""Linear and convolution layers with a switchable compute type, shared by all three networks.

Weights, norms, activations and residuals stay float32. On a CPU with AVX512-BF16 the matrix work alone runs two to
four times faster in bfloat16, while bfloat16 elementwise operations are slower than float32 ones; `torch.autocast`
would move both. So only the two layers below round their inputs, and only while training asks for it.
"""

import torch
import torch.nn.functional as F
from torch import nn

_compute = None  # None: as the tensors are


def set_compute(dtype):
    """torch.bfloat16 for training; None (float32) for evaluation and export."""
    global _compute
    _compute = dtype


def fast_bfloat16():
    """True where bfloat16 matrix work is worth it: a GPU, or a CPU with AVX512-BF16 or AMX."""
    if torch.cuda.is_available():
        return True
    try:
        return "avx512_bf16" in open("/proc/cpuinfo").read()
    except OSError:
        return False


class Linear(nn.Linear):
    def forward(self, x):
        if _compute is None:
            return F.linear(x, self.weight, self.bias)
        bias = None if self.bias is None else self.bias.to(_compute)
        return F.linear(x.to(_compute), self.weight.to(_compute), bias).float()


class Conv2d(nn.Conv2d):
    def forward(self, x):
        if _compute is None:
            return self._conv_forward(x, self.weight, self.bias)
        bias = None if self.bias is None else self.bias.to(_compute)
        return self._conv_forward(x.to(_compute), self.weight.to(_compute), bias).float()


def attend(q, k, v, bias=None):
    """Scaled dot-product attention of [B,heads,N,width]; `bias` is added to the scores. While training in bfloat16 the
    scores and weights stay so: the largest tensors of the denoiser, and memory is what they cost."""
    q = q * q.shape[-1] ** -0.5
    if _compute is None:
        scores = q @ k.transpose(-1, -2)
        return (scores if bias is None else scores + bias).softmax(-1) @ v
    scores = q.to(_compute) @ k.to(_compute).transpose(-1, -2)
    scores = scores if bias is None else scores + bias.to(_compute)
    return (scores.softmax(-1) @ v.to(_compute)).float()

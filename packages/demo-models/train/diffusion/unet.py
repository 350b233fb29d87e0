"""The denoiser: (latent, timestep, text vectors) -> velocity, behind the signature of Stable Diffusion's UNet.

Latents of a 256x256 picture are 32x32. A strided stem folds 2x2 of them into one position and sees, beside them, means over
wider windows. Convolution blocks work at 16x16, transformer blocks at 8x8 (where objects are placed and told apart), two
more transformer blocks and convolution blocks again at 16x16 (where shapes are drawn). The text is attended to at both
levels. Everything between layers is channels-last, [B,H,W,C], where layer norm is cheap and linear layers and convolutions
need no copies.

Norms make it hard for the deep path to carry the input's exact values to the output, which velocity needs when little
noise is left. A straight path does that: the stem's features, scaled by the condition, through one convolution.

Places: every position gets features of its normalised coordinates, computed from the input's shape inside the graph, so
"left" means left at every picture size.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from layers import Conv2d, Linear, attend
from text import WIDTH as TEXT_WIDTH

HEAD = 32  # width of an attention head


def conv(layer, x):
    return layer(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


def fold(x):
    """[B,H,W,C] -> [B,H/2,W/2,4C]"""
    b, h, w, c = x.shape
    return x.reshape(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h // 2, w // 2, 4 * c)


def unfold(x):
    """[B,H,W,4C] -> [B,2H,2W,C]"""
    b, h, w, c = x.shape
    return x.reshape(b, h, w, 2, 2, c // 4).permute(0, 1, 3, 2, 4, 5).reshape(b, 2 * h, 2 * w, c // 4)


def modulate(x, scale, shift):
    return x * (1 + scale) + shift


class ResBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(2, width))
        self.norm1 = nn.LayerNorm(width)
        self.conv1 = Conv2d(width, width, 3, padding=1)
        self.norm2 = nn.LayerNorm(width)
        self.conv2 = Conv2d(width, width, 3, padding=1)
        nn.init.zeros_(self.conv2.weight)
        nn.init.zeros_(self.conv2.bias)

    def forward(self, x, condition):
        scale, shift = (condition[:, :2] + self.table)[:, :, None, None].unbind(1)
        h = conv(self.conv1, F.silu(modulate(self.norm1(x), scale, shift)))
        return x + conv(self.conv2, F.silu(self.norm2(h)))


class CrossAttention(nn.Module):
    """Positions read the text. `bias` hides padding."""

    def __init__(self, width):
        super().__init__()
        self.heads = width // HEAD
        self.norm = nn.LayerNorm(width)
        self.q = Linear(width, width, bias=False)
        self.kv = Linear(TEXT_WIDTH, 2 * width, bias=False)
        self.out = Linear(width, width)
        nn.init.zeros_(self.out.weight)

    def forward(self, x, text, bias):
        b, n, c = x.shape
        q = self.q(self.norm(x)).view(b, n, self.heads, HEAD).transpose(1, 2)
        k, v = self.kv(text).view(b, -1, 2, self.heads, HEAD).permute(2, 0, 3, 1, 4).unbind(0)
        return x + self.out(attend(q, k, v, bias).transpose(1, 2).reshape(b, n, c))


class Transformer(nn.Module):
    """Self-attention, the text, and a gated MLP over [B,N,C]."""

    def __init__(self, width, expand=2, head=HEAD):
        super().__init__()
        self.heads = width // head
        self.table = nn.Parameter(torch.zeros(4, width))
        self.norm1 = nn.LayerNorm(width)
        self.qkv = Linear(width, 3 * width)
        self.out = Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.cross = CrossAttention(width)
        self.up = Linear(width, 2 * expand * width)
        self.down = Linear(expand * width, width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.down.weight)

    def forward(self, x, text, bias, condition):
        b, n, c = x.shape
        scale1, shift1, scale2, shift2 = (condition[:, :4] + self.table)[:, :, None].unbind(1)
        qkv = self.qkv(modulate(self.norm1(x), scale1, shift1)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.out(attend(*qkv.unbind(0)).transpose(1, 2).reshape(b, n, c))
        x = self.cross(x, text, bias)
        gate, value = self.up(modulate(self.norm2(x), scale2, shift2)).chunk(2, -1)
        return x + self.down(F.silu(gate) * value)


def coordinate_features(x):
    """[1,H,W,18] of a [B,H,W,C] tensor, from its shape alone: where each position is, in parts of the whole and in
    units of the shorter side, and how fine the grid is."""
    one = torch.ones_like(x[:1, :, :, :1])
    rows, columns = one.cumsum(1), one.cumsum(2)  # 1, 2, ... (counted in the graph, so any size works)
    height, width = rows[:, -1:, -1:], columns[:, -1:, -1:]
    v, u = (rows - 0.5) / height * 2 - 1, (columns - 0.5) / width * 2 - 1
    shorter = torch.minimum(height, width)
    fine = torch.log2(shorter * one / 8)
    features = [u, v, u * width / shorter - u, v * height / shorter - v, fine, one]
    for k in (1, 2, 4):
        features += [torch.sin(math.pi * k / 2 * u), torch.cos(math.pi * k / 2 * u)]
        features += [torch.sin(math.pi * k / 2 * v), torch.cos(math.pi * k / 2 * v)]
    return torch.cat(features, -1)


FEATURES = 18
WINDOWS = (4, 8, 16)


def window_means(sample):
    """[B,h/2,w/2,4*len(WINDOWS)] of a sample [B,4,h,w]: means over windows around every second place, in which a faint layout
    stands out from the noise. Scaled so that pure noise has unit variance."""
    means = [F.avg_pool2d(sample, k, 2, k // 2 - 1, count_include_pad=False) * k for k in WINDOWS]
    return torch.cat(means, 1).permute(0, 2, 3, 1)


def timestep_features(timestep, width=128):
    """Sines and cosines as in diffusers (flip_sin_to_cos, no shift)."""
    frequencies = torch.exp(torch.arange(width // 2, device=timestep.device) * (-math.log(10000) / (width // 2)))
    angle = timestep.float()[:, None] * frequencies
    return torch.cat([angle.cos(), angle.sin()], -1)


class UNet(nn.Module):
    def __init__(self, outer=128, inner=192, blocks=3, transformers=6, condition=192, late=2):
        super().__init__()
        self.config = {
            "outer": outer, "inner": inner, "blocks": blocks, "transformers": transformers, "condition": condition,
            "late": late,
        }  # fmt: skip
        self.time1 = Linear(128, condition)
        self.time2 = Linear(condition, condition)
        self.summary = Linear(TEXT_WIDTH, condition)
        self.outer_condition = Linear(condition, 2 * outer)
        self.inner_condition = Linear(condition, 4 * inner)
        self.fine_condition = Linear(condition, 4 * outer)
        self.outer_place = Linear(FEATURES, outer)
        self.inner_place = Linear(FEATURES, inner)
        self.stem = Conv2d(16, outer, 3, padding=1)
        self.coarse_stem = Conv2d(4 * len(WINDOWS), outer, 3, padding=1, bias=False)
        self.before = nn.ModuleList(ResBlock(outer) for _ in range(blocks))
        self.before_cross = CrossAttention(outer)
        self.down = Linear(4 * outer, inner)
        self.transformers = nn.ModuleList(Transformer(inner) for _ in range(transformers))
        self.up_norm = nn.LayerNorm(inner)
        self.up = Linear(inner, 4 * outer)
        self.skip = Linear(outer, outer)
        self.after_cross = CrossAttention(outer)
        self.late = nn.ModuleList(Transformer(outer, head=64) for _ in range(late))
        self.after = nn.ModuleList(ResBlock(outer) for _ in range(blocks))
        self.out_norm = nn.LayerNorm(outer)
        self.out = Conv2d(outer, 16, 3, padding=1)
        self.straight_scale = Linear(condition, outer)
        self.straight = Conv2d(outer, 16, 3, padding=1, bias=False)
        for weight in (self.out.weight, self.out.bias, self.straight.weight, self.coarse_stem.weight):
            nn.init.zeros_(weight)

    def forward(self, sample, timestep, text, seen=None, control=None):
        """sample [B,4,h,w]; timestep [B]; text [B,N,TEXT_WIDTH], rows of zeros are padding. Returns the velocity,
        [B,4,h,w]. A list `seen` gets the features of every second row and column of the sample, [B,h/2,w/2,outer],
        before and after the late transformers. `control` is what a ControlNet adds to the skip and
        to what it is joined with, both [B,outer,h/2,w/2]."""
        bias = (text.abs().sum(-1) == 0).float()[:, None, None, :] * -1e4
        condition = F.silu(self.time1(timestep_features(timestep)))
        condition = F.silu(self.time2(condition) + self.summary(text[:, 0]))  # row 0: the start token's vector
        outer = self.outer_condition(condition).view(-1, 2, self.config["outer"])
        inner = self.inner_condition(condition).view(-1, 4, self.config["inner"])
        fine = self.fine_condition(condition).view(-1, 4, self.config["outer"])

        x = fold(sample.permute(0, 2, 3, 1))
        x = conv(self.stem, x)
        straight = conv(self.straight, x * self.straight_scale(condition)[:, None, None])
        skip, x = self.front(sample, timestep, x, text, bias, outer, inner)
        if control is not None:
            skip, x = (part + added.permute(0, 2, 3, 1) for part, added in zip((skip, x), control))
        x = x + self.skip(skip)
        x = self.read(self.after_cross, x, text, bias)
        if seen is not None:
            seen.append(x)
        x = self.attend(self.late, x, text, bias, fine)
        if seen is not None:
            seen.append(x)
        for block in self.after:
            x = block(x, outer)
        x = conv(self.out, F.silu(self.out_norm(x))) + straight
        return unfold(x).permute(0, 3, 1, 2)

    def front(self, sample, timestep, x, text, bias, outer, inner):
        """What is joined: the features before the inner level, and those that come from there."""
        x = x + self.outer_place(coordinate_features(x)) + conv(self.coarse_stem, window_means(sample))
        for block in self.before:
            x = block(x, outer)
        x = self.read(self.before_cross, x, text, bias)
        skip = x
        x = self.down(fold(x))
        x = x + self.inner_place(coordinate_features(x))
        x = self.attend(self.transformers, x, text, bias, inner)
        return skip, unfold(self.up(self.up_norm(x)))

    @staticmethod
    def attend(transformers, x, text, bias, condition):
        b, h, w, c = x.shape
        x = x.reshape(b, h * w, c)
        for block in transformers:
            x = block(x, text, bias, condition)
        return x.reshape(b, h, w, c)

    @staticmethod
    def read(cross, x, text, bias):
        b, h, w, c = x.shape
        return cross(x.reshape(b, h * w, c), text, bias).reshape(b, h, w, c)

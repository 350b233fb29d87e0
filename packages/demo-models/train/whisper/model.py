"""Whisper's architecture, small: convolutional stem, pre-norm transformer encoder, decoder with cross-attention.

Kept to what Whisper computes, so that the exported graphs are ordinary Whisper graphs. Two liberties that leave the
function family alone: query, key and value are one matrix product (the key bias this adds cancels in the softmax and
is dropped at export), and training adds a phoneme head on the encoder, which is not exported.
"""

from __future__ import annotations

import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclasses.dataclass(frozen=True)
class Config:
    vocab_size: int
    phones: int
    chunk_seconds: int = 10
    mel_bins: int = 80
    width: int = 192
    heads: int = 3  # 64 wide, as in every Whisper; fewer heads also means fewer softmaxes to pay for
    encoder_layers: int = 4
    encoder_ffn: int = 768
    decoder_layers: int = 2
    decoder_ffn: int = 448
    max_target: int = 192

    @property
    def max_source(self) -> int:
        return self.chunk_seconds * 50


def sinusoids(length: int, width: int) -> Tensor:
    scale = torch.exp(-math.log(10000) / (width // 2 - 1) * torch.arange(width // 2))
    angle = torch.arange(length)[:, None] * scale[None]
    return torch.cat([angle.sin(), angle.cos()], 1)


def convolve(x: Tensor, conv: nn.Conv1d) -> Tensor:
    """`conv` (kernel 3, padding 1) over [batch, length, channels], as one matrix product.

    Not nn.Conv1d itself: inside this model on Debian's torch 1.13, the gradients of the strided convolution now and
    then came out as uninitialised memory (1e23 and the like), in float32 and in bfloat16. A matrix product never did.
    """
    stride = conv.stride[0]
    padded = F.pad(x, (0, 0, 1, 1))
    taps = [padded[:, k : k + x.shape[1] : stride] for k in range(3)]
    return F.linear(torch.cat(taps, -1), conv.weight.permute(0, 2, 1).flatten(1), conv.bias)


def attend(q: Tensor, k: Tensor, v: Tensor, heads: int, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """[batch, length, width] each; `mask` is added to the scores. Also returns the weights [batch, heads, q, k]."""
    batch, length, width = q.shape

    def split(x: Tensor) -> Tensor:
        return x.view(batch, -1, heads, width // heads).transpose(1, 2)

    scores = (split(q) * (width // heads) ** -0.5) @ split(k).transpose(2, 3)
    weights = (scores if mask is None else scores + mask).softmax(-1)
    return (weights @ split(v)).transpose(1, 2).reshape(batch, length, width), weights


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.out(attend(q, k, v, self.heads, mask)[0])


class CrossAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        mixed, weights = attend(self.q(x), k, v, self.heads)
        return self.out(mixed), weights


class Ffn(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x)))


class EncoderLayer(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.attn_norm = nn.LayerNorm(c.width)
        self.attn = SelfAttention(c.width, c.heads)
        self.ffn_norm = nn.LayerNorm(c.width)
        self.ffn = Ffn(c.width, c.encoder_ffn)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.attn_norm(x))
        return x + self.ffn(self.ffn_norm(x))


class DecoderLayer(nn.Module):
    def __init__(self, c: Config, dropout: float) -> None:
        super().__init__()
        self.attn_norm = nn.LayerNorm(c.width)
        self.attn = SelfAttention(c.width, c.heads)
        self.cross_norm = nn.LayerNorm(c.width)
        self.cross = CrossAttention(c.width, c.heads)
        self.ffn_norm = nn.LayerNorm(c.width)
        self.ffn = Ffn(c.width, c.decoder_ffn)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x = x + self.dropout(self.attn(self.attn_norm(x), mask))
        mixed, weights = self.cross(self.cross_norm(x), k, v)
        x = x + self.dropout(mixed)
        return x + self.dropout(self.ffn(self.ffn_norm(x))), weights


class Whisper(nn.Module):
    def __init__(self, c: Config, dropout: float = 0.1) -> None:
        super().__init__()
        self.config = c
        self.conv1 = nn.Conv1d(c.mel_bins, c.width, 3, padding=1)
        self.conv2 = nn.Conv1d(c.width, c.width, 3, stride=2, padding=1)
        self.register_buffer("source_positions", sinusoids(c.max_source, c.width), persistent=False)
        self.encoder_layers = nn.ModuleList(EncoderLayer(c) for _ in range(c.encoder_layers))
        self.encoder_norm = nn.LayerNorm(c.width)
        self.phone_head = nn.Linear(c.width, c.phones)
        self.tokens = nn.Embedding(c.vocab_size, c.width)
        self.target_positions = nn.Parameter(torch.zeros(c.max_target, c.width))
        self.decoder_layers = nn.ModuleList(DecoderLayer(c, dropout) for _ in range(c.decoder_layers))
        self.decoder_norm = nn.LayerNorm(c.width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        # The timestamps, last in the vocabulary, start as what the encoder adds to the same moment: neighbours are alike, and
        # writing a time begins as copying a position.
        with torch.no_grad():
            self.tokens.weight[-c.max_source - 1 :] = 0.1 * sinusoids(c.max_source + 1, c.width)
        nn.init.normal_(self.target_positions, std=0.01)
        for name, parameter in self.named_parameters():
            # residual branches start small, so that depth costs no warm-up
            if name.endswith(("out.weight", "down.weight")):
                nn.init.normal_(parameter, std=0.02)

    def encode(self, mel: Tensor) -> Tensor:
        """[batch, bins, frames] to [batch, frames / 2, width]."""
        x = F.gelu(convolve(mel.transpose(1, 2), self.conv1))
        x = F.gelu(convolve(x, self.conv2))
        x = x + self.source_positions[: x.shape[1]]
        for layer in self.encoder_layers:
            x = layer(x)
        return self.encoder_norm(x)

    def source_keys(self, source: Tensor) -> list[tuple[Tensor, ...]]:
        """Each decoder layer's cross-attention keys and values: a function of the audio alone."""
        return [layer.cross.kv(source).chunk(2, -1) for layer in self.decoder_layers]

    def decode(self, tokens: Tensor, source_keys: list[tuple[Tensor, ...]]) -> tuple[Tensor, list[Tensor]]:
        """[batch, length] ids to logits [batch, length, vocab], and each layer's cross-attention."""
        length = tokens.shape[1]
        mask = torch.full((length, length), float("-inf"), device=tokens.device).triu(1)
        x = self.tokens(tokens) + self.target_positions[:length]
        attention = []
        for layer, (k, v) in zip(self.decoder_layers, source_keys):
            x, weights = layer(x, k, v, mask)
            attention.append(weights)
        return F.linear(self.decoder_norm(x), self.tokens.weight), attention

    def phones(self, source: Tensor) -> Tensor:
        return self.phone_head(source)


def parameter_count(model: Whisper) -> int:
    """What is exported: the phoneme head is not, the tied embedding counts once."""
    return sum(p.numel() for name, p in model.named_parameters() if not name.startswith("phone_head"))


if __name__ == "__main__":
    print(parameter_count(Whisper(Config(vocab_size=1767, phones=64))))

"""Whisper's log-mel, for any chunk length: what preprocessor_config.json describes.

80 Slaney mel bins, 0..8000 Hz, FFT 400, hop 160, periodic Hann, reflect padding, last frame dropped, power, log10, clamped
8 below the maximum of the whole padded chunk, then (x + 4) / 4.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import torch

SAMPLE_RATE, N_FFT, HOP, BINS = 16000, 400, 160, 80


def _hz_to_mel(hz: np.ndarray) -> np.ndarray:
    return np.where(hz < 1000, hz * 3 / 200, 15 + np.log(np.maximum(hz, 1000) / 1000) * 27 / np.log(6.4))


def _mel_to_hz(mel: np.ndarray) -> np.ndarray:
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


@functools.lru_cache
def filters(bins: int = BINS) -> torch.Tensor:
    """[bins, 201]: Slaney's triangles, normalised by area."""
    edges = _mel_to_hz(np.linspace(_hz_to_mel(np.array(0.0)), _hz_to_mel(np.array(8000.0)), bins + 2))
    frequency = np.linspace(0, SAMPLE_RATE / 2, N_FFT // 2 + 1)
    rising = (frequency[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - frequency[None]) / (edges[2:] - edges[1:-1])[:, None]
    triangles = np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]
    return torch.from_numpy(triangles.astype(np.float32))


def log_mel(waves: torch.Tensor, color: torch.Tensor | None = None) -> torch.Tensor:
    """[batch, samples] to [batch, bins, samples / hop]. `color` [batch, bins] is added to the log10 power before the
    clamp: an equaliser that costs nothing (training only)."""
    window = torch.hann_window(N_FFT, periodic=True, device=waves.device)
    spectrum = torch.stft(waves, N_FFT, HOP, window=window, center=True, pad_mode="reflect", return_complex=True)
    power = spectrum[..., :-1].abs() ** 2
    log = (filters().to(waves.device) @ power).clamp_min(1e-10).log10()
    if color is not None:
        log = (log + color[:, :, None]).clamp_min(-10)
    floor = log.amax((1, 2), keepdim=True) - 8
    return (torch.maximum(log, floor) + 4) / 4


def check_against_golden(folder: Path) -> None:
    """Compares with the reference numbers of golden/whisper (5 s variant, 80 bins); raises when out of tolerance."""
    stored = np.fromfile(folder / "mel_filters_80x201.f32", "<f4").reshape(80, 201)
    assert np.abs(filters().numpy() - stored).max() < 1e-7
    index = json.loads((folder / "index.json").read_text())
    speech = np.fromfile(folder / "jfk_16k_mono.f32", "<f4")[: 5 * SAMPLE_RATE]
    mine = log_mel(torch.from_numpy(speech)[None])[0].numpy()
    theirs = np.fromfile(folder / "mel80_5s_jfk_first500.f32", "<f4").reshape(80, 500)
    error = np.abs(mine - theirs)
    print(f"log-mel against golden: max {error.max():.2e} (2e-4 allowed), mean {error.mean():.2e} (5e-6 allowed)", list(index)[:3])
    assert error.max() < 2e-4 and error.mean() < 5e-6
    silence = log_mel(torch.zeros(1, 5 * SAMPLE_RATE))
    assert torch.all(silence == -1.5)


if __name__ == "__main__":
    import sys

    check_against_golden(Path(sys.argv[1]))

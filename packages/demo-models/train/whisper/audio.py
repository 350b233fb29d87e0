"""Waveforms: resampling, trimming, and the damage that training does to them on purpose. NumPy only."""

from __future__ import annotations

import functools
import subprocess
import wave
from pathlib import Path

import numpy as np

SAMPLE_RATE = 16000


@functools.lru_cache(maxsize=32)
def _resample_matrix(up: int, down: int, zeros: int = 24) -> tuple[np.ndarray, int]:
    """Kaiser-windowed sinc as one matrix: every block of `down` input samples becomes `up` output samples."""
    cutoff = min(1.0, up / down) * 0.97
    reach = int(np.ceil(zeros / cutoff))
    at = np.arange(up)[None, :] * down / up  # where each output sample lies in its block
    tap = np.arange(-reach, down + reach)[:, None]
    distance = tap - at
    window = np.i0(9.0 * np.sqrt(np.clip(1 - (distance / reach) ** 2, 0, 1))) / np.i0(9.0)
    kernel = cutoff * np.sinc(cutoff * distance) * window * (np.abs(distance) <= reach)
    return kernel.astype(np.float32), reach


def resample(samples: np.ndarray, up: int, down: int) -> np.ndarray:
    """`samples` at rate r to rate r*up/down."""
    kernel, reach = _resample_matrix(up, down)
    blocks = -(-len(samples) // down)
    padded = np.zeros(blocks * down + 2 * reach, np.float32)
    padded[reach : reach + len(samples)] = samples
    strides = (padded.strides[0] * down, padded.strides[0])
    # overlapping rows: BLAS takes them only as a copy
    frames = np.lib.stride_tricks.as_strided(padded, (blocks, down + 2 * reach), strides)
    return (np.ascontiguousarray(frames) @ kernel).reshape(-1)[: len(samples) * up // down]


def speech_bounds(samples: np.ndarray) -> tuple[int, int]:
    """First and last sample that is heard: 5 ms steps louder than -46 dB below the loudest 20 ms."""
    hop = 80
    count = len(samples) // hop
    if count < 4:
        return 0, len(samples)
    power = (samples[: count * hop].astype(np.float32).reshape(count, hop) ** 2).mean(1)
    loudest = np.convolve(power, np.ones(4) / 4, "valid").max()
    heard = np.flatnonzero(power > loudest * 10 ** (-4.6))
    if loudest <= 0 or len(heard) == 0:
        return 0, 0
    return int(heard[0] * hop), int((heard[-1] + 1) * hop)


def read_wav(path: str | Path) -> np.ndarray:
    """A 16-bit mono WAV at 16 kHz or 22.05 kHz as float32 at 16 kHz."""
    with wave.open(str(path)) as file:
        if file.getnchannels() != 1 or file.getsampwidth() != 2:
            raise ValueError(f"{path}: want 16-bit mono")
        rate = file.getframerate()
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
    if rate == SAMPLE_RATE:
        return samples
    if rate != 22050:
        raise ValueError(f"{path}: {rate} Hz")
    return resample(samples, 320, 441)


def speak(text: str, voice: str, speed: int, pitch: int, path: Path) -> np.ndarray:
    """The command line tool's speech, as the evaluation list describes it."""
    subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-w", str(path), text], check=True)
    return read_wav(path)


def add_noise(samples: np.ndarray, snr_db: float, seed: int) -> np.ndarray:
    """White noise at a signal-to-noise ratio over the heard part, a function of the seed: the evaluation's noise."""
    start, end = speech_bounds(samples)
    power = float((samples[start:end] ** 2).mean())
    noise = np.random.RandomState(seed).standard_normal(len(samples)).astype(np.float32)
    return samples + noise * np.sqrt(power / 10 ** (snr_db / 10))


# --- training-time damage ---------------------------------------------------------------------------------------


class NoiseBank:
    """Minutes of a few noises of unit power, to cut pieces from."""

    def __init__(self, rng: np.random.Generator, seconds: int = 60) -> None:
        n = seconds * SAMPLE_RATE
        self.kinds = {"white": self._shaped(rng, n, 0.0), "pink": self._shaped(rng, n, 0.5), "brown": self._shaped(rng, n, 1.0),
                      "hum": self._hum(rng, n), "blue": self._shaped(rng, n, -0.35)}  # fmt: skip

    @staticmethod
    def _unit(x: np.ndarray) -> np.ndarray:
        return (x / np.sqrt((x**2).mean())).astype(np.float32)

    def _shaped(self, rng: np.random.Generator, n: int, slope: float) -> np.ndarray:
        spectrum = np.fft.rfft(rng.standard_normal(n))
        frequency = np.maximum(np.fft.rfftfreq(n, 1 / SAMPLE_RATE), 30.0)
        return self._unit(np.fft.irfft(spectrum / frequency**slope, n))

    def _hum(self, rng: np.random.Generator, n: int) -> np.ndarray:
        time = np.arange(n) / SAMPLE_RATE
        mains = 50.0 if rng.random() < 0.5 else 60.0
        tones = sum(rng.random() / k * np.sin(2 * np.pi * mains * k * time + rng.random() * 6) for k in range(1, 9))
        return self._unit(tones + 0.05 * rng.standard_normal(n))

    def cut(self, rng: np.random.Generator, length: int) -> np.ndarray:
        kind = rng.choice(["white", "pink", "brown", "hum", "blue"], p=[0.5, 0.2, 0.1, 0.1, 0.1])
        noise = self.kinds[kind]
        start = rng.integers(0, len(noise) - length)
        return noise[start : start + length]


def reverberate(rng: np.random.Generator, samples: np.ndarray) -> np.ndarray:
    """A small synthetic room: an exponentially dying noise tail after the direct sound."""
    length = int(rng.uniform(0.05, 0.25) * SAMPLE_RATE)
    tail = rng.standard_normal(length) * np.exp(-np.arange(length) / (length / 6.9))
    tail *= rng.uniform(0.15, 0.6) / np.sqrt((tail**2).sum())
    tail[0] = 1.0
    size = 1 << (len(samples) + length - 1).bit_length()
    mixed = np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(tail, size), size)
    return mixed[: len(samples)].astype(np.float32)

"""Draws pictures with a Stable Diffusion model of ONNX graphs, a batch at a time: onnxruntime, numpy, Euler, guidance.

Every server of this folder uses this module, so that they differ only in how they serve it. The graphs run as they are: the UNet takes one
timestep for all of its rows, so pictures with different numbers of steps cannot share a call. Different guidance can.
"""

import functools
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image
from tokenizers import Tokenizer

TOKENS = 77
BLOCK = 16
# Lehr's level.
PNG_LEVEL = 3


@dataclass(frozen=True)
class Picture:
    prompt: str
    width: int
    height: int
    steps: int
    guidance: float
    seed: int

    @staticmethod
    def of(body):
        """From the body of POST /t2i."""
        return Picture(body["prompt"], body["width"], body["height"], body["inference_steps"], body["guidance_scale"], body["seed"])


def noise(seed, length):
    """torch.randn(length) of a CPU generator with this seed, for lengths that are a multiple of 16."""
    words = np.random.RandomState(seed).randint(0, 2**32, size=length, dtype=np.uint32)
    uniform = ((words & 0xFFFFFF) / np.float32(2**24)).astype(np.float32).reshape(-1, 2, BLOCK // 2)
    radius = np.sqrt(-2 * np.log(1 - uniform[:, 0]))
    angle = np.float32(2 * np.pi) * uniform[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(length)


def training_sigmas(config):
    """Noise over picture at each training timestep, rounded as in diffusers."""
    ends = config["beta_start"] ** 0.5, config["beta_end"] ** 0.5
    betas = np.linspace(*ends, config["num_train_timesteps"]) ** 2
    alphas = np.cumprod((1 - betas.astype(np.float32)).astype(np.float64))
    if config.get("rescale_betas_zero_snr"):
        roots = np.sqrt(alphas)
        alphas = ((roots - roots[-1]) * roots[0] / (roots[0] - roots[-1])) ** 2
    alphas = alphas.astype(np.float32).astype(np.float64)
    if config.get("rescale_betas_zero_snr"):
        alphas = np.maximum(alphas, 2**-24)
    return np.sqrt((1 - alphas) / alphas)


class Sampler:
    """The graphs of a model folder, each with `threads` threads (THREADS of the environment by default)."""

    def __init__(self, folder, threads=None):
        folder = Path(folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(threads or os.environ.get("THREADS", "2"))
        options.add_session_config_entry("session.intra_op.allow_spinning", os.environ.get("SPIN", "1"))

        def load(graph):
            return onnxruntime.InferenceSession(str(folder / graph / "model.onnx"), options, providers=["CPUExecutionProvider"])

        self.text, self.unet, self.vae = load("text_encoder"), load("unet"), load("vae_decoder")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer/tokenizer.json"))
        self.config = json.loads((folder / "scheduler/scheduler_config.json").read_text())
        self.scaling = json.loads((folder / "vae_decoder/config.json").read_text()).get("scaling_factor", 0.18215)
        self.sigmas = training_sigmas(self.config)
        self.timestep_type = {"tensor(float)": np.float32, "tensor(int64)": np.int64}[self.unet.get_inputs()[1].type]
        # As in Lehr, a prompt that was encoded already is not encoded again.
        self.embed = functools.lru_cache(maxsize=256)(self._embed)

    def _embed(self, prompt):
        bos, eos = (self.tokenizer.token_to_id(each) for each in ("<|startoftext|>", "<|endoftext|>"))
        ids = [bos, *self.tokenizer.encode(prompt, add_special_tokens=False).ids[: TOKENS - 2], eos]
        # int64 or int32, as the graph was exported.
        kind = np.int32 if "int32" in self.text.get_inputs()[0].type else np.int64
        padded = np.array([ids + [eos] * (TOKENS - len(ids))], dtype=kind)
        return self.text.run(["last_hidden_state"], {self.text.get_inputs()[0].name: padded})[0][0]

    def timesteps(self, steps):
        last = self.config["num_train_timesteps"]
        if self.config.get("timestep_spacing") == "trailing":
            return np.round(np.arange(last, 0, -last / steps))[:steps] - 1
        return np.linspace(0, last - 1, steps).astype(np.float32)[::-1]

    def draw(self, pictures):
        """PNG files of the pictures, in order. Pictures of one size and number of steps share their UNet calls."""
        groups = {}
        for i, each in enumerate(pictures):
            groups.setdefault((each.width, each.height, each.steps), []).append(i)
        files = [b""] * len(pictures)
        for places in groups.values():
            for place, file in zip(places, self.draw_alike([pictures[i] for i in places])):
                files[place] = file
        return files

    def draw_alike(self, pictures):
        """Like draw, for pictures of one size and number of steps."""
        first = pictures[0]
        shape = (4, first.height // 8, first.width // 8)
        timesteps = self.timesteps(first.steps)
        sigmas = [*np.interp(timesteps, np.arange(len(self.sigmas)), self.sigmas), 0.0]
        latents = np.stack([noise(each.seed, int(np.prod(shape))).reshape(shape) for each in pictures]) * np.float32(sigmas[0])
        # Without guidance, a picture needs no second row.
        guided = [i for i, each in enumerate(pictures) if each.guidance > 1]
        scale = np.array([pictures[i].guidance for i in guided], dtype=np.float32).reshape(-1, 1, 1, 1)
        texts = np.stack([*(self.embed(each.prompt) for each in pictures), *(self.embed("") for _ in guided)])
        for call, timestep in enumerate(timesteps):
            latents = self.step(latents, texts, guided, scale, timestep, sigmas[call], sigmas[call + 1])
        return self.files(latents)

    def step(self, latents, texts, guided, scale, timestep, sigma, after):
        alpha = 1 / np.sqrt(sigma * sigma + 1)
        scaled = latents * np.float32(alpha)
        rows = np.concatenate([scaled, scaled[guided]])
        time = np.array(timestep, dtype=self.timestep_type)
        output = self.unet.run(["out_sample"], {"sample": rows, "timestep": time, "encoder_hidden_states": texts})[0]
        prompt, negative = output[: len(latents)], output[len(latents) :]
        if len(guided) == len(latents):
            prompt = negative + scale * (prompt - negative)
        elif guided:
            prompt[guided] = negative + scale * (prompt[guided] - negative)
        if self.config["prediction_type"] == "epsilon":
            slope_latent, slope_output = 0.0, 1.0
        else:
            slope_latent, slope_output = sigma * alpha * alpha, alpha
        length = after - sigma
        return np.float32(1 + length * slope_latent) * latents + np.float32(length * slope_output) * prompt

    def files(self, latents):
        pixels = self.vae.run(["sample"], {"latent_sample": latents / np.float32(self.scaling)})[0]
        bytes_of = np.clip(np.round((pixels / 2 + 0.5) * 255), 0, 255).astype(np.uint8).transpose(0, 2, 3, 1)
        return [png(each) for each in bytes_of]


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(file, "PNG", compress_level=PNG_LEVEL)
    return file.getvalue()


def sampler_of_environment():
    """Of the folder MODEL, warmed up so that no request pays for the first run of a shape."""
    sampler = Sampler(os.environ["MODEL"])
    side = int(os.environ["SIDE"])
    for count in (1, 2, 4, 8):
        sampler.draw([Picture("warm up", side, side, 1, 2.0, seed) for seed in range(count)])
    return sampler

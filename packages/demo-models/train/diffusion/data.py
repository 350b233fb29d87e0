"""Training pictures as latents, made when first asked for and kept on disk.

Scene i of a bucket (one picture size) comes from the seed (seed, bucket, i), so only its latent has to be stored; captions
are made anew each time a scene comes up.
"""

import random
from pathlib import Path

import numpy as np
import torch

import grammar
import scenes
import vae
from layers import set_compute

MAIN = (256, 256)  # width, height
OTHERS = [
    (128, 128), (192, 192), (320, 320), (384, 384), (448, 448), (512, 512), (256, 192), (192, 256), (384, 256), (256, 384),
    (512, 256), (256, 512), (512, 384), (384, 512),
]  # fmt: skip


class Bucket:
    def __init__(self, folder, size, count, seed, encoder, device):
        self.width, self.height = size
        self.count, self.seed, self.encoder, self.device = count, seed, encoder, device
        shape = (count, vae.LATENT_CHANNELS, self.height // 8, self.width // 8)
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        # Under another seed the same index is another scene, whose caption would not fit this latent.
        name = folder / f"seed{seed}-{self.width}x{self.height}"
        fresh = not name.with_suffix(".f16").exists()
        self.latents = np.memmap(name.with_suffix(".f16"), np.float16, "w+" if fresh else "r+", shape=shape)
        self.ready = np.memmap(name.with_suffix(".ready"), np.uint8, "w+" if fresh else "r+", shape=(count,))

    def scene(self, i):
        rng = random.Random(f"{self.seed} {self.width}x{self.height} {i}")
        return scenes.sample_scene(rng, scenes.aspect_of(self.width, self.height))

    def get(self, indices):
        """(latents [B,4,h,w] float32, scenes)"""
        found = [self.scene(i) for i in indices]
        missing = [k for k, i in enumerate(indices) if not self.ready[i]]
        for start in range(0, len(missing), 16):
            part = missing[start : start + 16]
            pictures = np.stack([scenes.render(found[k], self.width, self.height) for k in part])
            with torch.no_grad():
                latents = self.encoder(vae.to_tensor(pictures).to(self.device)).float().cpu().numpy()
            for k, latent in zip(part, latents):
                self.latents[indices[k]] = latent
                self.ready[indices[k]] = 1
        return torch.from_numpy(self.latents[indices].astype(np.float32)).to(self.device), found


class Batches:
    """Step number -> (latents, captions, scenes), the same for the same step and seed. Every `every`-th step has another size."""

    def __init__(self, folder, autoencoder, seed, count=20_000, others=1500, batch=32, every=8, empty=0.1, device="cpu"):
        encoder = autoencoder.encoder.eval()
        self.main = Bucket(folder, MAIN, count, seed, encoder, device)
        self.others = [Bucket(folder, size, others, seed, encoder, device) for size in OTHERS]
        self.seed, self.batch, self.every, self.empty = seed, batch, every, empty

    def get(self, step):
        rng = random.Random(f"{self.seed} batch {step}")
        bucket, batch = self.main, self.batch
        if step % self.every == self.every - 1:
            bucket = rng.choice(self.others)
            area = bucket.width * bucket.height / (MAIN[0] * MAIN[1])
            batch = max(8, int(self.batch / max(1, area)))
            indices = [rng.randrange(bucket.count) for _ in range(batch)]
        else:
            first = (step - step // self.every) * batch
            indices = [(first + k) % bucket.count for k in range(batch)]
        latents, found = bucket.get(indices)
        captions = [None if rng.random() < self.empty else grammar.caption(s, rng) for s in found]
        return latents, captions, found

"""The torch pipeline: prompts -> pictures. The reference that the exported graphs and the TypeScript engine must equal."""

import numpy as np
import torch

import schedule
import vae
from tokenizer import LENGTH


class Pipeline:
    def __init__(self, tokenizer, text, unet, decoder, device="cpu"):
        self.tokenizer, self.text, self.unet, self.decoder, self.device = tokenizer, text, unet, decoder, device

    @torch.no_grad()
    def embed(self, prompts):
        """[B,77,width]"""
        ids = torch.tensor([self.tokenizer.encode(p) for p in prompts]).to(self.device)
        assert ids.shape[1] == LENGTH
        return self.text(ids)[0]

    @torch.no_grad()
    def latents(self, prompts, seeds, steps=20, guidance=3.0, width=256, height=256, negative=""):
        """DDIM with classifier-free guidance (none at guidance 1)."""
        x = torch.cat([schedule.initial_noise(s, width, height) for s in seeds]).to(self.device)
        said = self.embed(prompts)
        if guidance != 1:
            said = torch.cat([self.embed([negative]).expand_as(said), said])
        for t in schedule.trailing_timesteps(steps):
            twice = torch.cat([x, x]) if guidance != 1 else x
            out = self.unet(twice, torch.full((len(twice),), float(t), device=self.device), said)
            if guidance != 1:
                without, with_text = out.chunk(2)
                out = without + guidance * (with_text - without)
            x = schedule.ddim_step(out, t, x, steps)
        return x

    @torch.no_grad()
    def decode(self, latents):
        """uint8 [B,H,W,3]"""
        return np.concatenate([vae.to_pictures(self.decoder(z[None])) for z in latents])

    def draw(self, prompts, seeds, batch=20, **options):
        out = []
        for i in range(0, len(prompts), batch):
            out.append(self.decode(self.latents(prompts[i : i + batch], seeds[i : i + batch], **options)))
        return np.concatenate(out)

"""Trains an encoder for an exported model whose own encoder was not kept: the decoder stays as it is.

    python3 encoder.py --work WORK --minutes 9.5 --to ../../models/demo-diffusion

Two things teach it: scenes, which must come back from the decoder as they were, and latents that the model drew from
captions, which must come back from their pictures. The second keeps it in the space that the denoiser knows: a decoder alone
may take several latents for one picture. Resumes from WORK; --seconds ends one part of the training earlier.
"""

import argparse
import math
import random
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from onnx import numpy_helper

import export
import grammar
import scenes
import schedule
import tokenizer as tokenizer_module
import vae
from layers import fast_bfloat16, set_compute

PAIRS = 384


def exported_decoder(folder):
    """The decoder of the exported graph, taking latents of unit variance."""
    weights = {}
    for tensor in onnx.load(str(folder / "vae_decoder" / "model.onnx")).graph.initializer:
        name = tensor.name.removesuffix("_fp16")
        if name.startswith("decoder."):
            weights[name.removeprefix("decoder.")] = torch.from_numpy(numpy_helper.to_array(tensor).astype(np.float32))
    decoder = vae.Decoder()
    decoder.load_state_dict(weights)
    with torch.no_grad():
        decoder.into.weight.div_(vae.SCALING_FACTOR)
    return decoder.requires_grad_(False)


def draw_latents(folder, count, seed, steps=20, guidance=2.0, batch=8):
    """[count,4,32,32]: what the exported graphs draw from captions of random scenes."""
    tokenizer = tokenizer_module.Tokenizer.load(folder / "tokenizer")
    graphs = [onnxruntime.InferenceSession(str(folder / name / "model.onnx")) for name in ("text_encoder", "unet")]
    embed = lambda texts: graphs[0].run(  # noqa: E731
        ["last_hidden_state"], {"input_ids": np.array([tokenizer.encode(t) for t in texts], np.int32)}
    )[0]
    rng, drawn = random.Random(f"{seed} pairs"), []
    while len(drawn) * batch < count:
        captions = [grammar.caption(scenes.sample_scene(rng), rng).text for _ in range(batch)]
        states = np.concatenate([np.repeat(embed([""]), batch, 0), embed(captions)])
        x = torch.cat([schedule.initial_noise(rng.randrange(2**32), 256, 256) for _ in range(batch)])
        for t in schedule.trailing_timesteps(steps):
            inputs = {"sample": torch.cat([x, x]).numpy(), "timestep": np.array(t, np.float32), "encoder_hidden_states": states}
            without, with_text = torch.from_numpy(graphs[1].run(["out_sample"], inputs)[0]).chunk(2)
            x = schedule.ddim_step(without + guidance * (with_text - without), t, x, steps)
        drawn.append(x)
    return torch.cat(drawn)[:count]


def pairs_of(work, folder, decoder, seed, log):
    """(latents, the pictures that the decoder makes of them), kept in `work`."""
    path = work / "pairs.pt"
    if not path.exists():
        latents = draw_latents(folder, PAIRS, seed)
        with torch.no_grad():
            pictures = torch.cat([torch.from_numpy(vae.to_pictures(decoder(z[None]))) for z in latents])
        torch.save((latents, pictures), path)
        log(f"{len(latents)} latents drawn, rms {latents.square().mean(dim=(0, 2, 3)).sqrt().tolist()}")
    return torch.load(path)


def cut(latents, pictures, rng, size=vae.CROP // 8):
    """A piece of a random pair."""
    k, y, x = rng.randrange(len(latents)), rng.randrange(33 - size), rng.randrange(33 - size)
    return (
        latents[k, :, y : y + size, x : x + size],
        pictures[k, 8 * y : 8 * (y + size), 8 * x : 8 * (x + size)],
    )


def loss_of(encoder, decoder, target, latent, drawn):
    """Both tasks in one pass; of the drawn latents, the outer ring lacks the surroundings that its picture had."""
    encoded = encoder(torch.cat([target, drawn]))
    scene, pair = encoded[: len(target)], encoded[len(target) :]
    drawing = vae.reconstruction_loss(decoder(scene), target)
    inner = (..., slice(2, -2), slice(2, -2))
    return drawing, F.l1_loss(pair[inner], latent[inner])


def train(work, decoder, pairs, args, log):
    path = work / "encoder.pt"
    torch.manual_seed(args.seed)
    encoder, average = (vae.Encoder().to(memory_format=torch.channels_last) for _ in range(2))
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=args.peak, betas=(0.9, 0.99), weight_decay=1e-4)
    step, spent = 0, 0.0
    if path.exists():
        state = torch.load(path)
        for part, name in ((encoder, "encoder"), (average, "average"), (optimiser, "optimiser")):
            part.load_state_dict(state[name])
        step, spent = state["step"], state["spent"]
    started, losses = time.time(), []
    used = lambda: spent + time.time() - started  # noqa: E731
    set_compute(torch.bfloat16 if fast_bfloat16() else None)
    while used() < 60 * args.minutes and time.time() - started < args.seconds:
        done = used() / (60 * args.minutes)
        for group in optimiser.param_groups:
            group["lr"] = args.peak * min(1, (step + 1) / 200) * (0.5 + 0.5 * math.cos(math.pi * done)) + 1e-6
        rng = random.Random(f"{args.seed} encoder {step}")
        target = vae.to_tensor(np.stack([vae.random_crop(rng) for _ in range(args.batch)]))
        latent, drawn = (torch.stack(part) for part in zip(*[cut(*pairs, rng) for _ in range(args.batch // 2)]))
        drawing, reading = loss_of(encoder, decoder, target, latent, vae.to_tensor(drawn.numpy()))
        optimiser.zero_grad(set_to_none=True)
        (drawing + 0.1 * reading).backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimiser.step()
        step += 1
        with torch.no_grad():
            for old, new in zip(average.state_dict().values(), encoder.state_dict().values()):
                if old.is_floating_point():
                    old.lerp_(new, 1 - min(0.998, step / (step + 10)))
                else:
                    old.copy_(new)
        losses.append((drawing.item(), reading.item()))
        if step % 100 == 0:
            a, b = np.mean(losses[-100:], 0)
            log(f"encoder step {step} {used() / 60:.1f} min pictures {a:.4f} latents {b:.4f}")
    state = {"encoder": encoder.state_dict(), "average": average.state_dict(), "optimiser": optimiser.state_dict()}
    torch.save({**state, "step": step, "spent": used()}, path)
    set_compute(None)
    return average.eval()


@torch.no_grad()
def evaluate(encoder, decoder, pairs, log, count=64):
    """Mean differences of 255: of unseen scenes at several sizes, and of the last of the drawn pictures."""
    for size in (192, 256, 384, 512):
        rng, values = random.Random(f"vae eval {size}"), []
        for _ in range(count):
            picture = scenes.render(scenes.sample_scene(rng), size, size)[None]
            back = vae.to_pictures(decoder(encoder(vae.to_tensor(picture))))
            values.append(np.abs(back.astype(int) - picture).mean())
        log(f"scenes of {size}x{size}: mean difference {np.mean(values):.2f} of 255, worst picture {max(values):.2f}")
    latents, pictures = (part[-count:] for part in pairs)
    encoded = torch.cat([encoder(vae.to_tensor(p[None].numpy())) for p in pictures])
    back = np.concatenate([vae.to_pictures(decoder(z[None])) for z in encoded])
    apart = np.abs(back.astype(int) - pictures.numpy()).mean(axis=(1, 2, 3))
    log(f"drawn pictures: mean difference {apart.mean():.2f} of 255, worst picture {apart.max():.2f};"
        f" latents {(encoded - latents).abs().mean():.3f}, rms {encoded.square().mean().sqrt():.2f} of {latents.square().mean().sqrt():.2f}")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True, help="the exported model, which gets the encoder")
    parser.add_argument("--minutes", type=float, default=9.5)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="the time of this part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--peak", type=float, default=2e-3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    say = lambda line: print(time.strftime("%H:%M:%S"), line, flush=True)  # noqa: E731
    decoder = exported_decoder(args.to)
    pairs = pairs_of(args.work, args.to, decoder, args.seed, say)
    # The last ones are for the evaluation.
    encoder = train(args.work, decoder, [part[:-64] for part in pairs], args, say)
    evaluate(encoder, decoder, pairs, say)
    export.write_encoder(args.to, encoder)

"""demo-diffusion as it is exported, for training what is added to it: its UNet in torch with the weights of its graph, and its
text encoder and VAE encoder as graphs.
"""

import random
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper

sys.path.append(str(Path(__file__).resolve().parent.parent / "diffusion"))
import scenes  # noqa: E402
import schedule  # noqa: E402
import tokenizer as tokenizer_module  # noqa: E402
import vae  # noqa: E402
from unet import UNet  # noqa: E402

MODEL = Path(__file__).resolve().parent.parent.parent / "models" / "demo-diffusion"


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options)


class Frozen(UNet):
    """The UNet, whose first part is run by its graph where nothing in it learns: that is faster."""

    def __init__(self):
        super().__init__()
        model = onnx.load(str(MODEL / "unet" / "model.onnx"))
        graph = model.graph
        reader = next(node for node in graph.node if "timestep" in node.input)
        reader.op_type, _ = "Identity", [reader.input.pop() for _ in reader.input[1:]]  # a timestep for each row
        graph.input[1].type.tensor_type.shape.dim.add().dim_param = "batch_size"
        joined = next(node for node in graph.node if node.name == "/skip/Concat")
        self.values = [*reversed(joined.input)]
        del graph.output[:]
        graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in self.values)
        self.graph = session(model.SerializeToString())

    def front(self, sample, timestep, _x, text, *_):
        inputs = {"sample": sample, "timestep": timestep.float(), "encoder_hidden_states": text}
        found = self.graph.run(self.values, {name: value.numpy() for name, value in inputs.items()})
        return [torch.from_numpy(value).permute(0, 2, 3, 1) for value in found]


def unet():
    """The frozen UNet. Linear layers without a name in the graph are found by the node that multiplies with them."""
    graph = onnx.load(str(MODEL / "unet" / "model.onnx")).graph
    arrays = {t.name.removesuffix("_fp16"): numpy_helper.to_array(t).astype(np.float32) for t in graph.initializer}
    weights = {name.removeprefix("unet."): array for name, array in arrays.items() if name.startswith("unet.")}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in arrays:
            weights[".".join(node.name.split("/")[1:-1]) + ".weight"] = arrays[node.input[1]].T.copy()
    model = Frozen()
    weights["skip.weight"] = weights["skip.weight"][:, -model.config["outer"] :]  # beside it stands that of what it is added to
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return model.to(memory_format=torch.channels_last).eval().requires_grad_(False)


class Reader:
    """Texts -> text vectors, without the padding that all of them have."""

    def __init__(self):
        self.tokenizer = tokenizer_module.Tokenizer.load(MODEL / "tokenizer")
        self.graph = session(MODEL / "text_encoder" / "model.onnx")

    def __call__(self, texts):
        ids = [self.tokenizer.encode(text) for text in texts]
        longest = max(i.index(self.tokenizer.end) + 1 for i in ids)
        states = self.graph.run(["last_hidden_state"], {"input_ids": np.array(ids, np.int32)[:, :longest]})[0]
        return torch.from_numpy(states)


def encode(pictures):
    """uint8 [B,H,W,3] -> latents of unit variance."""
    graph = session(MODEL / "vae_encoder" / "model.onnx")
    parts = [graph.run(None, {"sample": vae.to_tensor(p).numpy()})[0][:, :4] for p in np.array_split(pictures, max(1, len(pictures) // 16))]
    return torch.from_numpy(np.concatenate(parts)) * vae.SCALING_FACTOR


def decode(latents):
    """uint8 [B,H,W,3]"""
    graph = session(MODEL / "vae_decoder" / "model.onnx")
    drawn = graph.run(None, {"latent_sample": (latents / vae.SCALING_FACTOR).numpy()})[0]
    return vae.to_pictures(torch.from_numpy(drawn))


@torch.no_grad()
def draw(predict, reader, prompts, seeds, size=(256, 256), steps=20, guidance=2.0):
    """DDIM; `predict` is called with the sample, timesteps and text vectors of twice as many rows, those without text first."""
    x = torch.cat([schedule.initial_noise(seed, *size) for seed in seeds])
    said = reader([*([""] * len(prompts)), *prompts])
    for t in schedule.trailing_timesteps(steps):
        without, with_text = predict(torch.cat([x, x]), torch.full((2 * len(x),), float(t)), said).chunk(2)
        x = schedule.ddim_step(without + guidance * (with_text - without), t, x, steps)
    return decode(x)


def timesteps(rng, count):
    """A third evenly spread, the others where layout and colours are decided."""
    return torch.tensor([rng.randrange(1000) if rng.random() < 0.35 else rng.randrange(400, 1000) for _ in range(count)])


def sheet(rows, path):
    """Rows of pictures of one size, as a file."""
    from PIL import Image

    Image.fromarray(np.concatenate([np.concatenate(list(row), 1) for row in rows], 0)).save(path)


def seeded(*words):
    return random.Random(" ".join(map(str, words)))


__all__ = ["MODEL", "Reader", "decode", "draw", "encode", "schedule", "scenes", "seeded", "sheet", "timesteps", "unet"]

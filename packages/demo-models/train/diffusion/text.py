"""The text encoder: token ids -> one vector per token, behind the signature of CLIP's text model.

Inside it is a small bidirectional transformer (CLIP's is causal: "a circle that is red" would leave "circle" ignorant of
"red"). Everything after the first end token is padding: the mask is computed from the ids inside the graph, and padding
rows of `last_hidden_state` are exactly zero, by which the UNet knows to ignore them. So sequences can be cut to the
longest of a batch in training and padded to 77 in use, with the same result.

It starts with a schooling of its own: from each token's vector, small linear heads must tell what the text says about
the thing that the token belongs to (its group's shape, colour, size, count and place; the background's colours). That is
many times cheaper than learning to read by drawing, and is most of what binds the right colour to the right object.
The heads are dropped from the export.
"""

import random
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import grammar
import scenes
from layers import Linear, attend, fast_bfloat16, set_compute
from tokenizer import LENGTH

WIDTH, LAYERS, HEADS = 128, 4, 4

# What a token's vector must tell, with the number of answers; 0 always means "the text does not say".
GROUP_HEADS = {"shape": 9, "colour": 13, "size": 4, "count": 4, "x": 6, "y": 6}
GROUND_HEADS = {"kind": 5, "first": 13, "second": 13}
IGNORE = -100


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = Linear(width, 3 * width)
        self.out = Linear(width, width)

    def forward(self, x, bias):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(attend(q, k, v, bias).transpose(1, 2).reshape(b, n, c))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(Linear(width, 4 * width), nn.GELU(), Linear(4 * width, width))

    def forward(self, x, bias):
        x = x + self.attention(self.norm1(x), bias)
        return x + self.mlp(self.norm2(x))


class TextEncoder(nn.Module):
    def __init__(self, vocabulary, end):
        super().__init__()
        self.end = end
        self.token = nn.Embedding(vocabulary, WIDTH)
        self.position = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        nn.init.normal_(self.token.weight, std=0.05)
        self.layers = nn.ModuleList(Layer(WIDTH, HEADS) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, ids):
        """(last_hidden_state [B,N,WIDTH], pooler_output [B,WIDTH]: the vector of the first end token)."""
        is_end = (ids == self.end).long()
        valid = is_end.cumsum(1) - is_end == 0  # up to and including the first end token
        bias = (~valid).float()[:, None, None, :] * -1e4
        x = self.token(ids) + self.position[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, bias)
        x = self.norm(x) * valid.float()[:, :, None]
        return x, (x * (is_end * valid)[:, :, None].float()).sum(1)


# ---------------------------------------------------------------- schooling


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.group = nn.ModuleDict({k: nn.Linear(WIDTH, n) for k, n in GROUP_HEADS.items()})
        self.ground = nn.ModuleDict({k: nn.Linear(WIDTH, n) for k, n in GROUND_HEADS.items()})

    def loss(self, states, targets):
        """targets: long [B,N,9], IGNORE where a head has nothing to tell. Returns (mean loss, share right)."""
        total, right, asked = 0.0, 0, 0
        heads = [*self.group.values(), *self.ground.values()]
        for i, head in enumerate(heads):
            target = targets[:, :, i]
            rows = target != IGNORE
            answer, target = head(states[rows]), target[rows]
            total = total + F.cross_entropy(answer, target)
            right += (answer.argmax(-1) == target).sum().item()
            asked += len(target)
        return total / len(heads), right / max(1, asked)


def place_codes(relation, group, groups):
    """(x, y) place of a group within a relation: 0 unsaid, 1 low, 2 middle, 3 high, 4 alongside, 5 between."""
    if relation is None and groups == 1:  # by convention in the middle
        return 2, 2
    kind = relation["kind"] if relation else "row"  # by convention in the order of mention, from left to right
    if kind == "at":
        return relation["place"][0] + 2, relation["place"][1] + 2
    if kind == "between":
        return (5 if group == 0 else 4), 0
    if kind == "beside":
        return 4, 0
    code = 4 if groups == 1 else {2: (1, 3), 3: (1, 2, 3)}[groups][group]
    return (code, 0) if kind in ("left", "row") else (0, code)


def targets_of(spec, tags):
    """What each token's vector must tell: int64 [tokens, 9]."""
    answers = np.full((len(tags), len(GROUP_HEADS) + len(GROUND_HEADS)), IGNORE, np.int64)
    index = lambda names, name: 0 if name is None else 1 + names.index(name)  # noqa: E731
    groups = [
        (
            index(scenes.SHAPES, g["shape"]),
            index(scenes.COLOURS, g["colour"]),
            index(list(scenes.SIZES), g["size"]),
            g["count"] or 0,
            *place_codes(spec["relation"], i, len(spec["groups"])),
        )
        for i, g in enumerate(spec["groups"])
    ]
    ground = spec["background"]
    if ground is None:
        backdrop = (0, 0, 0)
    else:
        colours = [index(scenes.COLOURS, c) for c in ground["colours"]]
        backdrop = (1 + ["plain", "rows", "columns", "split"].index(ground["kind"]), colours[0], colours[-1])
    for i, tag in enumerate(tags):
        if tag == grammar.GROUND or i == 0 or i == len(tags) - 1:  # start and end know the background, too
            answers[i, len(GROUP_HEADS) :] = backdrop
        elif tag is not None:
            answers[i, : len(GROUP_HEADS)] = groups[tag]
    return answers


def batch_captions(captions, tokenizer):
    """(ids [B,longest], targets [B,longest,9]) of a list of Captions; None is the empty prompt."""
    rows, answers = [], []
    for said in captions:
        if said is None:
            ids, tags = tokenizer.encode_tagged([])
            target = np.full((len(ids), len(GROUP_HEADS) + len(GROUND_HEADS)), IGNORE, np.int64)
        else:
            ids, tags = tokenizer.encode_tagged(said.pieces)
            target = targets_of(said.spec, tags)
        rows.append(ids)
        answers.append(target)
    longest = max(map(len, rows))
    ids = np.full((len(rows), longest), tokenizer.end, np.int64)
    targets = np.full((len(rows), longest, answers[0].shape[1]), IGNORE, np.int64)
    for i, (row, answer) in enumerate(zip(rows, answers)):
        ids[i, : len(row)] = row
        targets[i, : len(row)] = answer
    return torch.from_numpy(ids), torch.from_numpy(targets)


def train(path, tokenizer, minutes, steps, seed, log, device="cpu", batch=256, peak=1.5e-3):
    """Schooling until `steps` or the time is up; resumable from `path`."""
    torch.manual_seed(seed)
    model, heads = TextEncoder(len(tokenizer.vocab), tokenizer.end).to(device), Heads().to(device)
    parameters = [*model.parameters(), *heads.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=peak, betas=(0.9, 0.98), weight_decay=0.01)
    step, spent = 0, 0.0
    if path.exists():
        state = torch.load(path, map_location=device)
        model.load_state_dict(state["model"])
        heads.load_state_dict(state["heads"])
        optimiser.load_state_dict(state["optimiser"])
        step, spent = state["step"], state["spent"]
    started = saved = time.time()

    def save():
        state = {"model": model.state_dict(), "heads": heads.state_dict(), "optimiser": optimiser.state_dict()}
        torch.save({**state, "step": step, "spent": spent + time.time() - started}, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").rename(path)

    set_compute(torch.bfloat16 if fast_bfloat16() else None)
    while True:
        done = max(step / steps, (spent + time.time() - started) / (60 * minutes))
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = peak * min(1, (step + 1) / 200) * (0.5 + 0.5 * np.cos(np.pi * done)) + 1e-6
        rng = random.Random(f"{seed} text {step}")
        said = [grammar.caption(scenes.sample_scene(rng), rng) for _ in range(batch)]
        ids, targets = (t.to(device) for t in batch_captions(said, tokenizer))
        loss, right = heads.loss(model(ids)[0], targets)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        step += 1
        if step % 50 == 0:
            used = spent + time.time() - started
            log(f"text step {step} {used / 60:.1f} min loss {loss.item():.4f} right {right:.4f}")
        if time.time() - saved > 180:
            saved = time.time()
            save()
    save()
    log(f"text done: {step} steps")


def load(path, tokenizer, device="cpu"):
    """(encoder, heads)"""
    model, heads = TextEncoder(len(tokenizer.vocab), tokenizer.end).to(device), Heads().to(device)
    state = torch.load(path, map_location=device)
    model.load_state_dict(state["model"])
    heads.load_state_dict(state["heads"])
    return model, heads

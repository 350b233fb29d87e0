"""The states of weighted and long prompts, computed in torch by the arithmetic that AUTOMATIC1111's web UI publishes, and by compel where
both are equal: long prompts without weights, and earlier layers. make_fixtures.py writes them into the fixture `prompts`; that one also needs compel (2.5.1),
which no bench uses.

A case gives its chunks as texts with weights, and so depends on no parser. A chunk has 75 tokens; start and end of the text are around it.
"""

import json
import shutil
from pathlib import Path

import torch

LENGTH = 75
# 74 tokens: the tokenizers of the fixtures have one for each letter.
LETTERS = "ab " * 37


def case(name, prompt, chunks, skip=None, compel=False):
    return dict(name=name, prompt=prompt, chunks=chunks, clip_skip=skip, compel=compel)


CASES = [
    case("emphasis", "a (red:1.4) [circle] on ((blue)), (sea:0.3)",
         [[["a ", 1], ["red", 1.4], [" ", 1], ["circle", 1 / 1.1], [" on ", 1], ["blue", 1.1 * 1.1], [", ", 1], ["sea", 0.3]]]),
    case("plain", "a red circle", [[["a red circle", 1]]]),
    case("break", "a cat BREAK (a dog:1.3)", [[["a cat", 1]], [["a dog", 1.3]]]),
    case("long", f"{LETTERS}c {LETTERS}c fox", [[[f"{LETTERS}c", 1]], [[f"{LETTERS}c", 1]], [["fox", 1]]], compel=True),
    # The comma is the 66th token, and what follows it moves into the next chunk.
    case("comma", f"{'ab ' * 32}c, (defghijklmno:1.2) pq", [[[f"{'ab ' * 32}c, ", 1]], [["defghijklmno", 1.2], [" pq", 1]]]),
    case("skip", "a (red:1.4) circle", [[["a ", 1], ["red", 1.4], [" circle", 1]]], skip=3),
    case("skip-plain", "a red circle", [[["a red circle", 1]]], skip=2, compel=True),
]


def tokens_of(tokenizer, chunk):
    """The ids of a chunk, padded, and the weight of each."""
    ids, weights = [tokenizer.bos_token_id], [1.0]
    for text, weight in chunk:
        own = tokenizer(text, add_special_tokens=False)["input_ids"]
        ids += own
        weights += [weight] * len(own)
    ids.append(tokenizer.eos_token_id)
    missing = LENGTH + 2 - len(ids)
    assert missing >= 0, chunk
    ids += [tokenizer.pad_token_id] * missing
    return torch.tensor([ids]), torch.tensor(weights + [1.0] * (LENGTH + 2 - len(weights)))


def states_of(encoder, tokenizer, chunks, skip, is_xl):
    """[77 x chunks, width], and the pooled state of the first chunk."""
    parts, pooled = [], None
    for chunk in chunks:
        ids, weights = tokens_of(tokenizer, chunk)
        with torch.no_grad():
            out = encoder(ids, output_hidden_states=True)
            layer = out.hidden_states[-(skip or (2 if is_xl else 1))]
            states = layer if is_xl else encoder.text_model.final_layer_norm(layer)
        mean = states.mean()
        states = states * weights[None, :, None]
        states = states * (mean / states.mean())
        parts.append(states[0])
        if pooled is None:
            pooled = getattr(out, "text_embeds", [None])[0]
    return torch.cat(parts), pooled


def embeddings(pipeline, each):
    """What diffusers is given of a case with the prompt of one of CASES: the states of its prompt and of its negative prompt, which is plain."""
    chunks = next(known["chunks"] for known in CASES if known["prompt"] == each["prompt"])
    skip = each.get("clipSkip")
    states, pooled = states_of_all(pipeline, chunks, skip)
    negative, negative_pooled = states_of_all(pipeline, [[[each["negative_prompt"], 1]]], skip)
    # diffusers wants both of one length. Attention over keys that are all repeated equally often is the same attention.
    given = dict(prompt_embeds=states[None], negative_prompt_embeds=negative.repeat(len(chunks), 1)[None])
    return given if pooled is None else dict(given, pooled_prompt_embeds=pooled, negative_pooled_prompt_embeds=negative_pooled)


def states_of_all(pipeline, chunks, skip):
    """Of all text encoders of a pipeline, side by side, and the pooled state of SDXL's second one."""
    pairs = [(getattr(pipeline, f"text_encoder{n}", None), getattr(pipeline, f"tokenizer{n}", None)) for n in ("", "_2")]
    pairs = [pair for pair in pairs if pair[0] is not None]
    is_xl = getattr(pipeline, "text_encoder_2", None) is not None
    made = [states_of(*pair, chunks, skip, is_xl) for pair in pairs]
    return torch.cat([states for states, _ in made], dim=-1), made[-1][1] if is_xl else None


def by_compel(pipeline, prompt, skip):
    from compel import Compel, ReturnedEmbeddingsType as Type

    kind = Type.LAST_HIDDEN_STATES_NORMALIZED if skip is None else Type.PENULTIMATE_HIDDEN_STATES_NORMALIZED
    compel = Compel(pipeline.tokenizer, pipeline.text_encoder, truncate_long_prompts=False, returned_embeddings_type=kind)
    with torch.no_grad():
        return compel(prompt)[0]


def make(pipelines, out: Path) -> None:
    """`pipelines` by name; SDXL's has two encoders."""
    shutil.rmtree(out, ignore_errors=True)
    for base, pipeline in pipelines.items():
        (out / base).mkdir(parents=True)
        is_xl = getattr(pipeline, "text_encoder_2", None) is not None
        for each in CASES:
            if is_xl and each["clip_skip"] == 2:
                continue
            states, pooled = states_of_all(pipeline, each["chunks"], each["clip_skip"])
            if each["compel"] and base == "sd15":
                theirs = by_compel(pipeline, each["prompt"], each["clip_skip"])
                distance = float((theirs - states).abs().max())
                print(base, each["name"], "distance to compel", distance)
                assert distance <= 1e-5
            states.float().numpy().astype("<f4").tofile(out / base / f"{each['name']}.f32")
            if is_xl:
                pooled.float().numpy().astype("<f4").tofile(out / base / f"{each['name']}.pooled.f32")
    cases = [{key: each[key] for key in ("name", "prompt", "clip_skip")} | {"chunks": len(each["chunks"])} for each in CASES]
    (out / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")

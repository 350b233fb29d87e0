"""The three Whisper graphs, written node by node in the form Hugging Face Optimum gives them.

No tracing: the result is the same on every torch, each weight is stored once, as float16, and cast to float32 by the
graph (a runtime folds the cast when it loads). The merged decoder is one `If` on `use_cache_branch`; both branches take
their weights from the outer graph.

In the with-past branch `present.*.encoder.*` are empty tensors [0, heads, 1, width / heads], as Optimum's are: the caller
keeps the ones of the first call.
"""

from __future__ import annotations

import math

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from model import Config, Whisper

OPSET = 17
PRODUCER = "lehr-demo-models"
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Weights:
    """Float16 initializers and the casts that widen them, shared by every graph that lies inside."""

    def __init__(self) -> None:
        self.initializers: list[onnx.TensorProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self._made: set[str] = set()

    def tensor(self, name: str, value: torch.Tensor) -> str:
        if name not in self._made:
            self._made.add(name)
            half = value.detach().float().cpu().numpy().astype(np.float16)
            assert np.isfinite(half).all(), f"{name} does not fit float16"
            self.initializers.append(numpy_helper.from_array(half, name + ".f16"))
            self.nodes.append(helper.make_node("Cast", [name + ".f16"], [name], name=name + ".widen", to=FLOAT))
        return name

    def constant(self, name: str, value: np.ndarray) -> str:
        if name not in self._made:
            self._made.add(name)
            self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def transposed(self, name: str, source: str) -> str:
        if name not in self._made:
            self._made.add(name)
            self.nodes.append(helper.make_node("Transpose", [source], [name], name=name + ".turn", perm=[1, 0]))
        return name


class Builder:
    """Nodes of one (sub)graph. `path` keeps names unique between the branches."""

    def __init__(self, weights: Weights, path: str = "") -> None:
        self.w, self.path = weights, path
        self.nodes: list[onnx.NodeProto] = []

    def op(self, kind: str, *inputs: str, out: str | None = None, **attributes) -> str:
        out = out or f"{self.path}{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=f"{out}.{kind}", **attributes))
        return out

    def split(self, x: str, parts: int) -> list[str]:
        outs = [f"{self.path}Split_{len(self.nodes)}_{k}" for k in range(parts)]
        self.nodes.append(helper.make_node("Split", [x], outs, name=outs[0], axis=-1))
        return outs

    def ints(self, *values: int) -> str:
        return self.w.constant("ints." + "_".join(map(str, values)), np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        return self.w.constant(f"scalar.{value:.6g}", np.array(value, np.float32))

    def size(self, x: str, axis: int) -> str:
        """One dimension, as a tensor [1]."""
        return self.op("Gather", self.op("Shape", x), self.ints(axis), axis=0)

    def index(self, n: str) -> str:
        """[1] to a scalar, for Range."""
        return self.op("Squeeze", n, self.ints(0))

    # --- layers -------------------------------------------------------------------------------------------------

    def linear(self, x: str, name: str, weight: torch.Tensor, bias: torch.Tensor | None) -> str:
        y = self.op("MatMul", x, self.w.tensor(name + ".weight", weight.t()))
        return y if bias is None else self.op("Add", y, self.w.tensor(name + ".bias", bias))

    def norm(self, x: str, name: str, layer: torch.nn.LayerNorm) -> str:
        scale, shift = self.w.tensor(name + ".weight", layer.weight), self.w.tensor(name + ".bias", layer.bias)
        return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=layer.eps)

    def gelu(self, x: str) -> str:
        erf = self.op("Erf", self.op("Div", x, self.scalar(math.sqrt(2))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.scalar(1.0))), self.scalar(0.5))

    def ffn(self, x: str, name: str, layer) -> str:
        up = self.gelu(self.linear(x, name + ".fc1", layer.up.weight, layer.up.bias))
        return self.linear(up, name + ".fc2", layer.down.weight, layer.down.bias)

    def heads(self, x: str, c: Config, out: str | None = None) -> str:
        """[batch, length, width] to [batch, heads, length, width / heads]."""
        shaped = self.op("Reshape", x, self.ints(0, 0, c.heads, c.width // c.heads))
        return self.op("Transpose", shaped, perm=[0, 2, 1, 3], **({"out": out} if out else {}))

    def attend(self, q: str, k: str, v: str, c: Config, mask: str | None = None, weights_out: str | None = None) -> str:
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
        if mask:
            scores = self.op("Add", scores, mask)
        weights = self.op("Softmax", scores, axis=-1, **({"out": weights_out} if weights_out else {}))
        mixed = self.op("Transpose", self.op("MatMul", weights, v), perm=[0, 2, 1, 3])
        return self.op("Reshape", mixed, self.ints(0, 0, c.width))


def _qkv(attention, c: Config) -> tuple[torch.Tensor, torch.Tensor]:
    """The fused projection with the score scale folded into the query (1/8: exact) and the idle key bias dropped."""
    weight, bias = attention.qkv.weight.detach().clone(), attention.qkv.bias.detach().clone()
    scale = (c.width // c.heads) ** -0.5
    weight[: c.width] *= scale
    bias[: c.width] *= scale
    bias[c.width : 2 * c.width] = 0
    return weight, bias


def _info(name: str, kind: int, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))


def _model(nodes, name: str, inputs, outputs, weights: Weights) -> onnx.ModelProto:
    graph = helper.make_graph([*weights.nodes, *nodes], name, inputs, outputs, weights.initializers)
    made = helper.make_model(graph, producer_name=PRODUCER, opset_imports=[helper.make_opsetid("", OPSET)])
    made.ir_version = 8
    onnx.checker.check_model(made, full_check=True)
    return made


# --- encoder ----------------------------------------------------------------------------------------------------


def encoder(model: Whisper) -> onnx.ModelProto:
    c, weights = model.config, Weights()
    b = Builder(weights)
    x = "input_features"
    for name, conv in (("conv1", model.conv1), ("conv2", model.conv2)):
        kernel, bias = weights.tensor(name + ".weight", conv.weight), weights.tensor(name + ".bias", conv.bias)
        x = b.gelu(b.op("Conv", x, kernel, bias, kernel_shape=[3], pads=[1, 1], strides=[conv.stride[0]]))
    x = b.op("Transpose", x, perm=[0, 2, 1])
    # Sliced, so that a shorter window than the chunk is accepted too.
    positions = weights.tensor("embed_positions.weight", model.source_positions)
    x = b.op("Add", x, b.op("Slice", positions, b.ints(0), b.size(x, 1), b.ints(0)))
    for i, layer in enumerate(model.encoder_layers):
        name = f"layers.{i}"
        parts = b.split(b.linear(b.norm(x, name + ".self_attn_layer_norm", layer.attn_norm), name + ".self_attn.qkv",
                                 *_qkv(layer.attn, c)), 3)  # fmt: skip
        mixed = b.attend(*(b.heads(part, c) for part in parts), c)
        x = b.op("Add", x, b.linear(mixed, name + ".self_attn.out_proj", layer.attn.out.weight, layer.attn.out.bias))
        x = b.op("Add", x, b.ffn(b.norm(x, name + ".final_layer_norm", layer.ffn_norm), name, layer.ffn))
    scale, shift = weights.tensor("layer_norm.weight", model.encoder_norm.weight), weights.tensor("layer_norm.bias", model.encoder_norm.bias)
    b.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=model.encoder_norm.eps, out="last_hidden_state")
    return _model(
        b.nodes, "encoder", [_info("input_features", FLOAT, "batch_size", c.mel_bins, "encoder_sequence_length")],
        [_info("last_hidden_state", FLOAT, "batch_size", "encoder_sequence_length / 2", c.width)], weights,
    )  # fmt: skip


# --- decoder ----------------------------------------------------------------------------------------------------

SIDES = [("decoder", "key"), ("decoder", "value"), ("encoder", "key"), ("encoder", "value")]


def _branch(model: Whisper, weights: Weights, with_past: bool, path: str, cross_attentions: bool) -> tuple[list, dict[str, str]]:
    """The nodes of one branch, and for every graph output the name of the tensor that holds it (none: not made here)."""
    c, b = model.config, Builder(weights, path)
    outputs: dict[str, str] = {"logits": path + "logits"}
    length = b.size("input_ids", 1)
    past = b.size("past_key_values.0.decoder.key", 2) if with_past else b.ints(0)
    total = b.op("Add", past, length)
    embedding = weights.tensor("embed_tokens.weight", model.tokens.weight)
    positions = weights.tensor("embed_positions.weight", model.target_positions)
    x = b.op("Add", b.op("Gather", embedding, "input_ids", axis=0), b.op("Slice", positions, past, total, b.ints(0)))
    # A token sees the past and itself: column <= past + row.
    one, none = b.w.constant("index.1", np.array(1, np.int64)), b.w.constant("index.0", np.array(0, np.int64))
    columns = b.op("Range", none, b.index(total), one)
    rows = b.op("Unsqueeze", b.op("Range", b.index(past), b.index(total), one), b.ints(1))
    mask = b.op("Where", b.op("Greater", columns, rows), b.scalar(-1e9), b.scalar(0.0))
    for i, layer in enumerate(model.decoder_layers):
        name = f"layers.{i}"
        present = {side: f"{path}present.{i}.{'.'.join(side)}" for side in SIDES}

        normed = b.norm(x, name + ".self_attn_layer_norm", layer.attn_norm)
        q, k, v = b.split(b.linear(normed, name + ".self_attn.qkv", *_qkv(layer.attn, c)), 3)
        fresh = {"key": k, "value": v}
        for half, tensor in fresh.items():
            if with_past:
                b.op("Concat", f"past_key_values.{i}.decoder.{half}", b.heads(tensor, c), axis=2, out=present["decoder", half])
            else:
                b.heads(tensor, c, out=present["decoder", half])
        mixed = b.attend(b.heads(q, c), present["decoder", "key"], present["decoder", "value"], c, mask)
        x = b.op("Add", x, b.linear(mixed, name + ".self_attn.out_proj", layer.attn.out.weight, layer.attn.out.bias))

        cross, scale = layer.cross, (c.width // c.heads) ** -0.5
        normed = b.norm(x, name + ".encoder_attn_layer_norm", layer.cross_norm)
        q = b.heads(b.linear(normed, name + ".encoder_attn.q_proj", cross.q.weight * scale, cross.q.bias * scale), c)
        if with_past:
            source = {half: f"past_key_values.{i}.encoder.{half}" for half in ("key", "value")}
        else:
            key_weight, value_weight = cross.kv.weight.chunk(2)
            b.heads(b.linear("encoder_hidden_states", name + ".encoder_attn.k_proj", key_weight, None), c, out=present["encoder", "key"])
            b.heads(b.linear("encoder_hidden_states", name + ".encoder_attn.v_proj", value_weight, cross.kv.bias.chunk(2)[1]), c,
                    out=present["encoder", "value"])  # fmt: skip
            source = {half: present["encoder", half] for half in ("key", "value")}
        seen = f"{path}cross_attentions.{i}"
        mixed = b.attend(q, source["key"], source["value"], c, weights_out=seen)
        x = b.op("Add", x, b.linear(mixed, name + ".encoder_attn.out_proj", cross.out.weight, cross.out.bias))
        x = b.op("Add", x, b.ffn(b.norm(x, name + ".final_layer_norm", layer.ffn_norm), name, layer.ffn))
        for side in SIDES:
            if side[0] == "decoder" or not with_past:
                outputs[f"present.{i}.{'.'.join(side)}"] = present[side]
        if cross_attentions:
            outputs[f"cross_attentions.{i}"] = seen
    x = b.norm(x, "layer_norm", model.decoder_norm)
    b.op("MatMul", x, weights.transposed("proj_out.weight", embedding), out=outputs["logits"])
    return b.nodes, outputs


def _decoder_outputs(c: Config, with_past: bool, merged: bool, cross_attentions: bool) -> list[onnx.ValueInfoProto]:
    head = c.width // c.heads
    grown = "past_decoder_sequence_length + decoder_sequence_length" if with_past or merged else "decoder_sequence_length"
    lengths = {"decoder": grown, "encoder": "encoder_sequence_length_out"}
    infos = [_info("logits", FLOAT, "batch_size", "decoder_sequence_length", c.vocab_size)]
    for i in range(c.decoder_layers):
        for side, half in SIDES:
            if side == "decoder" or merged or not with_past:
                batch = "batch_size" if side == "decoder" or not merged else "batch_size_or_0"
                infos.append(_info(f"present.{i}.{side}.{half}", FLOAT, batch, c.heads, lengths[side], head))
    if cross_attentions:
        infos += [_info(f"cross_attentions.{i}", FLOAT, "batch_size", c.heads, "decoder_sequence_length", "encoder_sequence_length / 2")
                  for i in range(c.decoder_layers)]  # fmt: skip
    return infos


def _past_inputs(c: Config) -> list[onnx.ValueInfoProto]:
    lengths = {"decoder": "past_decoder_sequence_length", "encoder": "encoder_sequence_length_out"}
    return [_info(f"past_key_values.{i}.{side}.{half}", FLOAT, "batch_size", c.heads, lengths[side], c.width // c.heads)
            for i in range(c.decoder_layers) for side, half in SIDES]  # fmt: skip


def _common_inputs(c: Config) -> list[onnx.ValueInfoProto]:
    return [_info("input_ids", INT64, "batch_size", "decoder_sequence_length"),
            _info("encoder_hidden_states", FLOAT, "batch_size", "encoder_sequence_length / 2", c.width)]  # fmt: skip


def merged_decoder(model: Whisper, cross_attentions: bool = False) -> onnx.ModelProto:
    c, weights = model.config, Weights()
    wanted = _decoder_outputs(c, False, True, cross_attentions)
    branches = {}
    for with_past, path in ((True, "with_past/"), (False, "no_past/")):
        nodes, made = _branch(model, weights, with_past, path, cross_attentions)
        outputs = []
        for info in wanted:
            if info.name not in made:
                made[info.name] = path + info.name
                empty = helper.make_tensor(made[info.name] + ".empty", FLOAT, [0, c.heads, 1, c.width // c.heads], [])
                nodes.append(helper.make_node("Constant", [], [made[info.name]], name=made[info.name], value=empty))
            outputs.append(helper.make_tensor_value_info(made[info.name], FLOAT, None))
        branches[with_past] = helper.make_graph(nodes, path.rstrip("/"), [], outputs)
    choose = helper.make_node("If", ["use_cache_branch"], [info.name for info in wanted], name="optimum::if",
                              then_branch=branches[True], else_branch=branches[False])  # fmt: skip
    inputs = [*_common_inputs(c), *_past_inputs(c), _info("use_cache_branch", BOOL, 1)]
    return _model([choose], "merged", inputs, wanted, weights)


def split_decoder(model: Whisper, with_past: bool, cross_attentions: bool = False) -> onnx.ModelProto:
    """decoder_model.onnx or decoder_with_past_model.onnx: the older layout of the same thing."""
    c, weights = model.config, Weights()
    nodes, _ = _branch(model, weights, with_past, "", cross_attentions)
    inputs = [_common_inputs(c)[0], *_past_inputs(c)] if with_past else _common_inputs(c)
    return _model(nodes, "decoder_with_past" if with_past else "decoder", inputs,
                  _decoder_outputs(c, with_past, False, cross_attentions), weights)  # fmt: skip


def rounded(model: Whisper) -> Whisper:
    """The model in place with float16 weights widened again: what the graphs compute, for comparing."""
    with torch.no_grad():
        for tensor in [*model.parameters(), model.source_positions]:
            tensor.copy_(tensor.half().float())
    return model

"""Whisper exports in the layout that onnx-community has on the hub: configs, and below `onnx` each graph in every precision.

The steps are those of transformers.js's conversion: Optimum exports, onnxslim simplifies, and each precision is made of the float32 graph.
`_fp16` and `_q4f16` keep inputs and outputs in float32, `_quantized` has unsigned weights where a graph has convolutions, and the
4-bit forms quantize products with constant matrices only.
"""

import shutil
from pathlib import Path

import onnx
import onnxslim
from onnxruntime.quantization import QuantizationMode, QuantType
from onnxruntime.quantization.matmul_bnb4_quantizer import MatMulBnb4Quantizer
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.quantization.onnx_quantizer import ONNXQuantizer
from onnxruntime.quantization.registry import IntegerOpsRegistry
from onnxruntime.transformers.float16 import convert_float_to_float16

import exports

GRAPHS = ("encoder_model", "decoder_model_merged")
# Of the weights in a protobuf, which may have 2 GiB; larger graphs keep theirs in a file beside them.
LARGEST = 2**31 - 2**24


def operators(graph) -> set:
    found = set()
    for node in graph.node:
        found.add(node.op_type)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found |= operators(attribute.g)
    return found


def branches(graph) -> list:
    return [attribute.g for node in graph.node for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]


def to_float16(model):
    # The same name has other types in the two branches, and the conversion takes the first that is recorded.
    for graph in [model.graph, *branches(model.graph)]:
        del graph.value_info[:]
    half = convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=True)
    # The outputs of the branches keep their names, as in transformers.js's conversion; ONNX Runtime's renames what makes them.
    casts = [node for node in half.graph.node if node.op_type == "Cast"]
    names = {node.input[0]: node.output[0] for node in casts if node.input[0].startswith("graph_output_cast")}
    for graph in branches(half.graph):
        for node in graph.node:
            node.input[:] = [names.get(name, name) for name in node.input]
            node.output[:] = [names.get(name, name) for name in node.output]
        for output in graph.output:
            if output.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
                output.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    return half


def to_8_bits(model, weight_type=None):
    if weight_type is None:
        weight_type = QuantType.QUInt8 if "Conv" in operators(model.graph) else QuantType.QInt8
    quantizer = ONNXQuantizer(
        model, False, False, mode=QuantizationMode.IntegerOps, static=False, weight_qType=weight_type,
        activation_qType=QuantType.QUInt8, tensors_range=None, nodes_to_quantize=[], nodes_to_exclude=[],
        op_types_to_quantize=set(IntegerOpsRegistry), extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True})
    quantizer.quantize_model()
    return quantizer.model.model


def to_4_bits(model):
    quantizer = MatMulNBitsQuantizer(model, bits=4, block_size=32, is_symmetric=True)
    quantizer.process()
    return quantizer.model.model


def to_normal_floats(model):
    quantizer = MatMulBnb4Quantizer(model, MatMulBnb4Quantizer.NF4, 64)
    quantizer.process()
    return quantizer.model.model


VARIANTS = {
    "fp16": to_float16,
    "quantized": to_8_bits,
    "int8": lambda model: to_8_bits(model, QuantType.QInt8),
    "uint8": lambda model: to_8_bits(model, QuantType.QUInt8),
    "q4": to_4_bits,
    "q4f16": lambda model: to_float16(to_4_bits(model)),
    "bnb4": to_normal_floats,
}


def bytes_of(model) -> int:
    """About. A model of more than 2 GiB cannot say its size itself."""
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


def save(model, file: Path, beside: bool = False) -> None:
    if not beside and bytes_of(model) < LARGEST:
        onnx.save(model, file)
        return
    onnx.save(model, file, save_as_external_data=True, all_tensors_to_one_file=True, location=f"{file.name}_data",
              size_threshold=1024, convert_attribute=False)


def export(source: Path, folder: Path, timestamped: bool = False, beside: bool = False) -> None:
    """Writes the folder of transformers `source` as a repository in float32. `timestamped`: the decoder outputs its cross-attentions; `beside`:
    the weights of the encoder are in a file beside it also when they are small."""
    plain = folder.with_name(f"{folder.name}-export")
    plain.mkdir(parents=True)
    (exports.export_with_cross_attentions if timestamped else exports.export)(source, plain)
    (folder / "onnx").mkdir(parents=True)
    exports.copy_configs(source, folder)
    for name in GRAPHS:
        model = onnxslim.slim(str(plain / f"{name}.onnx"))
        save(model, folder / "onnx" / f"{name}.onnx", beside and name == GRAPHS[0])
    shutil.rmtree(plain)


def convert(folder: Path, variant: str) -> None:
    """Adds another precision to an exported repository."""
    for name in GRAPHS:
        file = folder / "onnx" / f"{name}.onnx"
        # Loaded again for each: these conversions change the model in place.
        save(VARIANTS[variant](onnx.load(file)), file.with_name(f"{name}_{variant}.onnx"))

"""Exports a Whisper folder of transformers with Optimum, in every form that users bring."""

import json
import shutil
import sys
from pathlib import Path

import onnx
from onnxruntime.transformers.float16 import convert_float_to_float16
from optimum.exporters.onnx import main_export, onnx_export_from_model
from optimum.exporters.onnx.base import ConfigBehavior
from optimum.exporters.onnx.model_configs import WhisperOnnxConfig
from optimum.onnx import merge_decoders
from optimum.onnxruntime import ORTQuantizer
from optimum.onnxruntime.configuration import AutoQuantizationConfig
from transformers import AutoConfig, WhisperForConditionalGeneration

TASK = "automatic-speech-recognition-with-past"
GRAPHS = ("encoder_model", "decoder_model", "decoder_with_past_model", "decoder_model_merged")


class WithCrossAttentions(WhisperOnnxConfig):
    """The decoder also outputs its attention to the audio, which times words."""

    @property
    def outputs(self):
        named = super().outputs
        if self._behavior is ConfigBehavior.DECODER:
            axes = {0: "batch_size", 2: "decoder_sequence_length", 3: "encoder_sequence_length_out"}
            for i in range(self._config.decoder_layers):
                named[f"cross_attentions.{i}"] = axes
        return named


def step(folder: Path, make) -> None:
    """Calls `make(folder)` unless the folder is complete; a broken one is made again."""
    mark = folder / "complete.json"
    if mark.exists():
        return
    print(f"    building {folder}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mark.write_text(json.dumps(make(folder) or {}))


def frames(source: Path) -> int:
    """Mel frames of a window; Optimum knows only those of 30 s."""
    return 2 * AutoConfig.from_pretrained(source).max_source_positions


def export(source: Path, folder: Path) -> None:
    main_export(str(source), folder, task=TASK, do_validation=False, nb_max_frames=frames(source))


def export_with_cross_attentions(source: Path, folder: Path) -> None:
    config = AutoConfig.from_pretrained(source)
    base = WithCrossAttentions(config, task="automatic-speech-recognition", use_past=False)
    decoder = WithCrossAttentions(config, task="automatic-speech-recognition", use_past=True)
    parts = {
        "encoder_model": base.with_behavior("encoder"),
        "decoder_model": decoder.with_behavior("decoder", use_past=True, use_past_in_inputs=False),
        "decoder_with_past_model": decoder.with_behavior("decoder", use_past=True, use_past_in_inputs=True),
    }
    # Only this implementation of attention returns its weights.
    model = WhisperForConditionalGeneration.from_pretrained(source, attn_implementation="eager")
    onnx_export_from_model(model, folder, task=TASK, custom_onnx_configs=parts, do_validation=False,
                           model_kwargs={"output_attentions": True}, nb_max_frames=frames(source))
    copy_configs(source, folder)


def copy_configs(source: Path, folder: Path) -> None:
    for file in [*source.glob("*.json"), *source.glob("*.txt")]:
        if file.name != "complete.json":
            shutil.copy(file, folder)


def to_float16(source: Path, folder: Path) -> None:
    copy_configs(source, folder)
    for name in GRAPHS:
        model = onnx.load(source / f"{name}.onnx")
        onnx.save(convert_float_to_float16(model, keep_io_types=False, disable_shape_infer=True), folder / f"{name}.onnx")


def to_int8(source: Path, folder: Path) -> None:
    copy_configs(source, folder)
    for name in GRAPHS[:3]:
        quantizer = ORTQuantizer.from_pretrained(source, file_name=f"{name}.onnx")
        # Without the two convolutions: ONNX Runtime has no ConvInteger for signed weights.
        config = AutoQuantizationConfig.avx512_vnni(is_static=False, per_channel=False,
                                                    operators_to_quantize=["MatMul", "Gather"])
        quantizer.quantize(save_dir=folder, quantization_config=config, file_suffix="")
    # Not strict: only the first decoder returns the keys and values of the audio.
    merge_decoders(folder / "decoder_model.onnx", folder / "decoder_with_past_model.onnx", strict=False,
                   save_path=folder / "decoder_model_merged.onnx")


def only(source: Path, folder: Path, names) -> None:
    """The same export with one kind of decoder; the files are shared."""
    copy_configs(source, folder)
    for name in names:
        (folder / f"{name}.onnx").hardlink_to(source / f"{name}.onnx")


# The form, the export that it is taken from, and its graphs.
MERGED, PAIR = (GRAPHS[0], GRAPHS[3]), GRAPHS[:3]
FORMS = {
    "merged": ("export", MERGED), "pair": ("export", PAIR), "words": ("words-export", MERGED),
    "fp16": ("fp16-export", MERGED), "fp16-pair": ("fp16-export", PAIR),
    "int8": ("int8-export", MERGED), "int8-pair": ("int8-export", PAIR),
}


EXPORTS = {
    "export": lambda root, folder: export(root / "weights", folder),
    "words-export": lambda root, folder: export_with_cross_attentions(root / "weights", folder),
    "fp16-export": lambda root, folder: to_float16(root / "export", folder),
    "int8-export": lambda root, folder: to_int8(root / "export", folder),
}


def build_forms(root: Path, forms) -> None:
    """Makes these forms below `root` from `root/weights`; what is complete there stays."""
    for form in forms:
        name, graphs = FORMS[form]
        if name != "words-export":
            step(root / "export", lambda folder: EXPORTS["export"](root, folder))
        step(root / name, lambda folder: EXPORTS[name](root, folder))
        step(root / form, lambda folder: only(root / name, folder, graphs))

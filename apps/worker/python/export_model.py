"""Exports a model of torch to a folder of ONNX graphs, for `lehr models export`.

    python export_model.py JSON

JSON has "source" (a folder, a `.safetensors` file of Stable Diffusion, or `owner/name` of the hub), "revision" (of a repository, or null),
"kind" ("model" or "control"), "folder" (to write, not there yet) and "downloads" (where files of the hub are kept meanwhile); for tests, "graphBytes". Each line of stdout that
begins a step is a JSON object, {"step": text}. An error is one line at the end of stderr, after what the libraries say there.
"""

import json
import os
import sys
import threading
import traceback
from pathlib import Path



def end_with_parent() -> None:
    # Not by `sys.stdin`, whose lock would be held at the end of the interpreter.
    os.read(0, 1)
    os._exit(1)


threading.Thread(target=end_with_parent, daemon=True).start()
REQUEST = json.loads(sys.argv[1])
# Read when the libraries are imported.
os.environ |= {"HF_HOME": REQUEST["downloads"], "HF_HUB_DISABLE_TELEMETRY": "1"}

import torch

# Of the weights in the file of a graph, which holds at most 2 GB; more are in one file beside it.
MAX_GRAPH_BYTES = REQUEST.get("graphBytes", 1 << 30)


def say(**line) -> None:
    print(json.dumps(line), flush=True)


def config_of(source: str, revision: str | None, name: str) -> dict | None:
    """A JSON file of the folder or repository; None when it has no such file."""
    if Path(source).is_dir():
        path = Path(source) / name
        return json.loads(path.read_text()) if path.exists() else None
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        return json.loads(Path(hf_hub_download(source, name, revision=revision)).read_text())
    except EntryNotFoundError:
        return None


def one_file(source: str) -> object:
    """The pipeline of a file in the layout of the first programs. Its configs come from the hub."""
    from diffusers import StableDiffusionInpaintPipeline, StableDiffusionPipeline
    from diffusers import StableDiffusionXLInpaintPipeline, StableDiffusionXLPipeline
    from safetensors import safe_open

    with safe_open(source, "pt") as file:
        names = set(file.keys())
        first = "model.diffusion_model.input_blocks.0.0.weight"
        if first not in names:
            sys.exit(f"{source} is no whole Stable Diffusion in one file: it has no {first}.")
        is_inpaint = file.get_slice(first).get_shape()[1] == 9
    is_xl = any(name.startswith("conditioner.embedders.1.") for name in names)
    classes = {
        (False, False): StableDiffusionPipeline,
        (False, True): StableDiffusionInpaintPipeline,
        (True, False): StableDiffusionXLPipeline,
        (True, True): StableDiffusionXLInpaintPipeline,
    }
    return classes[is_xl, is_inpaint].from_single_file(source, torch_dtype=torch.float32)


def export_pipeline(pipeline, folder: Path) -> None:
    from optimum.exporters.onnx import onnx_export_from_model

    name = type(pipeline).__name__
    task = "inpainting" if "Inpaint" in name else "image-to-image" if "Img2Img" in name else "text-to-image"
    if getattr(pipeline, "safety_checker", None) is not None:
        # A model of its own, which Lehr runs beside any model (models.yaml: safety).
        pipeline.register_modules(safety_checker=None)
    say(step=f"export the graphs of {name}")
    onnx_export_from_model(pipeline, folder, task=task, do_validation=False)


def export_diffusers(source: str, revision: str | None, folder: Path) -> None:
    from diffusers import DiffusionPipeline

    say(step=f"load {source}")
    # Weights that are not safetensors are pickles, which can run any program.
    pipeline = DiffusionPipeline.from_pretrained(source, revision=revision, use_safetensors=True, torch_dtype=torch.float32)
    export_pipeline(pipeline, folder)


def export_transformers(source: str, revision: str | None, folder: Path, config: dict) -> None:
    import transformers
    from optimum.exporters.onnx import main_export
    from optimum.exporters.tasks import TasksManager
    from optimum.onnx import graph_transformations

    architecture = (config.get("architectures") or ["nothing"])[0]
    kind = getattr(transformers, architecture, None)
    if kind is None:
        sys.exit(f"{source} is a {architecture}, which transformers {transformers.__version__} does not know.")
    # With the decoder's keys and values kept between tokens.
    more = "-with-past" if config.get("model_type") == "whisper" else ""
    task = TasksManager.infer_task_from_model(kind, library_name="transformers") + more
    say(step=f"load and export {source}")
    # Its own function fails at a decoder of more than 2 GB, as that of Whisper large is, and loses the whole export.
    graph_transformations.check_and_save_model = save_graph
    main_export(
        source,
        output=folder,
        task=task,
        revision=revision or "main",
        library_name="transformers",
        do_validation=False,
    )


class Control(torch.nn.Module):
    """A ControlNet with the arguments in the order of the graph's inputs; its strength is applied outside."""

    def __init__(self, net) -> None:
        super().__init__()
        self.net = net

    def forward(self, sample, timestep, encoder_hidden_states, controlnet_cond, text_embeds=None, time_ids=None):
        added = None if text_embeds is None else {"text_embeds": text_embeds, "time_ids": time_ids}
        down, middle = self.net(
            sample, timestep, encoder_hidden_states, controlnet_cond, added_cond_kwargs=added, return_dict=False
        )
        return (*down, middle)


def export_control(source: str, revision: str | None, folder: Path) -> None:
    from diffusers import ControlNetModel

    say(step=f"load {source}")
    net = ControlNetModel.from_pretrained(source, revision=revision, use_safetensors=True, torch_dtype=torch.float32).eval()
    config = net.config
    width = config.cross_attention_dim
    # Its first layers halve the picture to the size of the latent.
    scale = 2 ** (len(config.conditioning_embedding_out_channels) - 1)
    inputs = {
        "sample": torch.randn(2, config.in_channels, 16, 24),
        # One for each row: rows of a batch are at different steps.
        "timestep": torch.tensor([1.0, 21.0]),
        "encoder_hidden_states": torch.randn(2, 77, width[0] if isinstance(width, (list, tuple)) else width),
        "controlnet_cond": torch.rand(2, 3, 16 * scale, 24 * scale),
    }
    if config.addition_embed_type == "text_time":
        ids = 6
        pooled = config.projection_class_embeddings_input_dim - ids * config.addition_time_embed_dim
        inputs |= {"text_embeds": torch.randn(2, pooled), "time_ids": torch.randn(2, ids)}
    sizes = {name: {0: "batch"} for name in inputs}
    sizes["sample"] |= {2: "height", 3: "width"}
    sizes["encoder_hidden_states"] |= {1: "sequence"}
    sizes["controlnet_cond"] |= {2: "image_height", 3: "image_width"}
    model = Control(net)
    with torch.no_grad():
        skips = len(model(*inputs.values())) - 1
    outputs = [*(f"down_block_res_samples_{i}" for i in range(skips)), "mid_block_res_sample"]
    say(step="export the graph of the ControlNet")
    folder.mkdir(parents=True)
    write_graph(model, inputs, outputs, sizes, folder)
    net.save_config(folder)


def write_graph(model, inputs: dict, outputs: list[str], sizes: dict, folder: Path) -> None:
    import tempfile

    import onnx

    with tempfile.TemporaryDirectory(dir=folder.parent) as work, torch.no_grad():
        path = Path(work) / "model.onnx"
        torch.onnx.export(
            model,
            tuple(inputs.values()),
            path,
            input_names=list(inputs),
            output_names=outputs,
            dynamic_axes=sizes | {name: {0: "batch"} for name in outputs},
            opset_version=18,
            dynamo=False,
        )
        graph = onnx.load(path)
    save_graph(graph, folder / "model.onnx")


def save_graph(model, save_path) -> None:
    """In place of a graph that is there, with a file of weights beside it if it is large."""
    import onnx

    path = Path(save_path)
    data = path.with_name(f"{path.name}_data")
    for file in (path, data):
        # Weights would be added to the file that is there.
        file.unlink(missing_ok=True)
    large = sum(len(each.raw_data) for each in model.graph.initializer) > MAX_GRAPH_BYTES
    onnx.save_model(model, path, save_as_external_data=large, all_tensors_to_one_file=True, location=data.name)


def main(source: str, folder: Path, revision: str | None, kind: str) -> None:
    if source.endswith(".safetensors") and kind == "model":
        say(step=f"load {source}")
        return export_pipeline(one_file(source), folder)
    is_pipeline = config_of(source, revision, "model_index.json") is not None
    config = None if is_pipeline else config_of(source, revision, "config.json")
    if not is_pipeline and config is None:
        sys.exit(f"{source} has no model_index.json and no config.json, so it is no model of diffusers or transformers.")
    is_control = config is not None and config.get("_class_name") == "ControlNetModel"
    if is_control and kind != "control":
        sys.exit(f"{source} is a ControlNet, which is a part of a model: --control-of names that.")
    if kind == "control" and not is_control:
        sys.exit(f"{source} is no ControlNet of diffusers.")
    if is_control:
        export_control(source, revision, folder)
    elif is_pipeline:
        export_diffusers(source, revision, folder)
    else:
        export_transformers(source, revision, folder, config)


if __name__ == "__main__":
    try:
        main(REQUEST["source"], Path(REQUEST["folder"]), REQUEST["revision"], REQUEST["kind"])
    except Exception as error:
        traceback.print_exc()
        sys.exit(" ".join(f"{type(error).__name__}: {error}".split())[:600])

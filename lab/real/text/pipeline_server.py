"""A server of one queue in front of a text model, in the form that the documentation of transformers shows for pipelines: a request puts
its text into an asyncio queue, one loop takes what waits, runs it as a batch, and answers each request.

    python pipeline_server.py FOLDER fill-mask|embeddings THREADS

It tokenizes with `tokenizers` and runs the exported graph in ONNX Runtime, which costs less for each text than a pipeline of transformers.
Prints its port as the answer to the first line of stdin, and ends with stdin. `POST /` takes the text as the body.
"""

import asyncio
import json
import socket
import sys
from pathlib import Path

import numpy
import uvicorn
from onnxruntime import InferenceSession, SessionOptions
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from tokenizers import Tokenizer

MAX_BATCH = 64
TOP_K = 5


class Model:
    def __init__(self, folder, task, threads):
        options = SessionOptions()
        options.intra_op_num_threads = threads
        self.session = InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
        self.names = {value.name for value in self.session.get_inputs()}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        limit = json.loads((folder / "config.json").read_text())["max_position_embeddings"]
        self.tokenizer.enable_truncation(limit)
        self.tokenizer.enable_padding()
        self.mask = self.tokenizer.token_to_id("[MASK]")
        self.task = task

    def run(self, texts):
        encoded = self.tokenizer.encode_batch(texts)
        rows = dict(input_ids=[each.ids for each in encoded], attention_mask=[each.attention_mask for each in encoded],
                    token_type_ids=[each.type_ids for each in encoded])
        feeds = {name: numpy.array(values, dtype=numpy.int64) for name, values in rows.items() if name in self.names}
        return self.embeddings(feeds) if self.task == "embeddings" else self.fills(texts, feeds)

    def embeddings(self, feeds):
        [hidden] = self.session.run(["last_hidden_state"], feeds)
        mask = feeds["attention_mask"][:, :, None].astype(numpy.float32)
        mean = (hidden * mask).sum(axis=1) / mask.sum(axis=1)
        return (mean / numpy.linalg.norm(mean, axis=1, keepdims=True)).tolist()

    def fills(self, texts, feeds):
        [logits] = self.session.run(["mask_logits"], feeds)
        answers = []
        for text, ids, row in zip(texts, feeds["input_ids"], logits):
            scores = row[int(numpy.argmax(ids == self.mask))]
            scores = numpy.exp(scores - scores.max())
            scores /= scores.sum()
            best = numpy.argsort(-scores)[:TOP_K]
            tokens = [self.tokenizer.id_to_token(int(each)) for each in best]
            answers.append([dict(score=float(scores[each]), token=int(each), token_str=token, sequence=text.replace("[MASK]", token))
                            for each, token in zip(best, tokens)])
        return answers


async def answer(request):
    text = (await request.body()).decode()
    done = asyncio.get_running_loop().create_future()
    await request.app.state.queue.put((text, done))
    return JSONResponse(await done)


async def serve_queue(queue, model):
    while True:
        batch = [await queue.get()]
        # What has arrived by now goes together.
        while len(batch) < MAX_BATCH and not queue.empty():
            batch.append(queue.get_nowait())
        answers = await asyncio.to_thread(model.run, [text for text, _ in batch])
        for (_, done), each in zip(batch, answers):
            if not done.done():
                done.set_result(each)


async def main(folder, task, threads):
    app = Starlette(routes=[Route("/", answer, methods=["POST"])])
    app.state.queue = asyncio.Queue()
    model = Model(Path(folder), task, int(threads))
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_keep_alive=600))
    loop = asyncio.create_task(serve_queue(app.state.queue, model))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    await asyncio.to_thread(sys.stdin.readline)
    print(json.dumps(dict(answer=dict(port=listening.getsockname()[1]))), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving
    loop.cancel()


asyncio.run(main(*sys.argv[1:]))

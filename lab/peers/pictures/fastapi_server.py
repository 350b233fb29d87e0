"""The article's own design: FastAPI, and one micro-batcher that collects for 500 ms, at most 8 equal requests, and runs them to the end."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI, Response
from pydantic import BaseModel
from sampler import Picture, sampler_of_environment

MAX_BATCH = 8
WINDOW_S = 0.5


class Body(BaseModel):
    prompt: str
    width: int
    height: int
    inference_steps: int
    guidance_scale: float
    seed: int


class MicroBatcher:
    """Requests of one width, height, number of steps and guidance form a batch. Batches run one after the other, in a thread."""

    def __init__(self, draw):
        self.draw = draw
        self.waiting = {}
        self.device = ThreadPoolExecutor(1)

    async def submit(self, picture):
        key = (picture.width, picture.height, picture.steps, picture.guidance)
        done = asyncio.get_running_loop().create_future()
        batch = self.waiting.setdefault(key, [])
        batch.append((picture, done))
        if len(batch) == 1:
            # The window belongs to this batch: when it fills first, the timer must not close the next one.
            asyncio.get_running_loop().call_later(WINDOW_S, self.close, key, batch)
        if len(batch) == MAX_BATCH:
            self.close(key, batch)
        return await done

    def close(self, key, batch):
        if self.waiting.get(key) is batch:
            del self.waiting[key]
            asyncio.get_running_loop().create_task(self.run(batch))

    async def run(self, batch):
        loop = asyncio.get_running_loop()
        try:
            files = await loop.run_in_executor(self.device, self.draw, [picture for picture, _ in batch])
        except Exception as error:
            files = [error] * len(batch)
        for (_, done), file in zip(batch, files):
            if not done.done():
                done.set_exception(file) if isinstance(file, Exception) else done.set_result(file)


@asynccontextmanager
async def lifespan(app):
    app.state.batcher = MicroBatcher(sampler_of_environment().draw)
    yield


app = FastAPI(lifespan=lifespan)


@app.post("/t2i")
async def t2i(body: Body):
    file = await app.state.batcher.submit(Picture.of(body.model_dump()))
    return Response(content=file, media_type="image/png")


uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning", access_log=False)

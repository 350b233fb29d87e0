"""Ray Serve with dynamic request batching: docs.ray.io/en/latest/serve/advanced-guides/dyn-req-batch.html.

`max_ongoing_requests` must be larger than a batch, or a replica never sees a full one. The batch runs in a thread, because a call that blocks
the event loop of the replica would also stop it from collecting the next batch (docs.ray.io, "Concurrency best practices").
"""

import asyncio
import os
import signal
import threading

import ray
from ray import serve
from sampler import Picture, sampler_of_environment
from starlette.responses import Response


@serve.deployment(max_ongoing_requests=256, ray_actor_options={"num_cpus": 1})
class Draw:
    def __init__(self):
        self.sampler = sampler_of_environment()

    @serve.batch(max_batch_size=8, batch_wait_timeout_s=0.05)
    async def draw(self, pictures):
        return await asyncio.to_thread(self.sampler.draw, pictures)

    async def __call__(self, request):
        if request.method == "GET":
            return "ready"
        file = await self.draw(Picture.of(await request.json()))
        return Response(content=file, media_type="image/png")


stopped = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stopped.set())
passed = {name: os.environ[name] for name in ("MODEL", "SIDE", "THREADS", "SPIN", "PYTHONPATH")}
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": passed})
serve.start(http_options={"host": "127.0.0.1", "port": int(os.environ["PORT"]), "request_timeout_s": 300}, logging_config={"enable_access_log": False})
serve.run(Draw.bind(), route_prefix="/t2i")
stopped.wait()
serve.shutdown()
ray.shutdown()

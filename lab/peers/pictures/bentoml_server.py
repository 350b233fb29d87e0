"""BentoML with adaptive batching: docs.bentoml.com/en/latest/get-started/adaptive-batching.html.

A batchable API takes one list, and the dispatcher joins the lists of several requests. `max_latency_ms` is the longest that a request may take:
the dispatcher answers 503 where it expects more, so it is long here. The service has one worker, as one device has one copy of the model.
"""

import base64

import bentoml
from pydantic import BaseModel
from sampler import Picture, sampler_of_environment


class Body(BaseModel):
    prompt: str
    width: int
    height: int
    inference_steps: int
    guidance_scale: float
    seed: int


@bentoml.service(workers=1, traffic={"timeout": 300}, logging={"access": {"enabled": False}}, metrics={"enabled": False})
class Draw:
    def __init__(self):
        self.sampler = sampler_of_environment()

    @bentoml.api(route="/t2i", batchable=True, batch_dim=0, max_batch_size=8, max_latency_ms=300_000)
    def draw(self, pictures: list[Body]) -> list[str]:
        """PNG files in base64, because the answer of a batchable API is JSON."""
        files = self.sampler.draw([Picture.of(each.model_dump()) for each in pictures])
        return [base64.b64encode(file).decode() for file in files]

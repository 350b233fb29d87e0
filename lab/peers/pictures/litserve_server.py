"""LitServe with dynamic batching: lightning.ai/docs/litserve/features/batching.

Its documentation asks for `max_batch_size` and a short `batch_timeout`; `decode_request` and `encode_response` run for each request, and
`batch` and `unbatch` are lists by default. A response may be a `Response`, which is how its own examples answer with pictures.
"""

import os

import litserve
from fastapi import Response
from sampler import Picture, sampler_of_environment


class DrawApi(litserve.LitAPI):
    def setup(self, device):
        self.sampler = sampler_of_environment()

    def decode_request(self, request):
        return Picture.of(request)

    def batch(self, inputs):
        return list(inputs)

    def predict(self, pictures):
        return self.sampler.draw(pictures)

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        return Response(content=output, media_type="image/png")


if __name__ == "__main__":
    api = DrawApi(max_batch_size=8, batch_timeout=0.05, api_path="/t2i")
    # One worker: a second one would have a second copy of the model and compete for the same two cores.
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1, timeout=300, track_requests=False)
    server.run(host="127.0.0.1", port=int(os.environ["PORT"]), generate_client_file=False, log_level="warning", num_api_servers=1)

"""The classic load test, for any server that answers POST /t2i: each user posts, waits for the picture, and posts again."""

import os
import random

from locust import HttpUser, constant, task

SIDE = int(os.environ.get("LEHR_PICTURE_SIZE", "512"))


class PictureUser(HttpUser):
    wait_time = constant(0)

    @task
    def draw(self):
        body = {
            "prompt": "a red circle on a blue background",
            "width": SIDE,
            "height": SIDE,
            "inference_steps": 20,
            "guidance_scale": 8.2,
            "seed": random.randrange(2**32),
        }
        key = os.environ.get("LEHR_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with self.client.post("/t2i", json=body, headers=headers, timeout=125, catch_response=True) as answer:
            if answer.status_code == 200 and not answer.content.startswith(b"\x89PNG"):
                answer.failure("the answer is no PNG")

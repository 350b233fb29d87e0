"""Celery with Redis as its broker and its result backend, and a task that does nothing.

The settings are those that docs.celeryq.dev/en/stable/userguide/optimizing.html advises for many short tasks: a large prefetch multiplier. Tasks
are acknowledged when they start, which is the default and the faster way: a task whose worker dies is lost.
"""

import os

from celery import Celery

app = Celery("tasks", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])
app.conf.update(worker_prefetch_multiplier=128, result_expires=3600, broker_connection_retry_on_startup=True)


@app.task
def noop(text):
    return {"images": []}

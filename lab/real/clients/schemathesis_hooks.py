"""Hooks of schemathesis, loaded with SCHEMATHESIS_HOOKS."""

import schemathesis


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Describes event streams as schemathesis reads them.

    OpenAPI 3.1 cannot say what one event of a stream is, so Lehr's document gives the schema of its `data`, which is what its
    client needs. Schemathesis applies the schema to the whole event, with `id`, `event` and `retry`, as OpenAPI 3.2 does.
    """
    for path in raw_schema["paths"].values():
        for operation in path.values():
            for response in operation.get("responses", {}).values():
                stream = response.get("content", {}).get("text/event-stream")
                if stream:
                    stream["schema"] = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}


@schemathesis.hook
def filter_case(context, case):
    """Leaves out what a multipart form cannot say: a list without items is sent as no part at all, which is a valid request."""
    is_form = str(case.media_type or "").startswith("multipart/")
    return not (is_form and isinstance(case.body, dict) and any(value == [] for value in case.body.values()))

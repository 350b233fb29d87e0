"""Records calls of a client: which call, in which form, and what came back."""

import sys
import time
import traceback

# One call may take long on a busy machine; a longer one is a defect.
SLOW_S = 600


class Calls:
    def __init__(self, client, version):
        self.client = client
        self.version = version
        self.rows = []

    def check(self, call, form, run):
        """Runs one call. `run` returns a short text for the table, or raises."""
        started = time.monotonic()
        try:
            result, passed = run(), True
        except Exception as error:  # noqa: BLE001 - each failure is a row of the table
            result, passed = f"{type(error).__name__}: {error}", False
            traceback.print_exc(file=sys.stderr)
        self._add(call, form, result, passed, time.monotonic() - started)

    async def check_async(self, call, form, run):
        started = time.monotonic()
        try:
            result, passed = await run(), True
        except Exception as error:  # noqa: BLE001 - each failure is a row of the table
            result, passed = f"{type(error).__name__}: {error}", False
            traceback.print_exc(file=sys.stderr)
        self._add(call, form, result, passed, time.monotonic() - started)

    def _add(self, call, form, result, passed, seconds):
        passed = passed and seconds < SLOW_S
        row = {"call": call, "form": form, "passed": passed, "result": str(result)[:300], "seconds": round(seconds, 2)}
        self.rows.append(row)
        print(f"{'ok' if passed else 'FAILED'} {self.client} {call} {form}: {row['result']}", file=sys.stderr, flush=True)

    def answer(self):
        return {"client": self.client, "version": self.version, "rows": self.rows}


def raises(kind, run, **attributes):
    """Runs a call that must fail with this class of error and these attributes; returns them as text."""
    try:
        run()
    except kind as error:
        if type(error) is not kind:
            raise
        return match(error, attributes)
    raise AssertionError(f"{kind.__name__} was not raised")


def match(error, attributes):
    for name, wanted in attributes.items():
        got = getattr(error, name)
        if got != wanted:
            raise AssertionError(f"{name} is {got!r}, not {wanted!r}")
    said = ", ".join(f"{name} {value!r}" for name, value in attributes.items())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def equal(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what} is {got!r}, not {wanted!r}")

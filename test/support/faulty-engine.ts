/**
 * The real engine on a simulated device, as a child process, with faults for marked prompts: `CRASH` ends the process with
 * SIGSEGV when the engine runs such a sample, `HANG` blocks its thread permanently, `KILL` ends the worker with SIGKILL; and
 * those of faulty-device.ts. TEST_DEVICE_ROWS is the most UNet rows that fit into the memory of the device.
 */
import { Engine } from '../../apps/worker/src/engine/engine.ts';
import type { FromEngine, SampleId, ToEngine } from '../../apps/worker/src/engine/protocol/messages.ts';
import { createSimulatedRuntime } from '../../apps/worker/src/engine/runtime/simulated.ts';
import { systemClock } from '../../packages/shared/src/index.ts';
import { faultyDevice } from './faulty-device.ts';

const FAULTS = ['CRASH', 'HANG', 'KILL'] as const;
type Fault = (typeof FAULTS)[number];

const marked = new Map<SampleId, Fault>();

/** The fault follows after the parent has received `running`, as it would inside a graph run. */
function post(message: FromEngine): void {
  const fault =
    message.type === 'running' && message.samples.map((id) => marked.get(id)).find((each) => each);
  if (!fault) {
    process.send?.([message]);
    return;
  }
  process.send?.([message], () => {
    if (fault === 'CRASH') process.kill(process.pid, 'SIGSEGV');
    else if (fault === 'KILL') process.kill(process.ppid, 'SIGKILL');
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
}

let engine: Engine | undefined;
process.on('message', (message: ToEngine) => {
  if (message.type === 'open') {
    const { settings, models } = message;
    const device = createSimulatedRuntime({ latency: settings.simulated });
    const runtime = faultyDevice(device, Number(process.env.TEST_DEVICE_ROWS ?? Infinity));
    engine = new Engine({ runtime, settings, clock: systemClock, post });
    void Promise.all(models.map((model) => engine?.open(model))).then((opened) => {
      post({ type: 'ready', models: opened.filter((model) => model !== undefined), unavailable: [] });
      void engine?.run();
    });
  } else if (message.type === 'submit') {
    for (const sample of message.samples) {
      const fault = FAULTS.find((word) => 'prompt' in sample && sample.prompt.includes(word));
      if (fault) marked.set(sample.id, fault);
      engine?.submit(sample);
    }
  } else if (message.type === 'cancel') {
    engine?.cancel(message.sample);
  } else if (message.type === 'suspend') {
    engine?.suspend(message.sample);
  } else if (message.type === 'preview') {
    engine?.preview(message.sample);
  } else {
    process.exit(0);
  }
});
process.on('disconnect', () => process.exit(0));

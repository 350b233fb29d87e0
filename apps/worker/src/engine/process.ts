/** Entry of the engine process: connects the engine to the messages of the worker that forked it. */
import { systemClock, toPlainError } from '@lehr/shared';
import { onnxRuntime } from '../runtime/onnx.ts';
import { createSimulatedRuntime } from '../runtime/simulated.ts';
import { Engine } from './engine.ts';
import type { EngineSettings, FromEngine, ToEngine } from './protocol.ts';

let engine: Engine | undefined;

const post = (message: FromEngine): void => {
  process.send?.(message);
};

async function open({ settings, models }: Extract<ToEngine, { type: 'open' }>): Promise<void> {
  try {
    engine = new Engine({ runtime: runtimeFor(settings), settings, clock: systemClock, post });
    const opened = [];
    for (const model of models) opened.push(await engine.open(model));
    post({ type: 'ready', models: opened });
    await engine.run();
    process.disconnect();
  } catch (error) {
    post({ type: 'open-failed', failure: toPlainError(error, 'engine-failed') });
  }
}

const runtimeFor = ({ simulated }: EngineSettings) =>
  simulated ? createSimulatedRuntime({ latency: simulated }) : onnxRuntime;

process.on('message', (message: ToEngine) => {
  switch (message.type) {
    case 'open':
      void open(message);
      return;
    case 'submit':
      for (const sample of message.samples) engine?.submit(sample);
      return;
    case 'cancel':
      engine?.cancel(message.sample);
      return;
    case 'preview':
      engine?.preview(message.sample);
      return;
    case 'close':
      engine?.close();
      return;
  }
});

// The worker has ended or crashed.
process.on('disconnect', () => process.exit(0));
// The worker decides when the engine stops: a signal to the whole process group must not end it while the worker drains.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

/** Entry of the engine process: connects the engine to the messages of the worker that forked it. */
import { systemClock, toPlainError } from '@lehr/shared';
import { NoiseDrawer } from './diffusion/noise.ts';
import { Engine } from './engine.ts';
import type {
  EngineSettings,
  FromEngine,
  ModelToOpen,
  OpenedModel,
  ToEngine,
  UnavailableModel,
} from './protocol/messages.ts';
import { onnxRuntime } from './runtime/onnx.ts';
import { createSimulatedRuntime } from './runtime/simulated.ts';

let engine: Engine | undefined;
/** `name@version` of each open model. */
const openRefs = new Set<string>();
/** The closing of models that is under way: a model is opened after it, when its memory is free. */
let closing = Promise.resolve();

/** Messages of this turn of the event loop. */
let unsent: FromEngine[] = [];

/**
 * The answers of a run are sent together, because sending a message costs as much as making it. Every other message is sent at once, with
 * those before it: the worker must know what runs when the graph kills this process.
 */
const post = (message: FromEngine): void => {
  unsent.push(message);
  if (message.type !== 'answered') flush();
  else if (unsent.length === 1) setImmediate(flush);
};

/** Messages to a worker that was killed cannot be sent; `disconnect` then ends this process. */
function flush(): void {
  const messages = unsent;
  unsent = [];
  if (messages.length > 0 && process.connected) process.send?.(messages, () => {});
}

async function open({
  settings,
  models,
  mayBeEmpty = false,
}: Extract<ToEngine, { type: 'open' }>): Promise<void> {
  try {
    const noise = new NoiseDrawer((cause) =>
      post({ type: 'noise-thread-lost', failure: toPlainError(cause, 'engine-failed') }),
    );
    engine = new Engine({ runtime: runtimeFor(settings), settings, clock: systemClock, post, noise });
    const [opened, unavailable] = await openAll(engine, models);
    if (opened.length === 0 && unavailable.length > 0 && !mayBeEmpty) {
      return post({ type: 'open-failed', failure: unavailable[0].failure });
    }
    post({ type: 'ready', models: opened, unavailable });
    await engine.run();
    process.disconnect();
  } catch (error) {
    post({ type: 'open-failed', failure: toPlainError(error, 'engine-failed') });
  }
}

async function openAll(
  opening: Engine,
  models: readonly ModelToOpen[],
): Promise<[OpenedModel[], UnavailableModel[]]> {
  const opened: OpenedModel[] = [];
  const unavailable: UnavailableModel[] = [];
  for (const model of models) {
    try {
      const startedAt = performance.now();
      const bytesBefore = process.memoryUsage.rss();
      const answer = await opening.open(model);
      const grownBytes = Math.max(0, process.memoryUsage.rss() - bytesBefore);
      opened.push({ ...answer, openMs: performance.now() - startedAt, grownBytes });
      openRefs.add(model.ref);
    } catch (error) {
      unavailable.push({ ref: model.ref, failure: toPlainError(error, 'model-unavailable') });
    }
  }
  return [opened, unavailable];
}

async function openLater(model: ModelToOpen): Promise<void> {
  await closing;
  if (!engine || openRefs.has(model.ref)) return;
  const [[opened], [unavailable]] = await openAll(engine, [model]);
  if (opened) post({ type: 'model-opened', model: opened });
  else post({ type: 'model-unavailable', ...unavailable });
}

function closeModel(ref: string): void {
  if (!openRefs.delete(ref)) return;
  closing = closing.then(() => close(ref));
}

async function close(ref: string): Promise<void> {
  const bytesBefore = process.memoryUsage.rss();
  try {
    await engine?.closeModel(ref);
  } catch (error) {
    throw new Error(`Model ${ref} could not be closed`, { cause: error });
  }
  post({ type: 'model-closed', ref, freedBytes: Math.max(0, bytesBefore - process.memoryUsage.rss()) });
}

const runtimeFor = ({ simulated }: EngineSettings) =>
  simulated ? createSimulatedRuntime({ latency: simulated }) : onnxRuntime;

process.on('message', (message: ToEngine) => {
  switch (message.type) {
    case 'open':
      void open(message);
      return;
    case 'open-model':
      void openLater(message.model);
      return;
    case 'close-model':
      closeModel(message.ref);
      return;
    case 'submit':
      for (const sample of message.samples) engine?.submit(sample);
      return;
    case 'cancel':
      engine?.cancel(message.sample);
      return;
    case 'suspend':
      engine?.suspend(message.sample);
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
// SIGHUP to the whole group asks the worker to read models.yaml again.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

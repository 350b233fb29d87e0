/** Lehr's engine with one text model, in this process: texts in, answers out. */
import { Engine } from '../../apps/worker/src/engine/engine.ts';
import type {
  AnsweredMessage,
  EngineSettings,
  FromEngine,
  SampleId,
  TextAbilities,
  TextSample,
} from '../../apps/worker/src/engine/protocol/messages.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { InferenceRuntime, Provider } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { type Clock, systemClock } from '../../packages/shared/src/index.ts';

export type TextInput = Pick<TextSample, 'texts' | 'work'> & Partial<TextSample>;

export interface TextEngine {
  readonly abilities: TextAbilities;
  /** Every message of the engine so far. */
  readonly messages: readonly FromEngine[];
  /** Submits all samples at once; resolves with their answers in the same order, rejects when one fails. */
  answer(samples: readonly TextInput[]): Promise<AnsweredMessage[]>;
  cancel(id: SampleId): void;
  close(): Promise<void>;
}

const MODEL = 'model@1';
let made = 0;

export async function openTextEngine(
  folder: string,
  options: {
    readonly variant?: string;
    readonly rowCap?: number;
    readonly threads?: number;
    readonly runtime?: InferenceRuntime;
    /** Default: the CPU. */
    readonly providers?: readonly Provider[];
    /** Default: the clock of the system. */
    readonly clock?: Clock;
  } = {},
): Promise<TextEngine> {
  const {
    variant,
    rowCap = 'auto',
    threads = 1,
    runtime = onnxRuntime,
    providers = ['cpu'],
    clock = systemClock,
  } = options;
  const messages: FromEngine[] = [];
  const waiting = new Map<SampleId, (message: AnsweredMessage | Error) => void>();
  const post = (message: FromEngine): void => {
    messages.push(message);
    if (message.type === 'answered') waiting.get(message.sample)?.(message);
    if (message.type === 'failed') waiting.get(message.sample)?.(new Error(message.failure.message));
  };
  const settings: EngineSettings = { providers, rowCap, threads };
  const engine = new Engine({ runtime, settings, clock, post });
  const { text: abilities } = await engine.open({
    ref: MODEL,
    task: 'text',
    folder,
    ...(variant && { variant }),
  });
  if (!abilities) throw new Error(`${folder} is no text model.`);
  const running = engine.run();
  const answerOne = (input: TextInput): Promise<AnsweredMessage> =>
    new Promise((resolve, reject) => {
      const sample = textSample(input);
      waiting.set(sample.id, (end) => {
        waiting.delete(sample.id);
        if (end instanceof Error) reject(end);
        else resolve(end);
      });
      engine.submit(sample);
    });
  return {
    abilities,
    messages,
    answer: (samples) => Promise.all(samples.map(answerOne)),
    cancel: (id) => engine.cancel(id),
    close: async () => {
      engine.close();
      await running;
    },
  };
}

/** A sample as the worker submits it. */
export const textSample = (input: TextInput): TextSample => ({
  id: `texts-${++made}` as SampleId,
  task: 'text',
  model: MODEL,
  lane: `text.${MODEL}`,
  maxBatchMates: Number.MAX_SAFE_INTEGER,
  mayTruncate: false,
  ...input,
});

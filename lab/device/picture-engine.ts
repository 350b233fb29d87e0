/** Lehr's engine with one diffusion model, in this process: requests in, pixels and the times of the steps out. */
import { Engine } from '../../apps/worker/src/engine/engine.ts';
import type {
  DiffusionSample,
  FromEngine,
  OpenedModel,
  SampleId,
} from '../../apps/worker/src/engine/protocol/messages.ts';
import type { Provider } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { systemClock } from '../../packages/shared/src/index.ts';
import { type TimedRun, timedRuntime } from './timed-runtime.ts';

export type PictureRequest = Partial<DiffusionSample> & Pick<DiffusionSample, 'width' | 'height'>;
export type Finished = Extract<FromEngine, { type: 'finished' }>;

export interface Step {
  readonly rows: number;
  readonly ms: number;
  /** Of `ms`, in the run of the graph. */
  readonly runMs: number;
}

export interface PictureEngine {
  readonly opened: OpenedModel;
  readonly openMs: number;
  /** Steps of the last `draw`. */
  readonly steps: readonly Step[];
  /** The row cap of the last `draw`, if it changed. */
  readonly rowCap: number;
  /** Submits all at once; resolves with pictures or errors in the same order. */
  draw(requests: readonly PictureRequest[]): Promise<(Finished | Error)[]>;
  close(): Promise<void>;
}

/** The picture, `[height, width, 3]`; throws the error that it ended with. */
export function pixelsOf(end: Finished | Error | undefined): Uint8Array {
  if (!end || end instanceof Error) throw end ?? new Error('There is no picture.');
  return end.pixels;
}

export interface PictureEngineOptions {
  readonly folder: string;
  readonly providers: readonly Provider[];
  readonly rowCap: number | 'auto';
  readonly side: number;
}

const MODEL = 'measured@1';

export async function openPictureEngine(options: PictureEngineOptions): Promise<PictureEngine> {
  const { folder, providers, rowCap, side } = options;
  const runs: TimedRun[] = [];
  const steps: Step[] = [];
  const waiting = new Map<SampleId, (end: Finished | Error) => void>();
  let cap = 0;
  let made = 0;
  const post = (message: FromEngine): void => {
    if (message.type === 'finished') waiting.get(message.sample)?.(message);
    if (message.type === 'failed') {
      waiting.get(message.sample)?.(new Error(`${message.failure.code}: ${message.failure.message}`));
    }
    if (message.type === 'row-cap') cap = message.rows;
    if (message.type === 'stepped') {
      const run = runs.filter(({ path }) => path.includes('unet')).at(-1);
      steps.push({ rows: message.rows, ms: message.ms, runMs: run?.ms ?? 0 });
    }
  };
  const engine = new Engine({
    runtime: timedRuntime(runs),
    settings: { providers, rowCap },
    clock: systemClock,
    post,
  });
  const startedAt = performance.now();
  const opened = await engine.open({
    ref: MODEL,
    task: 'diffusion',
    folder,
    warmUp: { width: side, height: side },
  });
  const openMs = performance.now() - startedAt;
  cap = opened.rowCap;
  const running = engine.run();
  const drawOne = (request: PictureRequest): Promise<Finished | Error> =>
    new Promise((resolve) => {
      const sample = sampleOf(request, ++made);
      waiting.set(sample.id, resolve);
      engine.submit(sample);
    });
  return {
    opened,
    openMs,
    steps,
    get rowCap() {
      return cap;
    },
    draw: (requests) => {
      steps.length = 0;
      return Promise.all(requests.map(drawOne));
    },
    close: async () => {
      engine.close();
      await running;
    },
  };
}

const sampleOf = (request: PictureRequest, id: number): DiffusionSample => ({
  prompt: 'a red circle on a blue background',
  negativePrompt: '',
  steps: 20,
  guidance: 7.5,
  seed: id,
  sampler: 'euler',
  lane: `${request.width}x${request.height}`,
  maxBatchMates: Number.MAX_SAFE_INTEGER,
  ...request,
  id: `picture-${id}` as SampleId,
  task: 'diffusion',
  model: MODEL,
});

/** The real engine with its lanes, turns and row cap, on a simulated device in virtual time. */
import { Engine } from '../../../apps/worker/src/engine/engine.ts';
import type {
  DiffusionSample,
  FromEngine,
  OpenedModel,
  SampleId,
} from '../../../apps/worker/src/engine/protocol/messages.ts';
import {
  createSimulatedRuntime,
  type LatencyModel,
} from '../../../apps/worker/src/engine/runtime/simulated.ts';
import { type PolicyJob, USUAL_SIDE } from './load.ts';
import { VirtualTime } from './virtual-time.ts';

const MODEL = 'tiny@1';
/** Of the tiny model: pixels of a latent value. */
const SCALE = 8;
const LATENT_AREA = (USUAL_SIDE / SCALE) ** 2;

export interface SimulatedEngine {
  readonly time: VirtualTime;
  readonly opened: OpenedModel;
  submit(job: PolicyJob): void;
  /** Runs until no event is left and the engine has no sample. */
  finish(): Promise<void>;
}

export interface SimulatedEngineOptions {
  /** A folder of writeTinyDiffusion. */
  readonly folder: string;
  readonly device: LatencyModel;
  readonly rowCap: number | 'auto';
  readonly onMessage: (message: FromEngine) => void;
}

export const laneOf = ({ side = USUAL_SIDE }: PolicyJob): string => `${MODEL}.${side}x${side}`;

export const sampleId = ({ id }: PolicyJob): SampleId => `${id}` as SampleId;

export async function simulatedEngine(options: SimulatedEngineOptions): Promise<SimulatedEngine> {
  const { folder, device, rowCap, onMessage } = options;
  const time = new VirtualTime();
  const inside = new Set<SampleId>();
  const engine = new Engine({
    runtime: createSimulatedRuntime({
      latency: { ...device, latentArea: LATENT_AREA },
      pause: (ms) => time.advance(ms),
    }),
    settings: { providers: ['cpu'], rowCap },
    clock: time,
    post: (message) => {
      if (message.type === 'failed') throw new Error(message.failure.message);
      if (message.type === 'finished') inside.delete(message.sample);
      onMessage(message);
    },
  });
  const opened = await engine.open({
    ref: MODEL,
    task: 'diffusion',
    folder,
    warmUp: { width: USUAL_SIDE, height: USUAL_SIDE },
  });
  return {
    time,
    opened,
    submit: (job) => {
      inside.add(sampleId(job));
      engine.submit(sampleOf(job));
    },
    finish: async () => {
      const running = engine.run();
      // While a sample is in the engine, its runs make time pass.
      while (inside.size > 0 || time.skip()) await new Promise((resolve) => setImmediate(resolve));
      engine.close();
      await running;
    },
  };
}

const sampleOf = (job: PolicyJob): DiffusionSample => ({
  id: sampleId(job),
  task: 'diffusion',
  model: MODEL,
  lane: laneOf(job),
  prompt: `picture ${job.id}`,
  negativePrompt: '',
  width: job.side ?? USUAL_SIDE,
  height: job.side ?? USUAL_SIDE,
  steps: job.steps,
  guidance: job.guidance,
  seed: job.id,
  sampler: 'ddim',
  maxBatchMates: Number.MAX_SAFE_INTEGER,
});

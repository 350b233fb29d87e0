/** The API with a model that has several versions, and a worker that serves them. */
import {
  type Job,
  newWorkerId,
  parseRegistry,
  type Rollout,
  RolloutSchema,
} from '../../packages/shared/src/index.ts';
import type { Claim } from '../../packages/shared/src/queue/index.ts';
import type { StoredError } from '../../packages/shared/src/records/index.ts';
import { type ApiWorld, apiWorld } from './api-world.ts';
import { type asking, keyHolder } from './key-holder.ts';

export const QUEUE = { stable: 'diffusion.sd@1.64x64', canary: 'diffusion.sd@2.64x64' } as const;

const MODELS = `
models:
  - name: sd
    task: diffusion
    versions: [{ version: "1", path: a }, { version: "2", path: b, weight: 0 }, { version: "3", path: c, weight: 0 }]
    defaults: { width: 64, height: 64, steps: 8, guidance: 4, sampler: euler }
    limits: { min_size: 16, max_size: 128, size_step: 8, max_pixels: 12288, max_steps: 50, max_samples: 4 }
`;

const served = (version: string) => ({ ref: `sd@${version}`, batching: 'step', providers: {} }) as const;

export interface RolloutWorld extends ApiWorld {
  /** A worker serves these versions from now on. */
  serve(...versions: readonly string[]): Promise<void>;
  /** A separate worker serves each of these versions from now on. */
  serveApart(...versions: readonly string[]): Promise<void>;
  put(body: object): Promise<Response>;
  deploy(body: object): Promise<Rollout>;
  change(state: string, reason?: string): Promise<Response>;
  rollout(): Promise<Rollout>;
  /** Posts as this many keys, each as often as `times`; returns the models of each key's jobs. */
  postAs(keys: number, times: number): Promise<string[][]>;
}

export async function rolloutWorld(url: string): Promise<RolloutWorld> {
  const world = await apiWorld(url, { registry: parseRegistry(MODELS) });
  const read = async (response: Response): Promise<Rollout> =>
    RolloutSchema.strict().parse(await response.json());
  const put = (body: object): Promise<Response> => world.ask('PUT', '/v1/rollouts/sd', body);
  const others = Array.from({ length: 3 }, () => newWorkerId('manual'));
  let report = async (): Promise<void> => {};
  const rolloutWorld: RolloutWorld = {
    ...world,
    serve: (...versions) => {
      report = () => world.worker.report({ models: versions.map(served) });
      return report();
    },
    serveApart: (...versions) => {
      report = async () => {
        for (const [i, version] of versions.entries())
          await world.worker.report({ models: [served(version)], ...(i > 0 && { id: others[i - 1] }) });
      };
      return report();
    },
    put,
    deploy: async (body) => read(await put(body)),
    change: (state, reason) => world.ask('PATCH', '/v1/rollouts/sd', { state, reason }),
    rollout: async () => read(await world.ask('GET', '/v1/rollouts/sd')),
    postAs: async (keys, times) => {
      const models: string[][] = [];
      for (let i = 0; i < keys; i += 1) {
        // A busy machine may need longer for all of them than one report of a worker counts.
        await report();
        const { ask } = await keyHolder(world, 'acme');
        const own: string[] = [];
        for (let j = 0; j < times; j += 1) own.push((await postWith(ask)).model);
        models.push(own);
      }
      return models;
    },
  };
  await rolloutWorld.serve('1', '2');
  return rolloutWorld;
}

const JOB = { type: 'text-to-image', model: 'sd', input: { prompt: 'a red circle' } };

export async function postWith(ask: ReturnType<typeof asking>, changes: object = {}): Promise<Job> {
  const response = await ask('POST', '/v1/jobs', { ...JOB, ...changes });
  if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Job;
}

/** Ends a claimed job as a worker does, after so much device time in a batch of so many. */
export async function succeedAfter(
  { worker }: ApiWorld,
  claim: Claim,
  deviceMs: number,
  batchSize = 1,
  { waitedMs = 0, isMeasured = true } = {},
): Promise<void> {
  const denoise = deviceMs + waitedMs;
  const timings = { queued: 1, admitted: 1, text: 0, denoise, decode: 0, encode: 1, upload: 1 };
  const metrics = {
    queue_ms: 1,
    run_ms: denoise,
    total_ms: 7,
    batch_size: batchSize,
    worker: worker.id,
    timings,
    ...(isMeasured && { device_ms: deviceMs }),
  };
  await worker.endWith(claim, { output: { images: [] }, metrics });
}

/** How a job of one version ends: after so many device ms, or with an error. */
export type End = number | StoredError;

/** Posts a job, and ends it as `endOf` says for the version that it got. */
export async function runJob(
  world: RolloutWorld,
  endOf: (side: 'stable' | 'canary') => End,
  { input = {}, batchSize = 1 }: { readonly input?: object; readonly batchSize?: number } = {},
): Promise<'stable' | 'canary'> {
  const { model } = await postWith(world.ask, { input: { prompt: 'a red circle', ...input } });
  const side = model === 'sd@2' ? 'canary' : 'stable';
  const claim = await world.worker.take(QUEUE[side]);
  const end = endOf(side);
  await (typeof end === 'number'
    ? succeedAfter(world, claim, end, batchSize)
    : world.worker.fail(claim, end));
  return side;
}

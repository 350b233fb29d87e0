/** Workers as real processes on a real Redis, with jobs added directly to their queues. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';
import {
  groupQueueName,
  type JobId,
  type JobState,
  type TextToImageInput,
} from '../../packages/shared/src/index.ts';
import { placeOf } from '../../packages/shared/src/objects/made-at.ts';
import { isTerminal, type JobRecord } from '../../packages/shared/src/records/index.ts';
import { type LehrProcess, startLehr } from './lehr-process.ts';
import { type QueueWorld, queueWorld } from './queue-world.ts';
import { type SimulatedWorkerOptions, startSimulatedWorker } from './start-simulated-worker.ts';
import { TINY, tempFolder, tinyModels } from './tiny-models.ts';

export interface WorkerWorld extends Omit<QueueWorld, 'worker'> {
  readonly home: string;
  worker(env?: Record<string, string>): Promise<LehrProcess>;
  /** A worker on a simulated device; with `faulty`, its engine crashes or hangs on marked prompts. */
  simulated(settings?: Partial<SimulatedWorkerOptions>): Promise<LehrProcess>;
  draw(input?: Partial<TextToImageInput>, fields?: Parameters<QueueWorld['submit']>[0]): Promise<JobId>;
  /** Resolves with the record when it is in `state`, or, without `state`, when it has ended. */
  reached(id: JobId, state?: JobState): Promise<JobRecord>;
  readObject(key: string): Promise<Uint8Array>;
}

export async function workerWorld(redisUrl: string, models?: string): Promise<WorkerWorld> {
  const world = await queueWorld(redisUrl);
  const home = await tempFolder('home');
  const file = models ?? (await tinyModels());
  const namespace = world.keys.prefix.slice(1, -1);
  return {
    ...world,
    home,
    worker: async (env = {}) => {
      const worker = startLehr('worker', {
        LEHR_HOME: home,
        LEHR_REDIS_URL: redisUrl,
        LEHR_NAMESPACE: namespace,
        LEHR_MODELS: file,
        LEHR_WORKER_PORT: '0',
        LEHR_DEVICE: 'cpu',
        LEHR_ROW_CAP: '16',
        ...env,
      });
      await worker.logged('worker serves');
      return worker;
    },
    simulated: (settings = {}) =>
      startSimulatedWorker({ redisUrl, namespace, modelsFile: file, home, ...settings }),
    draw: (input = {}, fields = {}) => {
      const complete: TextToImageInput = {
        prompt: 'a red circle',
        negative_prompt: '',
        width: TINY.width,
        height: TINY.height,
        steps: 8,
        guidance: 5,
        seed: 1,
        sampler: 'ddim',
        n: 1,
        output_format: 'png',
        embed_prompt: false,
        ...input,
      };
      const { width, height } = complete;
      const queue = groupQueueName({ task: 'diffusion', model: TINY, width, height });
      return world.submit({ model: TINY.ref, queue, input: complete, ...fields });
    },
    reached: (id, state) =>
      vi.waitFor(
        async () => {
          const record = await world.records.read(id);
          const isReached = record && (state ? record.state === state : isTerminal(record.state));
          if (!isReached) throw new Error(`job ${id} is ${record?.state}`);
          return record;
        },
        { timeout: 30_000, interval: 20 },
      ),
    readObject: async (key) => {
      const path = placeOf(key);
      // The folder store writes one header line before the body.
      const file = await readFile(join(home, 'objects', `${path},object`));
      return file.subarray(file.indexOf(10) + 1);
    },
  };
}

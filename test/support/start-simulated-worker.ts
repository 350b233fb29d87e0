/** Starts a worker on a simulated device as a real process. */
import { pathToFileURL } from 'node:url';
import { bundle } from './bundle.ts';
import { type LehrProcess, startProgram } from './lehr-process.ts';
import { asUser } from './redis-server.ts';
import type { SimulatedWorkerSettings } from './simulated-worker.ts';

type Where = Pick<SimulatedWorkerSettings, 'redisUrl' | 'namespace' | 'modelsFile' | 'home'>;

export interface SimulatedWorkerOptions extends Where, Partial<Omit<SimulatedWorkerSettings, keyof Where>> {
  /** The engine crashes, hangs or fails on marked prompts (faulty-engine.ts). */
  readonly faulty?: boolean;
  readonly nodeFlags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Resolves when the worker claims jobs. */
export async function startSimulatedWorker(options: SimulatedWorkerOptions): Promise<LehrProcess> {
  const { nodeFlags = [], env = {} } = options;
  const { program, settings } = await simulatedWorker(options);
  const worker = startProgram(program, env, [settings], nodeFlags);
  await worker.logged('simulated worker serves');
  return worker;
}

/** The program of a worker on a simulated device, and its one argument. */
export async function simulatedWorker({
  faulty = false,
  nodeFlags: _flags,
  env: _env,
  ...settings
}: SimulatedWorkerOptions): Promise<{ readonly program: string; readonly settings: string }> {
  const program = await bundle('./simulated-worker.ts', import.meta.url);
  const engine = faulty
    ? pathToFileURL(await bundle('./faulty-engine.ts', import.meta.url)).href
    : new URL('../../apps/worker/dist/engine/process.js', import.meta.url).href;
  const complete: SimulatedWorkerSettings = {
    latency: { stepBaseMs: 2, stepPerRowMs: 2, pictureMs: 2, textMs: 1 },
    engineEntry: engine,
    rowCap: 16,
    leaseMs: 30_000,
    stalledCheckMs: 5_000,
    silenceMs: 60_000,
    drainMs: 10_000,
    times: {},
    checkpoints: null,
    logsSteps: false,
    neverWakes: false,
    ...settings,
    redisUrl: asUser(settings.redisUrl, 'worker'),
  };
  return { program, settings: JSON.stringify(complete) };
}

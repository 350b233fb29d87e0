/** Runs a scenario with both policies, once. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion } from '../../../packages/demo-models/src/index.ts';
import { type Device, scaledWindowMs } from './devices.ts';
import type { Ended } from './endings.ts';
import type { Scenario } from './scenarios.ts';
import { classic, lehr, type SideOptions } from './sides.ts';

export interface PolicyRun {
  readonly device: Device;
  readonly ended: readonly Ended[];
  /** Calls of the UNet, in virtual ms. */
  readonly steps: readonly { readonly atMs: number; readonly rows: number }[];
}

export interface BothRuns {
  readonly lehr: PolicyRun;
  readonly classic: PolicyRun;
}

const known = new Map<string, Promise<BothRuns>>();

/** A scenario of the same name is run once. The classic side has the scaled window. */
export function runBoth(scenario: Scenario): Promise<BothRuns> {
  const run = known.get(scenario.name) ?? runAnew(scenario);
  known.set(scenario.name, run);
  return run;
}

async function runAnew(scenario: Scenario): Promise<BothRuns> {
  const { device, jobs } = scenario;
  const folder = await mkdtemp(join(tmpdir(), 'lehr-policy-'));
  const side = async (policy: (options: SideOptions) => Promise<Ended[]>): Promise<PolicyRun> => {
    const steps: { atMs: number; rows: number }[] = [];
    const onStep = (atMs: number, rows: number): void => void steps.push({ atMs, rows });
    const next = scenario.next?.();
    const ended = await policy({ folder, device: device.latency, onStep, ...(next && { next }) });
    return { device, ended, steps };
  };
  try {
    await writeTinyDiffusion(folder, { seed: 5, timestepType: 'float32' });
    return {
      lehr: await side((options) => lehr(options, jobs)),
      classic: await side((options) => classic({ ...options, windowMs: scaledWindowMs(device) }, jobs)),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

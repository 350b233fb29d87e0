/** Loads: which jobs arrive when, and what a user posts after its last picture. The same seed gives the same jobs. */
import { Random } from '../../../test/support/random.ts';
import type { Device } from './devices.ts';
import type { Ended } from './endings.ts';
import { aloneMs, capacity, MEAN_AREA, type PolicyJob, poissonMix, withSizes } from './load.ts';

export interface Scenario {
  readonly name: string;
  readonly device: Device;
  readonly jobs: readonly PolicyJob[];
  /** 4, 20 and 50 steps. */
  readonly hasMix: boolean;
  /** A fresh one for each run: it counts. */
  readonly next?: () => (ended: Ended) => PolicyJob | undefined;
}

const SEED = 1;
const JOBS = 160;
const MOST_ROWS = 16;

/** Poisson arrivals of the mix, at a share of what the device can do with full batches. */
export const poisson = (device: Device, load: number): Scenario => ({
  name: `${device.name}, Poisson, load ${load}`,
  device,
  hasMix: true,
  jobs: poissonMix(JOBS, load * capacity(device.latency, MOST_ROWS), { seed: SEED, tenants: 1 }),
});

/** The same with three sizes, one group for each size: Lehr has a lane for each, and they share the device. */
export const poissonOfSizes = (device: Device, load: number): Scenario => ({
  name: `${device.name}, three sizes, Poisson, load ${load}`,
  device,
  hasMix: true,
  jobs: withSizes(
    poissonMix(JOBS, load * capacity(device.latency, MOST_ROWS, MEAN_AREA), { seed: SEED, tenants: 1 }),
    SEED + 1,
  ),
});

/** Users that arrive at 0.02 a second and post the next picture of 20 steps when the last one is there. */
const USER_EVERY_MS = 50_000;
const AFTER_LAST_MS = 250_000;

export function closedLoop(device: Device, users: number): Scenario {
  const first = Array.from({ length: users }, (_, i) => ({
    id: i,
    arrivesAt: i * USER_EVERY_MS,
    steps: 20,
    guidance: 8.2,
    tenant: `user-${i}`,
  }));
  return {
    name: `${device.name}, closed loop, ${users === 1 ? 'one user' : `${users} users arriving at 0.02/s`}`,
    device,
    hasMix: false,
    jobs: first,
    next: () => {
      const end = users * USER_EVERY_MS + AFTER_LAST_MS;
      let id = users;
      return ({ job, endedAt }) => (endedAt < end ? { ...job, id: id++, arrivesAt: endedAt } : undefined);
    },
  };
}

/** The same with three sizes: each user keeps one. */
export function closedLoopOfSizes(device: Device, users: number): Scenario {
  const loop = closedLoop(device, users);
  return { ...loop, name: `${loop.name}, three sizes`, jobs: withSizes(loop.jobs, SEED + 1) };
}

/** Everything at once, with the steps and guidance scales of the mix. */
export const burst = (device: Device, count: number): Scenario => ({
  name: `${device.name}, a burst of ${count} jobs of the mix`,
  device,
  hasMix: true,
  jobs: poissonMix(count, 1, { seed: SEED, tenants: 1 }).map((job) => ({ ...job, arrivesAt: 0 })),
});

/** 40 minutes stand for a day: arrivals follow a sine from a tenth of what the device can do to 1.2 of it. */
const DAY_MS = 2_400_000;
const [LEAST, MOST] = [0.1, 1.2];

export function dayOf(device: Device): Scenario {
  const most = MOST * capacity(device.latency, MOST_ROWS);
  const random = new Random(SEED);
  const share = (at: number): number =>
    (LEAST + (MOST - LEAST) * (0.5 - 0.5 * Math.cos((2 * Math.PI * at) / DAY_MS))) / MOST;
  const all = poissonMix(Math.ceil(most * DAY_MS), most, { seed: SEED, tenants: 1 });
  return {
    name: `${device.name}, a day in 40 minutes, load ${LEAST} to ${MOST}`,
    device,
    hasMix: true,
    jobs: all.filter(({ arrivesAt }) => random.next() < share(arrivesAt)),
  };
}

export const slowdownOf = ({ latency }: Device, { job, endedAt }: Ended): number =>
  (endedAt - job.arrivesAt) / aloneMs(latency, job);

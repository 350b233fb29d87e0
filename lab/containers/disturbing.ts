/** What happens to containers: restarts, kills, scaling, upgrades, lost volumes. Jobs run meanwhile; the invariants are judged after it. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { JOBS } from '../scene.ts';
import { compose, composeIn, containersOf, inspected, processesOf, run } from './compose.ts';
import { WORK } from './results.ts';
import { firstPicture } from './using.ts';
import { READY, type Scene } from './world.ts';

const { startEngine, stopEngine } = (await import(new URL('./engine.mjs', import.meta.url).href)) as {
  startEngine(): Promise<void>;
  stopEngine(): Promise<void>;
};
/** Whatever is not up is started, as a person would. */
const UP = ['up', '--detach', '--wait'];
const since = (began: number): string => `${((performance.now() - began) / 1000).toFixed(1)} s`;

/** Seconds until the API can take jobs and a worker can run them; for a worker, until its models are open. */
async function readyAgain(service?: string): Promise<string> {
  const began = performance.now();
  const asked = ['exec', '-T', 'worker-cpu', 'node', 'infra/docker/healthy.mjs', '9464', '/readyz'];
  const ready = (): Promise<boolean> =>
    (service === 'worker-cpu' ? compose(...asked).then(() => true) : fetch(READY).then(({ ok }) => ok)).catch(
      () => false,
    );
  await expect.poll(ready, { timeout: 300_000 }).toBe(true);
  return since(began);
}

/** Disturbs jobs that run. A drain may end those that had begun, but work must be left after it. */
async function whileJobsRun(
  scene: Scene,
  disturb: () => Promise<string>,
  service?: string,
  count?: number,
): Promise<string> {
  const { ids, begun } = await scene.running(count);
  const seen = await disturb();
  const over = Date.now();
  const ready = await readyAgain(service);
  const jobs = await Promise.all(ids.map((id) => scene.client.ended(id, 900_000)));
  const after = jobs.filter((job) => Date.parse(job?.finished_at ?? '') > over).length;
  expect(after, 'jobs that ended after it').toBeGreaterThan(0);
  return `${seen}; ready ${ready} later; ${begun.length} of ${ids.length} jobs ran, and ${after} ended after it`;
}

export const restarted = (service: string) => (scene: Scene) =>
  whileJobsRun(
    scene,
    async () => {
      await compose('restart', service);
      return 'restarted';
    },
    service,
  );

/** The program itself is killed, not its init process, as the kernel does when memory is short. */
export const killed = (service: string) => (scene: Scene) =>
  whileJobsRun(
    scene,
    async () => {
      const [container] = await containersOf(service);
      const restarts = async (): Promise<number> => Number(await inspected(container, '{{.RestartCount}}'));
      const before = await restarts();
      const [pid] = await processesOf(container);
      process.kill(pid, 'SIGKILL');
      await expect.poll(restarts).toBe(before + 1);
      return 'Docker started it again';
    },
    service,
  );

export async function drained(scene: Scene): Promise<string> {
  // Longer than LEHR_DRAIN_S.
  const { ids } = await scene.running();
  const [container] = await containersOf('worker-cpu');
  const began = performance.now();
  await compose('stop', 'worker-cpu');
  const took = since(began);
  expect(await inspected(container, '{{.State.ExitCode}}')).toBe('0');
  const jobs = await Promise.all(ids.map((id) => scene.client.read(id)));
  for (const job of jobs)
    expect([job?.status, job?.attempt]).toBeOneOf([
      ['queued', 0],
      ['succeeded', 1],
    ]);
  await compose(...UP);
  const queued = jobs.filter((job) => job?.status === 'queued').length;
  expect(queued).toBeGreaterThan(0);
  return `stopped after ${took} with exit code 0; ${queued} of ${ids.length} jobs went back to the queue without an attempt spent`;
}

export async function scaled(scene: Scene): Promise<string> {
  await compose(...UP, '--scale', 'worker-cpu=2');
  const ids = await scene.slowJobs(2 * JOBS);
  const jobs = await Promise.all(ids.map((id) => scene.client.ended(id, 900_000)));
  const workers = new Set(jobs.map((job) => job?.metrics?.worker));
  await compose(...UP);
  expect(workers.size).toBe(2);
  return `${ids.length} jobs were shared by ${workers.size} workers`;
}

export const recreated = (scene: Scene) =>
  whileJobsRun(scene, async () => {
    const began = performance.now();
    await compose(...UP, '--force-recreate');
    return `all containers are new after ${since(began)}`;
  });

export const rebooted = (scene: Scene) =>
  whileJobsRun(scene, async () => {
    const began = performance.now();
    await stopEngine();
    const stopped = since(began);
    await startEngine();
    return `the engine stopped after ${stopped} and started`;
  });

export const downAndUp = (scene: Scene) =>
  whileJobsRun(scene, async () => {
    await compose('down');
    await compose(...UP);
    return 'the jobs of before went on';
  });

export async function volumesLost(scene: Scene): Promise<string> {
  const id = await scene.client.submitUntilAccepted();
  expect((await scene.client.ended(id))?.status).toBe('succeeded');
  await compose('down', '--volumes');
  await compose(...UP);
  expect(await scene.client.read(id)).toBeUndefined();
  scene.forget();
  await firstPicture(scene);
  return 'the job of before is unknown, and the key of infra/.env draws the next picture';
}

/** Begins with the commit before, built from its own files, and takes the order of docs/compose.md. */
export async function upgraded(scene: Scene): Promise<string> {
  const before = join(WORK, 'before');
  const from = (await run('git', ['rev-parse', process.env.LAB_FROM ?? 'HEAD~1'])).trim();
  await run('git', ['worktree', 'add', '--force', '--detach', before, from]);
  try {
    await compose('down', '--volumes');
    await composeIn(before, 'build', 'api', 'worker-cpu');
    await composeIn(before, ...UP);
    await compose('build', 'api', 'worker-cpu');
    const doctor = ['node', 'apps/worker/dist/programs/doctor/main.js', '--upgrade'];
    const plan = await compose('run', '--rm', '--no-deps', '-T', 'worker-cpu', ...doctor);
    const upgrade = async (): Promise<string> => {
      for (const service of ['api', 'worker-cpu'])
        await compose('up', '--detach', '--no-deps', '--wait', service);
      await compose(...UP);
      return `from ${from.slice(0, 12)}; the doctor said ${plan.trim().split('\n').at(-1)}`;
    };
    // More jobs than the worker can end while it drains.
    return await whileJobsRun(scene, upgrade, undefined, 5 * JOBS);
  } finally {
    await run('git', ['worktree', 'remove', '--force', before]);
  }
}

/** The chart on a real kubelet. Every scene in its order; one that fails is reported, and the next one runs all the same. */
import { afterAll, beforeAll, test } from 'vitest';
import type { Scene } from '../scene.ts';
import {
  canary,
  configured,
  confined,
  deleted,
  drained,
  firstJob,
  installed,
  killed,
  redisDeleted,
  scaled,
  upgraded,
} from './kubelet-scenes.ts';
import { newScene, plane, seconds, startCluster } from './kubelet-world.ts';
import { recordRow } from './results.ts';

/** Name, sentence, what is done; it resolves to what was seen. */
type Row = readonly [string, string, (scene: Scene) => Promise<string>];

/** Images are imported first. */
const START_MS = 1_200_000;
const COMPONENTS = ['api', 'worker', 'redis', 's3'];
const INSTALLATION: readonly (readonly [string, string, () => Promise<string>])[] = [
  ['install', 'The chart is installed with the commands of the page', installed],
  ['first-job', 'helm test, and the first job through port-forward', firstJob],
];
const SCENES: readonly Row[] = [
  ['configure', 'Other values for the API, and a job through its Service', configured],
  ['confined', 'Containers have the users and rights that the chart gives them', confined],
  ...COMPONENTS.map(
    (name): Row => [`kill-${name}`, `kill -9 of the container of ${name} while jobs run`, killed(name)],
  ),
  ...COMPONENTS.map(
    (name): Row => [`delete-${name}`, `The pod of ${name} is deleted while jobs run`, deleted(name)],
  ),
  ['redis-waiting', 'The pod of Redis is deleted while all jobs wait', redisDeleted],
  ['upgrade', 'The upgrade of the page while jobs run', upgraded],
  ['drain', 'The node is drained while jobs run, and opened again', drained],
  ['scale', 'From no worker to two and back', scaled],
  ['canary', 'A new version of a model for half of the jobs, promoted', canary],
];
const wanted = (process.env.LAB_SCENES ?? '').split(',').filter(Boolean);
const chosen = SCENES.filter(([name]) => wanted.length === 0 || wanted.includes(name));

beforeAll(startCluster, START_MS);
afterAll(() => plane.stop());

test.each(INSTALLATION)('%s: %s', (name, sentence, act) => noted(name, sentence, async () => [await act()]));

test.each(chosen)('%s: %s', (name, sentence, act) =>
  noted(name, sentence, async () => {
    const scene = await newScene();
    await scene.clear();
    const seen = await act(scene);
    const { violations, accepted, repeatedAttempts } = await scene.judged();
    if (violations.length > 0) throw new Error(violations.join('; '));
    return [seen, accepted, repeatedAttempts];
  }),
);

async function noted(
  name: string,
  sentence: string,
  act: () => Promise<readonly [seen: string, jobs?: number, repeated?: number]>,
): Promise<void> {
  const began = performance.now();
  const row = { name, sentence };
  try {
    const [seen, jobs = 0, repeated = 0] = await act();
    recordRow('kubelet', { ...row, passed: true, seconds: seconds(began), jobs, repeated, seen });
  } catch (error) {
    const { message, cause } = error as Error;
    // A fetch that failed says why only in its cause.
    const seen = `${message}${cause ? `: ${cause}` : ''}`.slice(0, 2000);
    recordRow('kubelet', {
      ...row,
      passed: false,
      seconds: seconds(began),
      jobs: 0,
      repeated: 0,
      seen,
    });
    throw error;
  } finally {
    plane.check();
  }
}

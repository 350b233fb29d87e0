/** Every scene in its order. A scene that fails is reported, and the next one runs all the same. */
import { afterAll, test } from 'vitest';
import { byCompose, byDocker, byPodman, cuda, imagesOf } from './building.ts';
import { run } from './compose.ts';
import {
  downAndUp,
  drained,
  killed,
  rebooted,
  recreated,
  restarted,
  scaled,
  upgraded,
  volumesLost,
} from './disturbing.ts';
import { keep } from './results.ts';
import { confined, prometheus, speech, studio, up, webhook } from './using.ts';
import { endFollowing, newScene, type Scene } from './world.ts';

/** Name, sentence, what is done; it resolves to what was seen. */
type Row = readonly [string, string, (scene: Scene) => Promise<string>];

const BUILDS: readonly Row[] = [
  ['build', 'Compose builds the images of the API and the CPU worker', byCompose],
];
const SCENES: readonly Row[] = [
  ['up', 'Compose starts everything, and the first job draws its picture', up],
  ['confined', 'Containers have the users and rights that compose.yaml gives them', confined],
  ['speech', 'Speech is transcribed from every format of file', speech],
  ['studio', 'A person draws in the studio', studio],
  ['webhook', 'A webhook reaches another container', webhook],
  ['prometheus', 'Prometheus of the profile observe scrapes API and workers', prometheus],
  ...['redis', 's3', 'api', 'worker-cpu'].flatMap((service): Row[] => [
    [`restart-${service}`, `docker compose restart ${service} while jobs run`, restarted(service)],
    [`kill-${service}`, `kill -9 of the program in ${service} while jobs run`, killed(service)],
  ]),
  ['drain', 'docker compose stop worker-cpu while jobs run', drained],
  ['scale', 'A second worker takes its part', scaled],
  ['recreate', 'All containers are made anew while jobs run', recreated],
  ['reboot', 'The engine stops and starts while jobs run', rebooted],
  ['down', 'docker compose down, then up, while jobs run', downAndUp],
  ['lost', 'All volumes are lost', volumesLost],
  ['upgrade', 'An installation of the commit before is upgraded while jobs run', upgraded],
];
/** After the scenes, which run the images of Compose, because these take the longest. */
const MORE_BUILDS: readonly Row[] = [
  ['build-podman', 'podman builds them', byPodman],
  ['cuda', 'The CUDA image is built and loads its provider', cuda],
  ['build-buildkit', "Debian's docker build builds them with BuildKit", byDocker('1')],
  ['build-classic', "Debian's docker build builds them with the classic builder", byDocker('0')],
];
const wanted = (process.env.LAB_SCENES ?? '').split(',').filter(Boolean);
const commit = (await run('git', ['rev-parse', '--short=12', 'HEAD'])).trim();
const all = [...BUILDS, ...SCENES, ...MORE_BUILDS];
const chosen = all.filter(([name]) => wanted.length === 0 || wanted.includes(name));
// For the page, which names those that have no result.
keep(
  'scenes',
  all.map(([name]) => name),
);

test.each(chosen)('%s: %s', async (name, sentence, act) => {
  const place = all.findIndex(([each]) => each === name);
  const scene = await newScene();
  await scene.clear();
  const began = performance.now();
  const note = (passed: boolean, seen: string, jobs = 0, repeated = 0): void => {
    const seconds = Math.round((performance.now() - began) / 1000);
    keep(name, { place, name, sentence, seconds, seen, passed, commit, jobs, repeated });
  };
  try {
    const seen = await act(scene);
    const isJudged = SCENES.some(([each]) => each === name);
    const { violations, accepted, repeatedAttempts } = isJudged
      ? await scene.judged()
      : { violations: [], accepted: 0, repeatedAttempts: 0 };
    if (violations.length > 0) throw new Error(violations.join('; '));
    note(true, seen, accepted, repeatedAttempts);
  } catch (error) {
    note(false, (error as Error).message.slice(0, 2000));
    throw error;
  }
});

afterAll(async () => {
  endFollowing();
  const built = ['api', 'worker-cpu', ...(chosen.some(([name]) => name === 'cuda') ? ['worker-cuda'] : [])];
  keep('images', await imagesOf(built.map((name) => `lehr-${name}`)));
});

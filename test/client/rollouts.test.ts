import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Fetch, listen } from '../../apps/api/src/http/listen.ts';
import { parseRegistry } from '../../packages/shared/src/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { API_KEY } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type RolloutWorld, rolloutWorld } from '../support/rollout-world.ts';
import { lehrFor, lehrShell } from './lehr-command.ts';

const BLOCKS = blocksOf(readText('docs/rollouts.md'));

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('The commands of docs/rollouts.md work in their order', { tags: ['long'] }, async () => {
  const world = await rolloutWorld(server.url);
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(world.app.fetch);
  const { run } = await lehrShell({
    LEHR_URL: `http://127.0.0.1:${listener.port}`,
    LEHR_API_KEY: API_KEY,
  });
  // A report of a worker counts for ten seconds, and the commands take longer.
  const reports = setInterval(() => void world.serve('1', '2'), 2000);
  onTestFinished(() => clearInterval(reports));
  const shell = async (label: string): Promise<string> => {
    const [block] = BLOCKS.filter((each) => each.language === 'sh' && each.label === label);
    return run(block.text);
  };
  const deployed = await shell('deploy');
  expect(deployed).toMatch(/sd@2 gets 10% of the callers\nsharper hands\n/);
  expect(deployed).toMatch(/sd +running +1 +2 +10% +0 +0 +root +sharper hands/);
  expect(deployed).toMatch(
    /gets 50%[\s\S]*is paused: all callers get 1[\s\S]*is promoted: all callers get it/,
  );
  expect((await world.rollout()).history.map(({ action }) => action)).toEqual([
    'promoted',
    'resumed',
    'paused',
    'changed',
    'deployed',
  ]);
  expect(await shell('rollback')).toMatch(
    /sd@2 is rolled back: all callers get 1\ncolours are off\n[\s\S]*sd has no rollout any more/,
  );
  const automatic = await shell('automatic');
  expect(automatic).toMatch(/promoted after 500 of its jobs in each step of 10%, 50%, 100%; 0 ended/);
  expect(automatic).toMatch(/is not rolled back by itself[\s\S]*from 400 on it is rolled back/);
  expect(BLOCKS.filter(({ language }) => language === 'sh').map(({ label }) => label)).toEqual([
    'deploy',
    'rollback',
    'automatic',
  ]);
});

test('The entry for models.yaml in docs/rollouts.md is accepted, and no job gets the new version', () => {
  const [{ text }] = BLOCKS.filter(({ language }) => language === 'yaml');
  const registry = parseRegistry(text);
  for (const fraction of [0, 0.5, 0.999]) {
    expect(registry.resolve('diffusion', 'sd', fraction).ref).toEqual({ name: 'sd', version: '1' });
  }
});

/** Serves the API of a world; returns the command `lehr` for it. */
async function commandFor(fetch: Fetch): Promise<ReturnType<typeof lehrFor>> {
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(fetch);
  return lehrFor({ url: `http://127.0.0.1:${listener.port}`, key: API_KEY });
}

/** Another administrator ends the rollout and begins another one. */
async function replaceRollout(world: RolloutWorld): Promise<string> {
  await world.serve('1', '2');
  await world.change('rolled-back');
  const { id } = await world.deploy({ version: '2', weight: 20 });
  return id;
}

test('lehr models rollback --rollout ends only the rollout with this id', async () => {
  const world = await rolloutWorld(server.url);
  const { id } = await world.deploy({ version: '2', weight: 10 });
  const replaced = await replaceRollout(world);
  const lehr = await commandFor(world.app.fetch);
  const rollBack = (rollout: string) => lehr(['models', 'rollback', 'sd', '--rollout', rollout]);
  expect(await rollBack(id)).toMatchObject({ code: 65, stderr: expect.stringContaining(`not ${id}.`) });
  expect(await world.rollout()).toMatchObject({ id: replaced, state: 'running' });
  expect(await rollBack(replaced)).toMatchObject({ code: 0 });
  expect(await world.rollout()).toMatchObject({ id: replaced, state: 'rolled-back' });
});

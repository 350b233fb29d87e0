import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError } from './errors.ts';
import { homeSecret } from './home.ts';

async function home(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-home-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'data');
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

test('A secret is generated once, readable only by its owner, and read from then on', async () => {
  const folder = await home();
  const made = await homeSecret(folder, 'api-key');
  expect(made).toMatchObject({ created: true, path: join(folder, 'api-key') });
  expect(made.value).toMatch(/^lehr_local_[A-Za-z0-9]{8}_[A-Za-z0-9]{43}$/);
  expect(await modeOf(made.path)).toBe(0o600);
  expect(await homeSecret(folder, 'api-key')).toEqual({ ...made, created: false });
  expect((await homeSecret(folder, 'store-secret')).value.length).toBeGreaterThanOrEqual(32);
});

test('Of many processes that start at once exactly one generates the secret, and all get the same one', async () => {
  const folder = await home();
  const all = await Promise.all(Array.from({ length: 20 }, () => homeSecret(folder, 'api-key')));
  expect(new Set(all.map(({ value }) => value)).size).toBe(1);
  expect(all.filter(({ created }) => created)).toHaveLength(1);
  expect(await readdir(folder)).toEqual(['api-key']);
});

test('A secret file that other users can read is restricted to its owner', async () => {
  const folder = await home();
  const { path } = await homeSecret(folder, 'api-key');
  await chmod(path, 0o644);
  await homeSecret(folder, 'api-key');
  expect(await modeOf(path)).toBe(0o600);
});

test('The error for an unusable secret names the file and does not show its content', async () => {
  const folder = await home();
  const { path } = await homeSecret(folder, 'api-key');
  await writeFile(path, 'hunter2');
  const refused = homeSecret(folder, 'api-key');
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(/api-key holds 7 characters, wanted at least 20/);
});

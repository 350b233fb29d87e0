import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { ModelsWatch, type ModelsWatchOptions, readModelsFile } from './models-watch.ts';

const models = (...names: string[]): string =>
  names
    .map((name) => `  - { name: ${name}, task: diffusion, versions: [{ version: "1", path: ${name} }] }\n`)
    .reduce((text, entry) => text + entry, 'models:\n');

/** A watch whose checks happen when the test calls `check`; `write` writes the file. */
async function world(fault?: ModelsWatchOptions['fault']) {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-watch-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'models.yaml');
  await writeFile(path, models('one'));
  const file = await readModelsFile(path);
  let wake = (): void => {};
  let onSleep = (): void => {};
  const sleep = (_ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
      signal?.addEventListener('abort', () => resolve());
      onSleep();
    });
  let changes = 0;
  const watch = new ModelsWatch({
    models: file,
    clock: { ...systemClock, sleep },
    log: silentLog,
    onChanged: () => {
      changes += 1;
    },
    ...(fault && { fault }),
  });
  watch.start();
  onTestFinished(() => watch.stop());
  return {
    watch,
    changes: () => changes,
    names: () => file.registry.models.map(({ name }) => name),
    write: (text: string) => writeFile(path, text),
    remove: () => rm(path),
    /** Resolves when the next check has ended. */
    check: () =>
      new Promise<void>((resolve) => {
        onSleep = resolve;
        wake();
      }),
  };
}

test('A change is in force when two checks have found the same text, so that a half-written file is not taken', async () => {
  const { write, check, names, changes } = await world();
  await write(models('one', 'half'));
  await check();
  expect(names()).toEqual(['one']);
  await write(models('one', 'half', 'whole'));
  await check();
  expect(names()).toEqual(['one']);
  await check();
  expect(names()).toEqual(['one', 'half', 'whole']);
  await check();
  expect(changes()).toBe(1);
});

test('A requested reload takes the text at once', async () => {
  const { watch, write, names } = await world();
  await write(models('two'));
  await watch.reload();
  expect(names()).toEqual(['two']);
});

test('A file with a fault is a problem until it can be used or says again what is in force', async () => {
  const { watch, write, check, names, changes } = await world();
  await write('models: [');
  await check();
  expect(watch.problem).toBeUndefined();
  await check();
  expect(watch.problem).toContain('models.yaml is not YAML');
  expect(names()).toEqual(['one']);
  await write(models('one'));
  await check();
  expect(watch.problem).toBeUndefined();
  expect(changes()).toBe(0);
});

test('A file that is missing at one check only is no problem', async () => {
  const { watch, write, remove, check } = await world();
  await remove();
  await check();
  expect(watch.problem).toBeUndefined();
  await write(models('one'));
  await check();
  await remove();
  await check();
  await check();
  expect(watch.problem).toContain('ENOENT');
});

test('Models that this program cannot use are refused with its reason', async () => {
  const { watch, write, names } = await world(({ models: [first] }) =>
    first.name === 'bad' ? 'it is bad' : undefined,
  );
  await write(models('bad'));
  await watch.reload();
  expect(watch.problem).toBe('it is bad');
  expect(names()).toEqual(['one']);
});

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { silentLog, systemClock } from '@lehr/shared';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { filesState } from '../../engine/folder/files-state.ts';
import type { ModelToOpen, OpenedModel } from '../../engine/protocol/messages.ts';
import { EngineModels } from './engine-models.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-models-'));
  await writeFile(join(folder, 'model.onnx'), 'one');
});
afterEach(() => rm(folder, { recursive: true }));

const REF = 'tiny@1';

async function openModels() {
  let reads = (): void => {};
  const model: ModelToOpen = {
    ref: REF,
    get folder() {
      reads();
      return folder;
    },
    task: 'text',
  };
  const written: string[] = [];
  const models = new EngineModels({
    models: [model],
    clock: systemClock,
    log: silentLog,
    open: () => {},
    close: () => {},
    onWritten: (ref) => written.push(ref),
    onPartChanged: () => {},
  });
  const result = { models: [{ ref: REF } as OpenedModel], unavailable: [] };
  const open = async () => {
    const prepared = await models.prepare();
    return () => models.reset(result, prepared);
  };
  /** Begins to read the files. The function that it returns ends the check. */
  const check = async () => {
    const reading = new Promise<void>((resolve) => {
      reads = resolve;
    });
    const stop = models.watch(() => true);
    await reading;
    return stop;
  };
  return { models, open, check, written };
}

test('A file that is written while a model is opened, or soon after, takes the model out of service', async () => {
  const { models, open, check, written } = await openModels();
  const opened = await open();
  await writeFile(join(folder, 'model.onnx'), 'two');
  opened();
  await (await check())();
  expect(written).toEqual([REF]);
  expect(models.served).toEqual([]);
});

test('A model that a new engine has opened while its files were read stays in service', async () => {
  const { models, open, check, written } = await openModels();
  (await open())();
  await writeFile(join(folder, 'model.onnx'), 'two');
  const openedAgain = await open();
  const endCheck = await check();
  models.reset();
  openedAgain();
  await endCheck();
  expect(written).toEqual([]);
  expect(models.served).toMatchObject([{ ref: REF }]);
});

/** With a memory budget. `opened`: whether the engine has opened the model, or is still opening it. */
async function limitedModels(opened: boolean) {
  const model: ModelToOpen = { ref: REF, folder, task: 'text' };
  const clock = { now: () => 0, monotonic: () => 0, sleep: async () => {} };
  const ignore = (): void => {};
  const options = {
    models: [model],
    clock,
    log: silentLog,
    open: ignore,
    close: ignore,
    onWritten: ignore,
    onPartChanged: ignore,
  };
  const models = new EngineModels({ ...options, isLimited: true });
  models.load(model, await filesState(folder));
  if (opened) models.add({ ref: REF } as OpenedModel);
  return models;
}

test('A model that was being unloaded when the engine died is opened by the next one, which gets its jobs', async () => {
  const models = await limitedModels(true);
  models.unload(REF);
  expect(models.places).toMatchObject([{ state: 'unloading' }]);
  models.reset();
  expect(await models.prepare()).toMatchObject([{ model: { ref: REF } }]);
});

test('A model that is no longer wanted still takes memory until it is closed', async () => {
  const models = await limitedModels(true);
  expect(models.leaving).toEqual([]);
  models.want([]);
  expect(models.places).toEqual([]);
  expect(models.leaving).toMatchObject([{ ref: REF }]);
  models.closeUnloaded(() => false);
  expect(models.leaving).toEqual([]);
});

test('With a memory budget, a model at whose opening the engine died is not opened by the next one', async () => {
  const models = await limitedModels(false);
  expect(models.places).toMatchObject([{ state: 'loading' }]);
  models.reset();
  expect(await models.prepare()).toEqual([]);
  models.reset({ models: [], unavailable: [] }, []);
  expect(models.unavailable).toMatchObject([{ ref: REF, failure: { code: 'engine-failed' } }]);
});

test('A check of the models that fails is reported, and later checks are made all the same', async () => {
  const model: ModelToOpen = { ref: REF, folder, task: 'text' };
  const fault = new Error('not now');
  const warnings: unknown[] = [];
  let isUsed = (): boolean => {
    isUsed = () => false;
    throw fault;
  };
  let stop: (() => Promise<void>) | undefined;
  const closed = new Promise<string>((resolve) => {
    const models = new EngineModels({
      models: [],
      clock: { ...systemClock, sleep: () => setImmediate() },
      log: { warn: ({ error }) => warnings.push(error) },
      open: () => {},
      close: resolve,
      onWritten: () => {},
      onPartChanged: () => {},
    });
    models.reset({ models: [{ ref: REF } as OpenedModel], unavailable: [] }, [{ model, files: new Map() }]);
    stop = models.watch(() => isUsed());
  });
  expect(await closed).toBe(REF);
  await stop?.();
  expect(warnings).toEqual([fault]);
});

test.each([
  ['an adapter', 'later.safetensors', (path: string) => ({ adapters: [{ name: 'later', path }] })],
  [
    'a ControlNet',
    'later/model.onnx',
    (path: string) => ({ controls: [{ name: 'later', folder: dirname(path) }] }),
  ],
])('A model is opened again when the file of %s has appeared and stays as it is', async (_, name, parts) => {
  const file = join(folder, name);
  const warmUp = { width: 64, height: 64 };
  const model: ModelToOpen = { ref: REF, folder, task: 'diffusion', warmUp, ...parts(file) };
  const changed: string[] = [];
  /** Ends the pause before the next check; set while one lasts. */
  let wake: (() => void) | undefined;
  let paused = (): void => {};
  const sleep = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
      paused();
    });
  const models = new EngineModels({
    models: [model],
    clock: { ...systemClock, sleep },
    log: silentLog,
    open: () => {},
    close: () => {},
    onWritten: () => {},
    onPartChanged: (_, path) => changed.push(path),
  });
  const nextCheck = (): Promise<void> =>
    new Promise((resolve) => {
      paused = resolve;
      wake?.();
    });
  models.reset({ models: [{ ref: REF } as OpenedModel], unavailable: [] }, await models.prepare());
  const stop = models.watch(() => true);
  await nextCheck();
  expect(models.served).toHaveLength(1);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, 'half');
  await nextCheck();
  await writeFile(file, 'complete');
  await nextCheck();
  expect(changed).toEqual([]);
  await nextCheck();
  expect(changed).toEqual([file]);
  expect(models.served).toEqual([]);
  const stopped = stop();
  wake?.();
  await stopped;
});

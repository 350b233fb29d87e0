import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyTransform } from '@lehr/demo-models';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { onnxRuntime } from '../runtime/onnx.ts';
import { openFolder, taskOfFolder } from './open-folder.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-open-folder-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each([
  ['picture', {}, undefined],
  ['mask', { processor: { do_rescale: true, rescale_factor: 1 / 255 } }, undefined],
  ['class', { labels: ['nsfw', 'fine'], below: true }, ['nsfw', 'fine']],
] as const)(
  'A folder whose graph makes a %s of pictures is known by its files and opened by its outputs',
  async (result, options, labels) => {
    const own = join(folder, result);
    await writeTinyTransform(own, { result, ...options });
    expect(taskOfFolder(own)).toBe('transform');
    const opened = await openFolder('transform', own, onnxRuntime, { providers: ['cpu'] });
    await opened.close();
    expect(opened.labels).toEqual(labels);
    expect(opened.graphs).toMatchObject([{ graph: 'model', provider: 'cpu' }]);
  },
);

import { expect, test } from 'vitest';
import { tunedSettings } from './model-lanes.ts';

const AUTO = { providers: ['webgpu', 'cpu'], rowCap: 'auto' } as const;

test('A worker takes the tuned settings of its first device, and no others', () => {
  const tuned = { webgpu: { row_cap: 8 }, cuda: { row_cap: 32 } };
  expect(tunedSettings(AUTO, tuned, 4)).toMatchObject({ providers: ['webgpu', 'cpu'], rowCap: 8 });
  expect(tunedSettings({ ...AUTO, providers: ['cpu'] }, tuned, 4)).toMatchObject({ rowCap: 'auto' });
  expect(tunedSettings(AUTO, undefined, 4)).toBe(AUTO);
});

test('A worker uses the device that was better than its first one, where its own variables allow it', () => {
  const tuned = { webgpu: { device: 'cpu', optimization: 'basic' }, cpu: { device: 'webgpu' } } as const;
  expect(tunedSettings(AUTO, tuned, 4)).toMatchObject({
    providers: ['cpu', 'webgpu'],
    optimization: 'basic',
  });
  expect(tunedSettings({ ...AUTO, providers: ['cpu'] }, tuned, 4).providers).toEqual(['cpu']);
});

test('The variables of a worker win over models.yaml, and threads never exceed the cores', () => {
  const tuned = { cpu: { threads: 16, row_cap: 8 } };
  const own = { providers: ['cpu'], rowCap: 2, threads: 3 } as const;
  expect(tunedSettings(own, tuned, 4)).toMatchObject({ rowCap: 2, threads: 3 });
  expect(tunedSettings({ ...own, rowCap: 'auto', threads: undefined }, tuned, 4)).toMatchObject({
    rowCap: 8,
    threads: 4,
  });
});

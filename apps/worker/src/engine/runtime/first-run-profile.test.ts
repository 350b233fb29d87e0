import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { checkPlacement, FirstRunProfile } from './first-run-profile.ts';

const node = (provider: string) => ({
  cat: 'Node',
  name: 'Conv_kernel_time',
  args: { provider, op_name: 'Conv' },
});

test('Nodes are counted by provider, and the profile is removed', () => {
  const profile = new FirstRunProfile();
  const events = [
    { cat: 'Session', name: 'model_run' },
    node('CUDAExecutionProvider'),
    node('CPUExecutionProvider'),
    node('CUDAExecutionProvider'),
    node('SomeNewExecutionProvider'),
  ];
  writeFileSync(`${profile.filePrefix}_2026.json`, JSON.stringify(events));
  expect(profile.read()).toEqual({ cuda: 2, cpu: 1, SomeNewExecutionProvider: 1 });
  expect(existsSync(dirname(profile.filePrefix))).toBe(false);
});

test('A GPU session whose nodes all ran on the CPU is refused', () => {
  const check = () => checkPlacement('unet.onnx', 'cuda', { cpu: 57 });
  expect(check).toThrow(/unet\.onnx was loaded on cuda, but none of its nodes ran there \(57 on cpu\)/);
  expect(() => checkPlacement('unet.onnx', 'cuda', { cuda: 50, cpu: 7 })).not.toThrow();
  expect(() => checkPlacement('unet.onnx', 'cuda', {})).not.toThrow();
});

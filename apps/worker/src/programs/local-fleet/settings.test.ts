import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FleetArgumentsSchema, readSpec, slotVariables } from './settings.ts';

const argumentsOf = (fields: object = {}) =>
  FleetArgumentsSchema.parse({ url: 'http://127.0.0.1:1', ...fields });

test('Each worker has its card and its port, and one beside another takes any port', () => {
  const args = argumentsOf({ cards: ['0', 'GPU-8a1'], firstPort: 9464 });
  expect(slotVariables(args, 1, true)).toEqual({ CUDA_VISIBLE_DEVICES: 'GPU-8a1', LEHR_WORKER_PORT: '9465' });
  expect(slotVariables(args, 1, false).LEHR_WORKER_PORT).toBe('0');
  expect(slotVariables(argumentsOf(), 3, true)).toEqual({ LEHR_WORKER_PORT: '0' });
});

test('Workers get the variables of the fleet without its API key, and those of the file, which is read anew', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lehr-fleet-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const envFile = join(folder, 'worker.env');
  const args = argumentsOf({ envFile });
  const env = { LEHR_API_KEY: 'secret', LEHR_HOME: 'a', PATH: '/bin' };
  writeFileSync(envFile, 'LEHR_HOME=b\n# a comment\nLEHR_DEVICE="cpu"\n');
  expect(readSpec(args, env).env).toEqual({ LEHR_HOME: 'b', LEHR_DEVICE: 'cpu', PATH: '/bin' });
  writeFileSync(envFile, 'LEHR_HOME=c\n');
  expect(readSpec(args, env).env).toEqual({ LEHR_HOME: 'c', PATH: '/bin' });
  rmSync(envFile);
  expect(() => readSpec(args, env)).toThrow(/--env-file .*worker.env" cannot be read/);
  writeFileSync(envFile, '');
});

import { expect, test } from 'vitest';
import { parseRegistry } from '../../models/registry.ts';
import { covers, DEFAULT_POOLS, parsePools } from './pools.ts';

const REGISTRY = parseRegistry(`
models:
  - { name: sd, task: diffusion, versions: [{ version: "1", path: a }, { version: "2", path: b }] }
  - { name: ears, task: whisper, versions: [{ version: "1", path: c }] }
`);
const sd = (version: string) => ({ task: 'diffusion' as const, model: { name: 'sd', version } });
const ears = { task: 'whisper' as const, model: { name: 'ears', version: '1' } };

test('A pool has its models by name, by version or by task, and the default pool has all', () => {
  const [one, rest] = parsePools(
    'pools: [{ name: one, models: [sd@1] }, { name: rest, tasks: [whisper] }]',
    REGISTRY,
  );
  expect([sd('1'), sd('2'), ears].map((each) => covers(one, each))).toEqual([true, false, false]);
  expect([sd('1'), ears].map((each) => covers(rest, each))).toEqual([false, true]);
  expect(covers(parsePools('pools: [{ name: one, models: [sd] }]', REGISTRY)[0], sd('2'))).toBe(true);
  expect([sd('1'), sd('2'), ears].map((each) => covers(DEFAULT_POOLS[0], each))).toEqual([true, true, true]);
});

test('What is not said of a pool has the defaults', () => {
  const [{ policy }] = parsePools(
    'pools: [{ name: one, max: 9, target_wait_s: { interactive: 2 } }]',
    REGISTRY,
  );
  expect(policy).toMatchObject({
    min: 0,
    max: 9,
    target_wait_s: { interactive: 2, standard: 15, bulk: 300 },
    shrink_after_s: 60,
  });
});

test.each([
  ['pools: [', 'it is not YAML'],
  ['pools: []', 'pools: Too small'],
  ['pools: [{ name: a }, { name: a, tasks: [text] }]', 'pools.1.name: appears twice'],
  ['pools: [{ name: a, min: 3, max: 2 }]', 'pools.0.min: min is above max'],
  ['pools: [{ name: a, models: [sd], tasks: [text] }]', 'models and tasks cannot be used together'],
  ['pools: [{ name: a, target_wait_s: { bulk: 1 } }]', 'a more urgent class must not have a longer target'],
  [
    'pools: [{ name: a, schedule: [{ min: 1, time_zone: Mars }] }]',
    'must be a time zone such as Europe/Berlin',
  ],
  ['pools: [{ name: a, schedule: [{ from: "08:00" }] }]', 'must have a min or a max'],
  ['pools: [{ name: a, schedule: [{ from: "8", min: 1 }] }]', 'must be a time such as 08:30'],
  ['pools: [{ name: a, models: [sdd] }]', 'pool a: models.yaml has no model "sdd"'],
  ['pools: [{ name: a }, { name: b, models: [sd@2] }]', 'sd@2 is in several pools: a, b'],
])('The faults of %s are reported', (text, fault) => {
  expect(() => parsePools(text, REGISTRY)).toThrow(fault);
});

import { expect, test } from 'vitest';
import { planUpgrade, type RunningProcess } from './plan-upgrade.ts';

const OWN = { lehr: '2.0.0', schema: 3 };
const api = (lehr: string | undefined, schema: number | undefined): RunningProcess => ({
  kind: 'API',
  lehr,
  schema,
});
const worker = (lehr: string | undefined, schema: number | undefined): RunningProcess => ({
  ...api(lehr, schema),
  kind: 'worker',
});
const verdictOf = (processes: readonly RunningProcess[]) => planUpgrade(OWN, processes, 0).at(-1);

test('Processes of the same schema are replaced in any order', () => {
  expect(verdictOf([api('1.9.0', 3), worker('1.8.0', 3)])).toMatchObject({
    state: 'ok',
    detail: expect.stringContaining('in any order, also back'),
  });
});

test('When the schema rises by one, the API comes before the workers', () => {
  expect(verdictOf([api('2.0.0', 3), worker('1.9.0', 2)])).toMatchObject({
    state: 'warn',
    detail: expect.stringContaining('all API processes, then the workers'),
  });
});

test('An upgrade over two schemas and one to an older schema are refused', () => {
  expect(verdictOf([worker('1.0.0', 1)])).toMatchObject({
    state: 'fail',
    advice: expect.stringContaining('schema 2 first'),
  });
  expect(verdictOf([api('3.0.0', 4)])).toMatchObject({ state: 'fail' });
});

test('A process that says no schema may be newer, so the upgrade is refused', () => {
  expect(verdictOf([worker(undefined, undefined)])).toMatchObject({ state: 'fail' });
});

test('Processes are counted by kind and version, and nothing is to be done when all have this one', () => {
  const checks = planUpgrade(OWN, [api('2.0.0', 3), api('2.0.0', 3)], 2);
  expect(checks.map(({ detail }) => detail)).toEqual([
    '2 of 2.0.0 (schema 3)',
    'none runs',
    '2 records or reports could not be read by a process that runs',
    'every process has this version',
  ]);
  expect(verdictOf([])).toMatchObject({ state: 'ok', detail: expect.stringContaining('nothing runs') });
});

import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../../../test/support/tiny-models.ts';
import { Journal } from './journal.ts';

test('A journal keeps what was added before a kill, also when its last line is not complete', async () => {
  const path = join(await tempFolder('journal'), 'tune', 'a.jsonl');
  const first = await Journal.open<number>(path, 'model a');
  await first.add([
    { key: 'x', value: 1 },
    { key: 'y', value: 2 },
  ]);
  await appendFile(path, '{"key":"z","va');
  const second = await Journal.open<number>(path, 'model a');
  expect([second.size, second.get('x'), second.get('z')]).toEqual([2, 1, undefined]);
  await second.add([{ key: 'z', value: 3 }]);
  expect((await Journal.open<number>(path, 'model a')).get('z')).toBe(3);
});

test('A journal of another model or machine is begun anew', async () => {
  const path = join(await tempFolder('journal'), 'a.jsonl');
  await (await Journal.open<number>(path, 'model a')).add([{ key: 'x', value: 1 }]);
  expect((await Journal.open<number>(path, 'model b')).size).toBe(0);
  expect(await readFile(path, 'utf8')).toBe('{"subject":"model b"}\n');
});

/** The noise thread of the built worker: it draws for a sampler that needs noise at every step, and the picture does not depend on it. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoModelsFile } from '../../packages/demo-models/src/index.ts';
import { pictureOf } from '../support/demo-models.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';

const MOST_PICTURES = 8;

let server: TestRedis;
let folder: string;
beforeAll(async () => {
  server = await startRedis();
  folder = mkdtempSync(join(tmpdir(), 'lehr-noise-'));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** Options of Node that load this code into every process and thread of a worker; in the noise thread it runs before Lehr's. */
function preload(name: string, code: string): { readonly NODE_OPTIONS: string } {
  const file = join(folder, `${name}.cjs`);
  writeFileSync(file, `if (!require('node:worker_threads').isMainThread) { ${code} }`);
  return { NODE_OPTIONS: `--require ${file}` };
}

/** The pictures of a worker that is started with these variables; it draws more of them while `another` says so. */
async function pictures(
  more: Record<string, string>,
  another: (drawn: number) => boolean,
): Promise<Uint8Array[]> {
  const stack = await startStack(server, { LEHR_MODELS: demoModelsFile() });
  await stack.worker(more);
  const drawn: Uint8Array[] = [];
  while (another(drawn.length)) {
    const { id } = await stack.post({ sampler: 'euler_a', steps: 20, seed: drawn.length });
    drawn.push((await pictureOf(await stack.over(id))).data);
  }
  return drawn;
}

test('The built worker draws noise on its thread, and the pictures are those of a worker whose thread died', {
  tags: ['long'],
}, async () => {
  const draws = join(folder, 'draws');
  appendFileSync(draws, '');
  // The thread wakes the engine at the end of every draw.
  const counting = preload(
    'count',
    `const { notify } = Atomics;
     Atomics.notify = (...args) => {
       require('node:fs').appendFileSync(${JSON.stringify(draws)}, '.');
       return notify(...args);
     };`,
  );
  const dying = preload(
    'die',
    `Atomics.compareExchange = () => { throw new Error('A noise thread dies.'); };`,
  );
  const count = (): number => readFileSync(draws, 'utf8').length;
  // On a busy machine the engine may be faster than the thread, and then makes a draw itself.
  const withThread = await pictures(
    counting,
    (drawn) => drawn === 0 || (count() === 0 && drawn < MOST_PICTURES),
  );
  expect(count()).toBeGreaterThan(0);
  const without = await pictures(dying, (drawn) => drawn < withThread.length);
  expect(without.map((picture, i) => Buffer.compare(picture, withThread[i]))).toEqual(
    withThread.map(() => 0),
  );
});

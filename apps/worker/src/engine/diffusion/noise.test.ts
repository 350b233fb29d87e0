import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it, test } from 'vitest';
import { bundle } from '../../../../../test/support/bundle.ts';
import { NoiseDrawer, SeededNoise } from './noise.ts';
import { SharedDraw } from './normal-stream.ts';

interface GoldenDraw {
  readonly seed: number;
  readonly shape: readonly number[];
  readonly first32: readonly number[];
  readonly last16: readonly number[];
  readonly mean: number;
  readonly std: number;
  readonly secondDrawFirst16: readonly number[];
}

const TOLERANCE = 5e-7;
const golden: readonly GoldenDraw[] = JSON.parse(
  readFileSync(new URL('../../../../../test/golden/noise/torch-cpu-randn.json', import.meta.url), 'utf8'),
);

describe('SeededNoise', () => {
  it.each(golden)('Seed $seed and shape $shape give the values of torch', (want) => {
    const noise = new SeededNoise(want.seed);
    const length = want.shape.reduce((product, size) => product * size);
    const first = noise.draw(length);
    expectClose(first.slice(0, 32), want.first32);
    expectClose(first.slice(-16), want.last16);
    expectClose(noise.draw(length).slice(0, 16), want.secondDrawFirst16);
    const mean = first.reduce((sum, value) => sum + value, 0) / length;
    const variance = first.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (length - 1);
    expect(Math.abs(mean - want.mean)).toBeLessThan(TOLERANCE);
    expect(Math.abs(Math.sqrt(variance) - want.std)).toBeLessThan(TOLERANCE);
  });

  it('Seeds are taken modulo 2^32, also negative ones', () => {
    const values = new SeededNoise(5).draw(64);
    expect(new SeededNoise(2 ** 32 + 5).draw(64)).toEqual(values);
    expect(new SeededNoise(5 - 2 ** 32).draw(64)).toEqual(values);
    expect(new SeededNoise(6).draw(64)).not.toEqual(values);
  });

  it('For a length that is no multiple of 16, the last 16 values are drawn again', () => {
    const ragged = new SeededNoise(9).draw(20);
    const other = new SeededNoise(9);
    expect(ragged.slice(0, 4)).toEqual(other.draw(16).slice(0, 4));
    // Two values of a short draw use as many words as four uniforms.
    other.draw(2);
    expect(ragged.slice(4)).toEqual(other.draw(16));
  });

  it.each([3, 16, 250, 1000])(
    'A stream restored after a draw of %i values continues with the same bits',
    (length) => {
      const noise = new SeededNoise(77);
      noise.draw(length);
      const state = structuredClone(noise.state());
      const want = [noise.draw(5), noise.draw(700)];
      const resumed = new SeededNoise(0);
      resumed.restore(state);
      expect([resumed.draw(5), resumed.draw(700)]).toEqual(want);
    },
  );

  it('An invalid state is refused', () => {
    const noise = new SeededNoise(1);
    const state = { words: new Uint32Array(3), used: 0, spare: null };
    expect(() => noise.restore(state)).toThrow(expect.objectContaining({ code: 'internal' }));
  });
});

function expectClose(got: Float32Array, want: readonly number[]): void {
  expect(got).toHaveLength(want.length);
  for (const [i, value] of want.entries()) expect(Math.abs(got[i] - value)).toBeLessThan(TOLERANCE);
}

const LENGTH = 1000;
const drawer = new NoiseDrawer(undefined, pathToFileURL(await bundle('./noise-thread.ts', import.meta.url)));
afterAll(() => drawer.close());

/** A stream with a prepared draw, and the shared memory of that draw. */
function prepared(seed: number, length = LENGTH) {
  const noise = new SeededNoise(seed);
  const buffer = noise.drawAhead(length);
  if (!buffer) throw new Error('Nothing was prepared.');
  return { noise, buffer };
}

/** Resolves when the thread has made all of these draws. */
async function drawn(buffers: readonly SharedArrayBuffer[]): Promise<void> {
  for (const buffer of buffers) {
    const phase = new Int32Array(buffer, 0, 1);
    while (Atomics.load(phase, 0) !== 3) await new Promise((resolve) => setImmediate(resolve));
  }
}

test('The noise thread draws what the engine would draw, and leaves the same state', async () => {
  const ahead = [1, 2, 3].map((seed) => prepared(seed));
  drawer.begin(ahead.map(({ buffer }) => buffer));
  await drawn(ahead.map(({ buffer }) => buffer));
  for (const [i, { noise }] of ahead.entries()) {
    const own = new SeededNoise(i + 1);
    expect(noise.state()).toEqual(own.state());
    expect([...noise.draw(LENGTH)]).toEqual([...own.draw(LENGTH)]);
    expect(noise.state()).toEqual(own.state());
    // The second draw uses the memory of the first one.
    expect(noise.drawAhead(LENGTH)).toBe(ahead[i].buffer);
    drawer.begin([ahead[i].buffer]);
    await drawn([ahead[i].buffer]);
    expect([...noise.draw(LENGTH)]).toEqual([...own.draw(LENGTH)]);
    expect([...noise.draw(5)]).toEqual([...own.draw(5)]);
  }
});

test('The engine makes a draw that the thread has not begun, and the thread then leaves it alone', () => {
  const { noise, buffer } = prepared(4);
  const own = new SeededNoise(4);
  expect([...noise.draw(LENGTH)]).toEqual([...own.draw(LENGTH)]);
  const before = buffer.slice(0);
  new SharedDraw(buffer).perform();
  expect(buffer.slice(0)).toEqual(before);
  expect(noise.state()).toEqual(own.state());
});

test('A draw that has begun and never ends is made by the engine, and its memory is not used again', () => {
  const { noise, buffer } = prepared(5);
  const own = new SeededNoise(5);
  Atomics.store(new Int32Array(buffer, 0, 1), 0, 2);
  expect([...noise.draw(LENGTH)]).toEqual([...own.draw(LENGTH)]);
  expect(noise.drawAhead(LENGTH)).not.toBe(buffer);
  expect([...noise.draw(LENGTH)]).toEqual([...own.draw(LENGTH)]);
});

test('A prepared draw does not change what a checkpoint holds, and is forgotten when another state is restored', () => {
  const { noise, buffer } = prepared(6);
  const own = new SeededNoise(6);
  const state = own.state();
  new SharedDraw(buffer).perform();
  expect(noise.state()).toEqual(state);
  own.draw(300);
  noise.restore(own.state());
  expect([...noise.draw(LENGTH)]).toEqual([...own.draw(LENGTH)]);
});

test('A draw of another length than the prepared one is made by the engine', () => {
  const { noise, buffer } = prepared(7);
  new SharedDraw(buffer).perform();
  expect([...noise.draw(40)]).toEqual([...new SeededNoise(7).draw(40)]);
  expect(noise.drawAhead(8)).toBeUndefined();
});

/** A drawer whose thread is this module, and the causes for which it was lost. */
function drawerOf(entry: URL) {
  const causes: unknown[] = [];
  let note = () => {};
  const lost = new Promise<void>((resolve) => {
    note = resolve;
  });
  const drawer = new NoiseDrawer((cause) => {
    causes.push(cause);
    note();
  }, entry);
  return { drawer, causes, lost };
}

test('A noise thread that cannot start leaves every draw to the engine, and its cause is told once', async () => {
  const { drawer: broken, causes, lost } = drawerOf(new URL('./no-such-thread.ts', import.meta.url));
  const { noise, buffer } = prepared(8);
  broken.begin([buffer]);
  expect([...noise.draw(LENGTH)]).toEqual([...new SeededNoise(8).draw(LENGTH)]);
  await lost;
  await broken.close();
  broken.begin([buffer]);
  expect(causes).toEqual([expect.objectContaining({ message: expect.stringContaining('no-such-thread') })]);
});

test('A noise thread that dies in the middle leaves every draw to the engine, and its cause is told once', async () => {
  const dies = `import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ([draw]) => {
      new Int32Array(draw, 0, 1)[0] = 2;
      throw new Error('the thread broke');
    });`;
  const entry = new URL(`data:text/javascript,${encodeURIComponent(dies)}`);
  const { drawer: dying, causes, lost } = drawerOf(entry);
  const { noise, buffer } = prepared(10);
  const own = new SeededNoise(10);
  dying.begin([buffer]);
  await lost;
  expect([...noise.draw(LENGTH)]).toEqual([...own.draw(LENGTH)]);
  const next = noise.drawAhead(LENGTH);
  if (next) dying.begin([next]);
  expect([...noise.draw(LENGTH)]).toEqual([...own.draw(LENGTH)]);
  await dying.close();
  expect(causes).toEqual([new Error('the thread broke')]);
});

test('A noise thread that the machine refuses leaves every draw to the engine, and its cause is told once', () => {
  // Like a limit of threads, an address of the web makes the start itself throw.
  const { drawer: refused, causes } = drawerOf(new URL('https://threads.example/noise-thread.js'));
  const { noise, buffer } = prepared(9);
  refused.begin([buffer]);
  refused.begin([buffer]);
  expect([...noise.draw(LENGTH)]).toEqual([...new SeededNoise(9).draw(LENGTH)]);
  expect(causes).toHaveLength(1);
});

test('A noise thread that is closed is not lost', async () => {
  const { drawer: closed, causes } = drawerOf(
    pathToFileURL(await bundle('./noise-thread.ts', import.meta.url)),
  );
  const { buffer } = prepared(11);
  closed.begin([buffer]);
  await drawn([buffer]);
  await closed.close();
  expect(causes).toEqual([]);
});

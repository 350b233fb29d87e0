import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { readKnownLength } from './read-body.ts';

const BROKEN_OFF = { code: 'invalid-request', message: 'The body ends before it is complete.' };

test('The chunks of a body are put together in memory that can be transferred', async () => {
  const source = new PassThrough();
  const reading = readKnownLength(source, 9);
  for (const chunk of ['one', 'two', 'six']) source.write(chunk);
  source.end();
  const body = await reading;
  expect(Buffer.from(body).toString()).toBe('onetwosix');
  expect(body.buffer.byteLength).toBe(9);
  structuredClone(body, { transfer: [body.buffer] });
  expect(body.byteLength).toBe(0);
});

test('A body that ends before its stated length is refused', async () => {
  const source = new PassThrough();
  const reading = readKnownLength(source, 9);
  source.end('one');
  await expect(reading).rejects.toMatchObject(BROKEN_OFF);
});

test('A body whose caller hangs up is refused', async () => {
  const source = new PassThrough();
  const reading = readKnownLength(source, 9);
  source.write('one');
  source.destroy(new Error('aborted'));
  await expect(reading).rejects.toMatchObject(BROKEN_OFF);
});

test('A body whose caller has hung up while it waited is refused', async () => {
  const source = new PassThrough();
  source.destroy();
  await expect(readKnownLength(source, 9)).rejects.toMatchObject(BROKEN_OFF);
});

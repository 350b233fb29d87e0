import type { TenantId } from '@lehr/shared';
import { expect, onTestFinished, test } from 'vitest';
import { LargeAnswers } from './large-answers.ts';

const [A, B, C] = ['a', 'b', 'c'] as TenantId[];

/** In place of the thread that writes: each answer has ten bytes. */
const THREAD = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ id }) => parentPort.postMessage({ type: 'written', id, json: new Uint8Array(10) }));`;

/** `write` gives the function that the connection calls when it closes. */
function largeAnswers(ofTenant: number, total: number) {
  const entry = new URL(`data:text/javascript,${encodeURIComponent(THREAD)}`);
  const answers = new LargeAnswers(entry, [], { ofTenant, total });
  onTestFinished(() => answers.close());
  const read: TenantId[] = [];
  const write = async (tenant: TenantId, signal = new AbortController().signal): Promise<() => void> => {
    let close = (): void => {};
    await answers.write(tenant, {
      read: async () => {
        read.push(tenant);
        return new Uint8Array(1);
      },
      signal,
      onClosed: (release) => {
        close = release;
      },
      tokens: 1,
      shape: {},
    });
    return close;
  };
  return { write, read };
}

test('A tenant whose callers do not read their large answers gets no more of them until they have, and others do', async () => {
  const { write, read } = largeAnswers(20, 1000);
  const close = await write(A);
  await write(A);
  await expect(write(A)).rejects.toMatchObject({ code: 'overloaded', retryAfterS: 2 });
  await write(B);
  expect(read).toEqual([A, A, B]);
  close();
  await write(A);
});

test('The unsent large answers of all tenants are bounded together', async () => {
  const { write } = largeAnswers(20, 20);
  const close = await write(A);
  await write(B);
  await expect(write(C)).rejects.toMatchObject({ code: 'overloaded' });
  close();
  await write(C);
});

test('A large result whose caller has hung up before its turn is not read', async () => {
  const { write, read } = largeAnswers(20, 20);
  const caller = new AbortController();
  const first = write(A);
  const second = write(A, caller.signal);
  caller.abort();
  await first;
  await expect(second).rejects.toMatchObject({ code: 'unavailable' });
  expect(read).toEqual([A]);
});

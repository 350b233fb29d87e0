import { expect, test } from 'vitest';
import type { SampleId, ToEngine } from '../../engine/protocol/messages.ts';
import { submitTogether } from './submit-together.ts';

const submit = (id: string): ToEngine =>
  ({ type: 'submit', samples: [{ id: id as SampleId, task: 'text' }] }) as unknown as ToEngine;
const idsOf = (message: ToEngine): string[] =>
  message.type === 'submit' ? message.samples.map(({ id }) => id) : [message.type];
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('Samples that are submitted in one turn of the event loop go as one message, in their order', async () => {
  const sent: string[][] = [];
  const send = submitTogether((message) => sent.push(idsOf(message)));
  send(submit('a'));
  await Promise.resolve();
  send(submit('b'));
  expect(sent).toEqual([]);
  await nextTurn();
  send(submit('c'));
  await nextTurn();
  expect(sent).toEqual([['a', 'b'], ['c']]);
});

test('A cancel is sent after the sample that it cancels, and before the samples that come later', async () => {
  const sent: string[][] = [];
  const send = submitTogether((message) => sent.push(idsOf(message)));
  send(submit('a'));
  send({ type: 'cancel', sample: 'a' as SampleId });
  send(submit('b'));
  await nextTurn();
  expect(sent).toEqual([['a'], ['cancel'], ['b']]);
});

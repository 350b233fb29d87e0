/** Sends the samples that are submitted in one turn of the event loop as one message: the jobs of a claim start together. */
import type { ToEngine } from '../../engine/protocol/messages.ts';

type Submit = Extract<ToEngine, { type: 'submit' }>;

/** A message that is no `submit` is sent at once, after the samples submitted before it. */
export function submitTogether(send: (message: ToEngine) => void): (message: ToEngine) => void {
  let unsent: Submit['samples'][number][] = [];
  const flush = (): void => {
    const samples = unsent;
    unsent = [];
    if (samples.length > 0) send({ type: 'submit', samples });
  };
  return (message) => {
    if (message.type !== 'submit') {
      flush();
      send(message);
      return;
    }
    if (unsent.length === 0) setImmediate(flush);
    unsent.push(...message.samples);
  };
}

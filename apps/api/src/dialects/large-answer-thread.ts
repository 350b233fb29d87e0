/** The thread that writes large answers: a stored result in, the JSON of the answer out. */
import { parentPort } from 'node:worker_threads';
import { StoredTextResultSchema } from '@lehr/shared';
import { runsInSpareTime } from '../http/thread-calls.ts';
import type { LargeAnswer, LargeAnswerTask } from '../jobs/large-answers.ts';
import { shapedAnswer, type TextShape } from './text-shape.ts';

runsInSpareTime();

parentPort?.on('message', (task: LargeAnswerTask) => {
  const answer = write(task);
  parentPort?.postMessage(answer, answer.type === 'written' ? [answer.json.buffer] : []);
});

function write({ id, stored, tokens, shape }: LargeAnswerTask): LargeAnswer {
  try {
    const result = StoredTextResultSchema.parse(JSON.parse(new TextDecoder().decode(stored)));
    // The caller of this thread has made the shape.
    const answer = shapedAnswer({ ...result, tokens }, shape as TextShape);
    return { type: 'written', id, json: new TextEncoder().encode(JSON.stringify(answer)) };
  } catch (error) {
    return { type: 'failed', id, error: error as Error };
  }
}

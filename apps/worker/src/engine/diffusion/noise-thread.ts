/** Entry of the noise thread: makes the draws that the engine asks for, while the engine's own thread waits for the graph. */
import { parentPort } from 'node:worker_threads';
import { NormalStream, SharedDraw } from './normal-stream.ts';

const stream = new NormalStream(0);

parentPort?.on('message', (draws: readonly SharedArrayBuffer[]) => {
  for (const buffer of draws) new SharedDraw(buffer).perform(stream);
});

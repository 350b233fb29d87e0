/** An audio thread that dies in a cut task, in the way that `maxSamples` of the task selects. It performs other tasks. */
import { parentPort } from 'node:worker_threads';
import {
  AUDIO_THREAD_READY,
  type AudioAnswer,
  type AudioTask,
} from '../../apps/worker/src/parent/audio/running-thread.ts';

/** By the `maxSamples` of a cut. */
export const FAULTS = { heap: 2, exits: 3, throws: 4 } as const;

parentPort?.on('message', (task: AudioTask) => {
  if (task.type === 'cut' && task.maxSamples > 1) failBy(task.maxSamples);
  parentPort?.postMessage({ type: 'cut', ranges: [] } satisfies AudioAnswer);
});
parentPort?.postMessage(AUDIO_THREAD_READY);

/** Never returns. */
function failBy(fault: number): never {
  switch (fault) {
    case FAULTS.heap: {
      const kept: number[][] = [];
      for (;;) kept.push(new Array(1 << 20).fill(0.5));
    }
    case FAULTS.exits:
      return process.exit(7);
    default:
      throw new Error('A bug.');
  }
}

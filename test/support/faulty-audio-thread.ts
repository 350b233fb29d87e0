/** An audio thread that fails on a file in the way that the file's first byte names. It answers other tasks. */
import { parentPort } from 'node:worker_threads';
import {
  AUDIO_THREAD_READY,
  type AudioAnswer,
  type AudioTask,
} from '../../apps/worker/src/audio/audio-protocol.ts';

export const FAULTS = { hangs: 1, heap: 2, exits: 3, throws: 4 } as const;

parentPort?.on('message', (task: AudioTask) => {
  if (task.type === 'decode') failBy(task.bytes[0]);
  parentPort?.postMessage({ type: 'cut', ranges: [] } satisfies AudioAnswer);
});
parentPort?.postMessage(AUDIO_THREAD_READY);

/** Never returns. */
function failBy(fault: number): never {
  switch (fault) {
    case FAULTS.hangs:
      for (;;);
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

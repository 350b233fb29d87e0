/**
 * Entry of the process of one trial. Each trial has its own process, because threads and memory of a session stay in the process that
 * made it. Its argument is a TrialRequest as JSON; it prints one line of JSON.
 */
import { toPlainError } from '@lehr/shared';
import { onnxRuntime } from '../runtime/onnx.ts';
import { runTrial, type TrialRequest } from './trial.ts';

/** The pipe from the program that tunes ends with its process. */
process.stdin.once('end', () => process.exit(1)).resume();
process.stdin.unref();

const answer = await runTrial(JSON.parse(process.argv[2]) as TrialRequest, onnxRuntime).then(
  (result) => ({ result }),
  (error: unknown) => ({ failure: toPlainError(error, 'engine-failed').message }),
);
process.stdout.write(`${JSON.stringify(answer)}\n`);

/**
 * Entry of the process of one trial. Each session has its own process, because threads and memory of a session stay in the process that
 * made it. Its argument is a TrialSettings as JSON. It sends one message when the model is open, and then one for each StepsWanted that
 * it receives; a TrialFailure in place of either.
 */
import { toPlainError } from '@lehr/shared';
import { onnxRuntime } from '../../engine/runtime/onnx.ts';
import { openTrial, type StepsWanted, type TrialFailure, type TrialSettings } from './trial.ts';

/** The channel closes when the program that tunes ends, also by a kill. */
process.once('disconnect', () => process.exit(1));

const failureOf = (error: unknown): TrialFailure => ({
  failure: toPlainError(error, 'engine-failed').message,
});
const send = (message: object): void => void process.send?.(message);

try {
  const trial = await openTrial(JSON.parse(process.argv[2]) as TrialSettings, onnxRuntime);
  process.on('message', (wanted: StepsWanted) => void trial.take(wanted).catch(failureOf).then(send));
  send({ opened: true });
} catch (error) {
  send(failureOf(error));
}

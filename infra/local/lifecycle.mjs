/** How a launcher ends: on a signal or on an internal failure, and always without leaving a process behind. */
import { commandsOver } from './command.mjs';
import { Problem } from './problem.mjs';

/** One Ctrl-C may arrive twice, from the terminal and through npm. */
const SAME_SIGNAL_MS = 500;
const SLOW_MS = 1500;

/** In the order of their start; they stop in the reverse order. */
const services = [];
const stopped = new AbortController();
let stopAskedAt;

/** Aborts when the launcher begins to stop. */
export const { signal } = stopped;

/** The launcher's own messages go to stderr, because stdout has only the log lines of the children. */
export const say = (text) => process.stderr.write(`${text}\n`);

export function startService(service) {
  signal.throwIfAborted();
  services.push(service);
  service.start();
}

/** Runs the main function of a program with its arguments. Its signals stop the program, and so does an error, which is printed. */
export function runMain(main) {
  stopOnSignals();
  main(process.argv.slice(2)).catch((error) =>
    stopAndExit(error instanceof Problem ? error.message : error.stack, 1),
  );
}

/** Prints the reason, stops the services in the reverse order of their start, and exits. A second call does nothing. */
export async function stopAndExit(reason, exitCode) {
  if (stopAskedAt !== undefined) return;
  stopAskedAt = performance.now();
  stopped.abort(new Error(reason));
  say(`\n${reason}`);
  await waitWithNotice('the running command', commandsOver());
  for (const service of services.toReversed()) await waitWithNotice(service.name, service.stop());
  process.exit(exitCode);
}

async function waitWithNotice(what, end) {
  const slow = setTimeout(() => say(`Waiting for ${what} to finish (Ctrl-C again: at once).`), SLOW_MS);
  await end;
  clearTimeout(slow);
}

/** SIGINT, SIGTERM and SIGHUP stop in order, a second one at once; so does the end of the process that started the launcher or reads its output. */
export function stopOnSignals() {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, onSignal);
  process.on('exit', () => {
    for (const service of services) service.kill();
  });
  for (const stream of [process.stdout, process.stderr]) {
    stream.on(
      'error',
      ({ code }) => code === 'EPIPE' && stopAndExit('The reader of the output is gone: stopping.', 0),
    );
  }
  if (process.env.npm_lifecycle_event === undefined) return;
  // When npm is killed with SIGKILL, this process gets no signal; its parent process changes.
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || stopAndExit('npm is gone: stopping.', 0), 1000).unref();
}

function onSignal(name) {
  if (stopAskedAt === undefined) return void stopAndExit(`${name}: stopping.`, 0);
  if (performance.now() - stopAskedAt > SAME_SIGNAL_MS) process.exit(130);
}

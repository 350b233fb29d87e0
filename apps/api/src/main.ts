/** The API as a process. Exit codes: 0 stopped, 1 internal error, 69 a dependency is unavailable, 78 bad configuration. */
import { fileURLToPath } from 'node:url';
import { ConfigError, createLog, type Log, logUncaught, PRIVATE_UMASK } from '@lehr/shared';
import { readApiSettings } from './base/env.ts';
import { EXIT_CODES, StartError } from './base/start-error.ts';
import { type RunningApi, startApi } from './start.ts';

/** The same relative path from src/ and from dist/. */
const DEMO_MODELS = fileURLToPath(
  new URL('../../../packages/demo-models/models/models.yaml', import.meta.url),
);

let log: Log | undefined;
process.umask(PRIVATE_UMASK);
try {
  const settings = await readApiSettings(process.env, DEMO_MODELS);
  log = createLog('api', settings.config.LEHR_LOG_LEVEL);
  logUncaught(log);
  stopOnSignals(await startApi(settings, log), log);
} catch (error) {
  process.exitCode = report(error);
}

/** The first signal stops the process in order, a second one at once. */
function stopOnSignals(api: RunningApi, log: Log): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, 'stopping');
    api.stop().then(
      () => {
        log.info({}, 'stopped');
        // Traces that a collector does not take would keep the process for seconds.
        process.exit(0);
      },
      (error) => {
        log.error({ error }, 'could not stop in order');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
}

/** An error that an operator can fix is printed as its message alone; any other is logged with its stack. */
function report(error: unknown): number {
  if (error instanceof ConfigError || error instanceof StartError) {
    process.stderr.write(`lehr api: ${error.message}\n`);
    return error instanceof StartError ? error.exitCode : EXIT_CODES.misconfigured;
  }
  if (log) log.error({ error }, 'could not start');
  else process.stderr.write(`lehr api: ${String(error)}\n`);
  return 1;
}

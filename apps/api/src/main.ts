/** The API as a process. Exit codes: 0 stopped, 1 a fault of ours, 69 something it needs is not there, 78 configured wrong. */
import { fileURLToPath } from 'node:url';
import { ConfigError, createLog, type Log, readConfig } from '@lehr/shared';
import { API_ENV } from './env.ts';
import { type RunningApi, startApi } from './start.ts';
import { EXIT_CODES, StartError } from './start-error.ts';

/** Seen from src/ and from dist/ alike. */
const DEMO_MODELS = fileURLToPath(
  new URL('../../../packages/demo-models/models/models.yaml', import.meta.url),
);

let log: Log | undefined;
try {
  const config = readConfig(API_ENV, process.env);
  log = createLog('api', config.LEHR_LOG_LEVEL);
  stopOnSignals(await startApi(config, log, DEMO_MODELS), log);
} catch (error) {
  process.exitCode = report(error);
}

/** The first signal stops in order; a second one does not wait. */
function stopOnSignals(api: RunningApi, log: Log): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, 'stopping');
    api.stop().then(
      () => log.info({}, 'stopped'),
      (error) => {
        log.error({ error }, 'did not stop in order');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
}

/** What people can mend is one message; what they cannot is logged whole. */
function report(error: unknown): number {
  if (error instanceof ConfigError || error instanceof StartError) {
    process.stderr.write(`lehr api: ${error.message}\n`);
    return error instanceof StartError ? error.exitCode : EXIT_CODES.misconfigured;
  }
  if (log) log.error({ error }, 'could not start');
  else process.stderr.write(`lehr api: ${String(error)}\n`);
  return 1;
}

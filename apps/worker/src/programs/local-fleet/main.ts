/**
 * The program behind `lehr fleet` and `npm start -- --workers`: runs the workers of this machine. SIGTERM or SIGINT drains them all and
 * ends it, a second signal ends them at once, and SIGHUP replaces them by workers of the program and the variables as they are then.
 * Exit codes: 0 stopped, 1 internal error, 78 bad configuration.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ConfigError,
  createLog,
  envSchema,
  type Log,
  logUncaught,
  PRIVATE_UMASK,
  readConfig,
  systemClock,
} from '@lehr/shared';
import { watchParent } from '../../parent/parent.ts';
import { Fleet } from './fleet.ts';
import { followPool } from './follow-pool.ts';
import { RESTARTS } from './plan.ts';
import { type FleetArguments, FleetArgumentsSchema, readSpec, slotVariables } from './settings.ts';

/** One Ctrl-C may arrive twice: from the terminal, and through the command `lehr`. */
const SAME_SIGNAL_MS = 500;
/** A worker has this much longer than its drain. */
const SPARE_MS = 60_000;
const EXIT_CONFIG = 78;

async function main(): Promise<void> {
  process.umask(PRIVATE_UMASK);
  const args = FleetArgumentsSchema.parse(JSON.parse(process.argv[2] ?? '{}'));
  const config = readConfig(
    envSchema('LEHR_HOME', 'LEHR_LOG_LEVEL', 'LEHR_DRAIN_S', 'LEHR_API_KEY'),
    process.env,
  );
  const log = createLog('fleet', config.LEHR_LOG_LEVEL);
  logUncaught(log);
  const fleet = new Fleet({
    spec: readSpec(args, process.env),
    slots: args.cards?.length ?? (args.workers === 'auto' ? args.max : args.workers),
    slotEnv: (slot, isAlone) => slotVariables(args, slot, isAlone),
    restarts: RESTARTS,
    killAfterMs: config.LEHR_DRAIN_S * 1000 + SPARE_MS,
    clock: systemClock,
    log,
    onLine: (line) => process.stdout.write(`${line}\n`),
    onUnusable: () => process.exit(EXIT_CONFIG),
  });
  const stopped = new AbortController();
  stopOnSignals(fleet, stopped);
  process.on('SIGHUP', () => rollWith(fleet, args, log));
  log.info({ ...args, pid: process.pid }, 'fleet is ready');
  if (args.workers !== 'auto') return fleet.want(args.workers);
  const apiKey = config.LEHR_API_KEY ?? (await keyOfHome(config.LEHR_HOME));
  const onWanted = fleet.want.bind(fleet);
  await followPool({ ...args, apiKey, clock: systemClock, log, onWanted }, stopped.signal);
}

function rollWith(fleet: Fleet, args: FleetArguments, log: Log): void {
  try {
    fleet.roll(readSpec(args, process.env));
  } catch (error) {
    log.error({ error }, 'the fleet keeps its workers');
  }
}

function stopOnSignals(fleet: Fleet, stopped: AbortController): void {
  let stoppedAt: number | undefined;
  const stop = (): void => {
    if (stoppedAt === undefined) {
      stoppedAt = performance.now();
      stopped.abort();
      void fleet.stop().then(() => process.exit(0));
    } else if (performance.now() - stoppedAt > SAME_SIGNAL_MS) {
      fleet.end();
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  watchParent(() => {
    if (stoppedAt === undefined) stop();
  });
}

async function keyOfHome(home: string): Promise<string> {
  const path = join(home, 'api-key');
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    throw new ConfigError([
      `There is no key: set LEHR_API_KEY (${path} cannot be read: ${(cause as Error).message})`,
    ]);
  }
}

main().catch((error: unknown) => {
  const isExpected = error instanceof ConfigError;
  process.stderr.write(`lehr fleet: ${isExpected ? error.message : (error as Error).stack}\n`);
  process.exit(isExpected ? EXIT_CONFIG : 1);
});

/**
 * npm run lab -- simulation: the queue of Lehr under a simulated fleet, on one Redis of its own. With --write the figures become
 * lab/simulation.md.
 */
import { writeFile } from 'node:fs/promises';
import { openRedis } from '../../packages/shared/src/redis/index.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { simulateFleet } from './fleet.ts';
import { page } from './page.ts';
import { endPrograms } from './programs.ts';
import { twoTenants } from './two-tenants.ts';

/** All but `write` are numbers. */
const options = JSON.parse(process.argv[2]) as Readonly<Record<string, string>> & { readonly write: boolean };
const numberOf = (name: string): number => {
  const value = Number(options[name]);
  if (!(value > 0)) throw new Error(`--${name} is ${options[name]}, expected a number above 0`);
  return value;
};

/** Without a log: the disk of one machine is not what is simulated. */
const MAX_MEMORY = '4gb';
const SERVER = ['--appendonly', 'no', '--maxmemory', MAX_MEMORY];
/** Of the given minutes. The rest is for the simulated days and for the start of the workers. */
const FILL_SHARE = 0.45;
const SERVE_SHARE = 0.35;
const ROWS = 1;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const totalMs = numberOf('minutes') * 60_000;
const [server, emptyServer] = await Promise.all([startRedis(SERVER), startRedis(SERVER)]);
process.on('exit', endPrograms);
try {
  const days = await twoTenants(server.url, numberOf('days'));
  say(`two tenants: ${JSON.stringify(days)}`);
  const redis = openRedis(server.url, 'worker');
  await redis.flushall();
  redis.disconnect();
  const settings = {
    jobs: numberOf('jobs'),
    tenants: numberOf('tenants'),
    workers: numberOf('workers'),
    rows: ROWS,
    jobMs: numberOf('job-ms'),
    processes: numberOf('processes'),
  };
  const fleet = await simulateFleet({
    ...settings,
    url: server.url,
    emptyUrl: emptyServer.url,
    fillUntil: Date.now() + totalMs * FILL_SHARE,
    serveMs: totalMs * SERVE_SHARE,
    say,
  });
  const text = page(settings, days, fleet);
  say(`\n${text}`);
  if (options.write) await writeFile(new URL('../simulation.md', import.meta.url), text);
} finally {
  endPrograms();
  await Promise.all([server.stop(), emptyServer.stop()]);
}
process.exit(0);

/** lab/simulation.md: what was simulated, and the figures of the last run. */
import { machine } from '../bench/harness.ts';
import { today } from '../results.ts';
import { type FleetResult, inARowOf } from './fleet.ts';
import type { TwoTenantsResult } from './two-tenants.ts';

export interface PageSettings {
  readonly jobs: number;
  readonly tenants: number;
  readonly workers: number;
  readonly rows: number;
  readonly jobMs: number;
  readonly processes: number;
}

const whole = (value: number): string => Math.round(value).toLocaleString('en');
const one = (value: number): string => value.toFixed(1);
const two = (value: number): string => value.toFixed(2);
const lines = (rows: readonly (readonly string[])[]): string =>
  rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');

export function page(settings: PageSettings, days: TwoTenantsResult, fleet: FleetResult): string {
  const { jobs, tenants, workers, rows, jobMs, processes } = settings;
  const ratios = fleet.fill.map(({ admissionUs, emptyUs }) => admissionUs / emptyUs);
  const reached =
    fleet.waiting < jobs ? `; ${whole(jobs)} were asked for, and the time for filling was over` : '';
  return `# The simulated fleet

\`npm run lab -- simulation --write\` wrote this page. It shows what the queue does under a fleet that no single machine has: the device of each
worker is simulated and computes nothing, and everything between it and Redis is the code that ships (claims, leases, ends, janitor,
reports, three connections for each worker). Jobs are admitted and stored by the code of \`POST /v1/jobs\`, without HTTP.

Measured on ${today()}: ${machine()}, other programs on the same cores. Redis 4 GB at most, without a log.
Times in ms include the wait of all these processes for the cores.

## Two tenants, ${days.days} days

A fleet of nine rows serves jobs of one simulated minute. One tenant posts 20,000 jobs at once, the other one 20,000 over the days, and
every hour a new tenant posts its first job. The clock is simulated, the queue is real.

| Figure | Measured | Goal |
| --- | --- | --- |
| Jobs served | ${whole(days.served)} | |
| Jobs of one tenant in every 100 served, least and most | ${days.least}, ${days.most} | 40 to 60 |
| Longest wait of the first job of ${days.newcomers} newcomers, in batches | ${days.longestWait} | at most 2 |

## ${whole(workers)} workers, ${whole(fleet.waiting)} waiting jobs

${whole(fleet.waiting)} jobs of ${tenants} tenants wait in four groups; they were posted ${whole(inARowOf(settings))} of one tenant after ${whole(inARowOf(settings))} of another${reached}.

| Waiting | Redis CPU of an admission | the same on another Redis where 10 jobs wait | Redis CPU of a stored job | Memory of a waiting job |
| --- | --- | --- | --- | --- |
${lines(
  fleet.fill.map((row) => [
    whole(row.waiting),
    `${one(row.admissionUs)} µs`,
    `${one(row.emptyUs)} µs`,
    `${one(row.storedUs)} µs`,
    `${two(row.bytesPerJob / 1000)} kB`,
  ]),
)}

An admission costs ${two(Math.min(...ratios))} to ${two(Math.max(...ratios))} times as much as on the other Redis, measured alternately (goal: 0.8 to 1.2). The memory of the first rows
includes what a queue takes once.

Then ${whole(workers)} workers in ${processes} processes serve them: four lanes of ${rows} row each, jobs of ${one((jobMs * 0.5) / 1000)} to ${one((jobMs * 1.5) / 1000)} s. A new tenant posts
one job every second.

| After | Starts per second | Claim, median | Claim, 99th percentile | Redis, of one core | Memory |
| --- | --- | --- | --- | --- | --- |
${lines(
  fleet.serve.map((row) => [
    `${whole(row.atS)} s`,
    whole(row.startsPerS),
    `${one(row.claimP50Ms)} ms`,
    `${one(row.claimP99Ms)} ms`,
    `${whole(row.redisCpu * 100)} %`,
    `${whole(row.usedMb)} MB`,
  ]),
)}

| Figure | Measured | Goal |
| --- | --- | --- |
| Jobs started | ${whole(fleet.starts)} | |
| Jobs of one tenant in every ${whole(tenants * fleet.perTenant)} started, least and most | ${fleet.least}, ${fleet.most} | ${fleet.perTenant} |
| Wait of the first job of ${fleet.newcomers} newcomers, 95th percentile and longest | ${whole(fleet.newcomerP95Ms)} ms, ${whole(fleet.newcomerMaxMs)} ms | |
| The longest, in batches of the fleet (jobs started meanwhile over rows) | ${two(fleet.newcomerBatches)} | at most 2 |
| Leases lost, workers that found themselves stuck | ${fleet.leasesLost}, ${fleet.exits} | 0, 0 |
| Memory of a simulated worker | ${one(fleet.workerMb)} MB | |

In a fair order, one job of each other tenant in its group goes before the first job of a newcomer: with many tenants and few rows,
these alone are more than two batches.
`;
}

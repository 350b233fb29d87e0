/** Fills one Redis with waiting jobs, then lets a simulated fleet serve them while newcomers arrive. */
import { setTimeout as sleep } from 'node:timers/promises';
import { atPercent, largest, type Start, shares, smallest, startedBefore } from './figures.ts';
import { GROUPS, type JobMaker, openJobMaker, tenantAt } from './jobs.ts';
import { startFillers, startWorkers } from './programs.ts';
import { readFigures } from './redis-figures.ts';
import type { WorkReport } from './work.ts';

export interface FleetOptions {
  readonly url: string;
  readonly jobs: number;
  readonly tenants: number;
  readonly workers: number;
  /** Rows of each lane; a worker has one lane per group. */
  readonly rows: number;
  readonly jobMs: number;
  readonly processes: number;
  /** Another Redis, on which next to nothing waits: what admissions cost there tells how busy the machine is. */
  readonly emptyUrl: string;
  /** Unix ms: when filling ends at the latest. */
  readonly fillUntil: number;
  /** How long the workers serve, once all of them are up. */
  readonly serveMs: number;
  readonly say: (line: string) => void;
}

export interface FillRow {
  readonly waiting: number;
  /** Redis CPU of one admission, also where next to nothing waits, and of storing a job in all, µs. */
  readonly admissionUs: number;
  readonly emptyUs: number;
  readonly storedUs: number;
  readonly bytesPerJob: number;
}

export interface ServeRow {
  readonly atS: number;
  readonly startsPerS: number;
  readonly claimP50Ms: number;
  readonly claimP99Ms: number;
  readonly redisCpu: number;
  readonly usedMb: number;
}

export interface FleetResult {
  readonly waiting: number;
  readonly fill: readonly FillRow[];
  readonly serve: readonly ServeRow[];
  readonly starts: number;
  /** Jobs that each tenant should have in a part of the order of starts, and the least and the most that one had. */
  readonly perTenant: number;
  readonly least: number;
  readonly most: number;
  readonly newcomers: number;
  readonly newcomerP95Ms: number;
  readonly newcomerMaxMs: number;
  /** Jobs started while a newcomer's first job waited, over the jobs that run at once. */
  readonly newcomerBatches: number;
  readonly leasesLost: number;
  readonly exits: number;
  readonly workerMb: number;
}

const DEPTHS = [10, 100, 1000, 10_000, 100_000, 250_000, 500_000, 750_000, 1_000_000];
/** The median of these rounds counts: other programs on the machine disturb single ones. */
const ROUNDS = 7;
const ADMISSIONS = 500;
/** Tenants of admissions that are only measured: they must not shift the turns of the tenants that are served. */
const FIRST_MEASURED = 1_000_000;
const MEASURED_TENANTS = 100;
const MAX_IN_A_ROW = 1000;
const AT_ONCE = 50;
/** Admission refuses above 80 % of maxmemory, so a queue never takes more. */
const FULL = 0.8;
const NEWCOMER_EVERY_MS = 1000;
const ROWS_OF_SERVING = 8;

/** How many jobs of one tenant are posted after each other; every tenant posts some. */
export const inARowOf = ({ jobs, tenants }: Pick<FleetOptions, 'jobs' | 'tenants'>): number =>
  Math.max(1, Math.min(MAX_IN_A_ROW, Math.floor(jobs / tenants)));

export async function simulateFleet(options: FleetOptions): Promise<FleetResult> {
  const [maker, empty] = await Promise.all([openJobMaker(options.url), openJobMaker(options.emptyUrl)]);
  for (let i = 0; i < DEPTHS[0]; i++) await empty.submit(tenantAt(i), GROUPS[i % GROUPS.length]);
  const { waiting, rows } = await fill(maker, empty, options);
  empty.redis.disconnect();
  const served = await serve(maker, options);
  maker.redis.disconnect();
  return { waiting, fill: rows, ...served };
}

async function fill(
  maker: JobMaker,
  emptyMaker: JobMaker,
  options: FleetOptions,
): Promise<{ waiting: number; rows: FillRow[] }> {
  const { url, jobs, tenants, fillUntil: until, processes, say } = options;
  const fillers = await startFillers(url, processes);
  const inARow = inARowOf(options);
  const empty = await readFigures(maker.redis);
  const rows: FillRow[] = [];
  let waiting = 0;
  let isFull = false;
  for (const depth of [...DEPTHS.filter((each) => each < jobs), jobs]) {
    const before = await readFigures(maker.redis);
    const made = await fillers.fill({ from: waiting, to: depth, tenants, inARow, until });
    waiting += made;
    const after = await readFigures(maker.redis);
    isFull = after.usedBytes > FULL * after.maxBytes;
    rows.push({
      waiting,
      storedUs: ((after.cpuMs - before.cpuMs) / made) * 1000,
      bytesPerJob: (after.datasetBytes - empty.datasetBytes) / waiting,
      ...(await admissionUs(maker, emptyMaker)),
    });
    say(`filled ${waiting}: ${JSON.stringify(rows.at(-1))}`);
    if (waiting < depth || isFull) break;
  }
  return { waiting, rows };
}

/** The admissions reserve places and store nothing, so that the depth stays what it is; the janitor frees the places later. */
async function admissionUs(
  maker: JobMaker,
  emptyMaker: JobMaker,
): Promise<Pick<FillRow, 'admissionUs' | 'emptyUs'>> {
  const [full, empty]: [number[], number[]] = [[], []];
  // Alternately, so that other load of the machine affects both.
  while (full.length < ROUNDS) {
    full.push(await roundOfAdmissionsUs(maker));
    empty.push(await roundOfAdmissionsUs(emptyMaker));
  }
  return { admissionUs: atPercent(full, 50), emptyUs: atPercent(empty, 50) };
}

async function roundOfAdmissionsUs(maker: JobMaker): Promise<number> {
  const before = await readFigures(maker.redis);
  for (let from = 0; from < ADMISSIONS; from += AT_ONCE) {
    const places = Array.from({ length: AT_ONCE }, (_, i) => from + i);
    await Promise.all(
      places.map((i) =>
        maker.admit(tenantAt(FIRST_MEASURED + (i % MEASURED_TENANTS)), GROUPS[i % GROUPS.length]),
      ),
    );
  }
  const after = await readFigures(maker.redis);
  return ((after.cpuMs - before.cpuMs) / ADMISSIONS) * 1000;
}

async function serve(maker: JobMaker, options: FleetOptions): Promise<Omit<FleetResult, 'waiting' | 'fill'>> {
  const { url, workers, rows, jobMs, processes, tenants, serveMs, say } = options;
  const all: Start[] = [];
  let recent: WorkReport[] = [];
  let [leasesLost, exits, workerMb] = [0, 0, 0];
  const fleet = await startWorkers({ url, workers, rows, jobMs }, processes, (report) => {
    recent.push(report);
    for (const [tenant, startedAt, createdAt] of report.starts) all.push({ tenant, startedAt, createdAt });
    leasesLost = Math.max(leasesLost, report.leasesLost);
    exits += report.exits;
    workerMb = Math.max(workerMb, (report.rssBytes / 1e6) * (processes / workers));
  });
  fleet.start();
  const from = Date.now();
  const table: ServeRow[] = [];
  let newcomers = 0;
  for (let part = 1; part <= ROWS_OF_SERVING; part++) {
    const [partFrom, before] = [Date.now(), await readFigures(maker.redis)];
    recent = [];
    while (Date.now() < from + (serveMs * part) / ROWS_OF_SERVING) {
      await maker.submit(tenantAt(tenants + newcomers), GROUPS[newcomers % GROUPS.length]);
      newcomers += 1;
      await sleep(NEWCOMER_EVERY_MS);
    }
    const [ms, after] = [Date.now() - partFrom, await readFigures(maker.redis)];
    const claims = recent.flatMap(({ claimMs }) => claimMs);
    table.push({
      atS: (Date.now() - from) / 1000,
      startsPerS: (recent.reduce((sum, { starts }) => sum + starts.length, 0) / ms) * 1000,
      claimP50Ms: atPercent(claims, 50),
      claimP99Ms: atPercent(claims, 99),
      redisCpu: (after.cpuMs - before.cpuMs) / ms,
      usedMb: after.usedBytes / 1e6,
    });
    say(`served: ${JSON.stringify(table.at(-1))}`);
  }
  const starts = all.sort((a, b) => a.startedAt - b.startedAt);
  const regular = Array.from({ length: tenants }, (_, i) => tenantAt(i) as string);
  const known = new Set(regular);
  const order = starts.map(({ tenant }) => tenant).filter((tenant) => known.has(tenant));
  // Short runs have fewer starts than a full part.
  const perTenant = Math.min(100, Math.floor(order.length / tenants));
  const counts = shares(order, regular, perTenant * tenants).flat();
  const waits = starts
    .filter(({ tenant }) => !known.has(tenant))
    .map(({ startedAt, createdAt }) => startedAt - createdAt);
  const passed = startedBefore(starts, (tenant) => !known.has(tenant));
  return {
    serve: table,
    starts: starts.length,
    perTenant,
    least: smallest(counts),
    most: largest(counts),
    newcomers,
    newcomerP95Ms: atPercent(waits, 95),
    newcomerMaxMs: largest(waits),
    newcomerBatches: largest(passed) / (workers * GROUPS.length * rows),
    leasesLost,
    exits,
    workerMb,
  };
}

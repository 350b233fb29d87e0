/** `npm run lab -- peers pictures`: Lehr beside the servers that people would pick, on the same graphs and the same requests. */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { demoModelsFile } from '../../../packages/demo-models/src/index.ts';
import { Random } from '../../../test/support/random.ts';
import { percentile } from '../../bench/harness.ts';
import { interleaved, ratioRow, type Timed } from '../../real/peers/interleaved.ts';
import { atMostRow } from '../../real/rows.ts';
import type { Bench, Comparison, Row, Section } from '../../real/section.ts';
import { ABOUT, HERE, OPEN_SHARE, WARM_S } from './about.ts';
import { largestDifference } from './difference.ts';
import { closedLoop, drawings, type Ended, openLoop, SHORT_STEPS } from './load.ts';
import { type Model, PEERS, type Server, startLehr, startPeer } from './servers.ts';
import { ensureU16 } from './u16.ts';

const USERS = 16;
/** Largest difference of a color value, of 255, that counts as the same picture. */
const SAME = 2;

interface Plan {
  /** The names of the peers; all of them when absent. */
  readonly peers?: readonly string[];
  readonly open: (cache: string) => Promise<Model>;
  readonly rounds: number;
  readonly closedS: number;
  readonly openS: number;
  /** Steps of the pictures that are compared; those of the load when absent. */
  readonly sameSteps?: number;
}

const demoFolder = join(dirname(demoModelsFile()), 'demo-diffusion');
const PLANS: Readonly<Record<string, Plan>> = {
  demo: {
    open: async () => ({ name: 'demo', folder: demoFolder, side: 64 }),
    rounds: 3,
    closedS: 8,
    openS: 12,
  },
  u16: {
    open: async (cache) => {
      const folder = join(cache, 'u16');
      await ensureU16(folder, demoFolder);
      return { name: 'u16', folder, side: 128 };
    },
    // The best two on the demo model: with all four, a round of this slow model takes too long for the load to be the same in it.
    peers: ['LitServe', 'Ray Serve'],
    rounds: 2,
    closedS: 22,
    openS: 24,
    // Random weights make a rounding difference of one step a different picture after ten.
    sameSteps: 1,
  },
};

/** What the closed loop of a model found, for the open loop: pictures per second of the best peer. */
const limitFile = (bench: Bench, name: string): string => join(bench.cache, `${name}-best-peer.json`);

async function withServers(
  bench: Bench,
  { open, peers = PEERS.map(({ name }) => name) }: Plan,
  work: (servers: Server[], model: Model) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const model = await open(bench.cache);
  const servers: Server[] = [];
  try {
    servers.push(await startLehr(model));
    for (const peer of PEERS.filter(({ name }) => peers.includes(name))) {
      bench.say(`starting ${peer.name}`);
      const server = await startPeer(peer, model, dirname(bench.cache));
      server.pause();
      servers.push(server);
    }
    return await work(servers, model);
  } finally {
    for (const server of servers.reverse()) await server.close();
  }
}

/** Each server draws the same nine pictures at once; their largest difference to Lehr's. */
async function samePictures(
  servers: readonly Server[],
  { side }: Model,
  { sameSteps }: Plan,
): Promise<Row[]> {
  const source = drawings(side, 1);
  const wanted = Array.from({ length: 9 }, () => {
    const drawing = source.next().value;
    return { ...drawing, inference_steps: sameSteps ?? drawing.inference_steps };
  });
  const [ours, ...others] = await inTurn(servers, ({ draw }) => Promise.all(wanted.map(draw)));
  const rows: Row[] = [];
  for (const [i, files] of others.entries()) {
    const difference = await largestDifference(ours, files);
    const of = sameSteps === undefined ? 'pictures' : `pictures of ${sameSteps} step`;
    const what = `largest difference of a color value to Lehr's ${of}, ${servers[i + 1].name}`;
    rows.push(atMostRow(what, difference, SAME, 'of 255'));
  }
  return rows;
}

async function inTurn<T>(servers: readonly Server[], work: (server: Server) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (const server of servers) results.push(await alone(server, work));
  return results;
}

/** With the other servers paused. */
async function alone<T>(server: Server, work: (server: Server) => Promise<T>): Promise<T> {
  server.resume();
  try {
    return await work(server);
  } finally {
    server.pause();
  }
}

const saturation = (name: string, plan: Plan): Comparison => ({
  name: `${name}-saturation`,
  title: `${titleOf(name)}: ${USERS} users in a closed loop`,
  run: (bench) =>
    withServers(bench, plan, async (servers, model) => {
      const same = await samePictures(servers, model, plan);
      const cpu = new Map(servers.map((server) => [server, [] as number[]]));
      const cores = new Map(servers.map((server) => [server, [] as number[]]));
      const partsBefore = servers[0].cpuParts?.() ?? {};
      let pictures = 0;
      let turn = 0;
      const measure = async (server: Server): Promise<number> => {
        const round = Math.floor(turn++ / servers.length);
        const before = server.cpuSeconds();
        const startedAt = performance.now();
        // The first round is not counted.
        const seconds = WARM_S + (round === 0 ? 1 : plan.closedS);
        const source = drawings(model.side, 1000 * (round + 1));
        const ended = await closedLoop(server.draw, source, { users: USERS, seconds });
        const used = server.cpuSeconds() - before;
        cpu.get(server)?.push((used * 1000) / ended.length);
        cores.get(server)?.push((used * 1000) / (performance.now() - startedAt));
        if (server === servers[0]) pictures += ended.length;
        const rate = rateOf(ended, seconds);
        bench.say(`round ${round}, ${server.name}: ${rate.toFixed(2)} pictures/s`);
        return rate;
      };
      const timed = await interleaved(servers, plan.rounds, (server) => alone(server, measure));
      const best = bestPeer(timed);
      await writeFile(limitFile(bench, name), JSON.stringify({ perSecond: percentile(best.values, 50) }));
      const [lehr, ...peers] = timed;
      const rates = peers.map(({ side, values }) =>
        ratioRow(
          side === best.side ? `pictures/s, ${side.name}, the best of them` : `pictures/s, ${side.name}`,
          lehr.values,
          values,
          { unit: 'pictures/s', ...(side === best.side && { atLeast: 1.3 }) },
        ),
      );
      const costRows = ratioRows(cpu, 'CPU time of all processes per picture', 'ms');
      const coreRows = ratioRows(cores, 'cores in use', 'cores');
      return [...rates, ...costRows, ...coreRows, partRow(servers[0], partsBefore, pictures), ...same];
    }),
});

const open = (name: string, plan: Plan): Comparison => ({
  name: `${name}-open`,
  title: `${titleOf(name)}: Poisson arrivals at ${OPEN_SHARE} of the best peer's saturation`,
  run: async (bench) => {
    const limit = await readFile(limitFile(bench, name), 'utf8').catch(() => undefined);
    if (limit === undefined) throw new Error(`Run ${name}-saturation first: the load depends on it.`);
    const perSecond = OPEN_SHARE * (JSON.parse(limit) as { perSecond: number }).perSecond;
    return withServers(bench, plan, async (servers, model) => {
      const all = new Map(servers.map((server) => [server, [] as Ended[][]]));
      let turn = 0;
      const measure = async (server: Server): Promise<number> => {
        // All servers get the same arrivals and pictures in one round, and others in the next.
        const round = Math.floor(turn++ / servers.length);
        const source = drawings(model.side, 1000 * (round + 1));
        const random = new Random(round + 1);
        const next = (): number => random.next();
        // The first round is not counted.
        const seconds = round === 0 ? 2 : plan.openS;
        const ended = await openLoop(server.draw, source, { perSecond, seconds, random: next });
        all.get(server)?.push(ended);
        const latency = mean(ended.map(({ ms }) => ms));
        bench.say(`round ${round}, ${server.name}: ${Math.round(latency)} ms, ${ended.length} pictures`);
        return latency;
      };
      const means = await interleaved(servers, plan.rounds, (server) => alone(server, measure));
      const [lehr, ...peers] = means;
      const rows = peers.map(({ side, values }) =>
        ratioRow(`mean latency, ${side.name}`, lehr.values, values, { unit: 'ms', atMost: 0.5 }),
      );
      const shorts = [...all].map(([server, rounds]) => shortRow(server, rounds.slice(1).flat()));
      return [{ what: 'arrivals', figure: perSecond, unit: 'pictures/s' }, ...rows, ...shorts];
    });
  },
});

/** Without the first round, which is not counted. */
function ratioRows(all: ReadonlyMap<Server, readonly number[]>, what: string, unit: string): Row[] {
  const [ours, ...others] = [...all].map(([side, values]) => ({ side, values: values.slice(1) }));
  return others.map(({ side, values }) => ratioRow(`${what}, ${side.name}`, ours.values, values, { unit }));
}

const titleOf = (name: string): string => (name === 'demo' ? 'The demo model' : 'U16');

/** Answers in the last seconds of the closed loop, per second: after the start, and before the users stop. */
function rateOf(ended: readonly Ended[], seconds: number): number {
  const counted = ended.filter(({ at }) => at >= WARM_S * 1000 && at < seconds * 1000);
  return counted.length / (seconds - WARM_S);
}

const bestPeer = ([, ...peers]: readonly Timed<Server>[]): Timed<Server> =>
  peers.reduce((best, each) => (percentile(each.values, 50) > percentile(best.values, 50) ? each : best));

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Where Lehr's CPU time goes; while it waits too, so the sum is a little above its row. */
function partRow(
  { name, cpuParts }: Server,
  before: Readonly<Record<string, number>>,
  pictures: number,
): Row {
  const parts = Object.entries(cpuParts?.() ?? {}).map(([part, seconds]) => {
    const ms = ((seconds - (before[part] ?? 0)) * 1000) / pictures;
    return `${part} ${ms.toPrecision(2)}`;
  });
  return { what: `CPU time per picture by part, ${name}, ms`, figure: parts.join(', ') };
}

function shortRow({ name }: Server, ended: readonly Ended[]): Row {
  const short = ended.filter(({ drawing }) => drawing.inference_steps === SHORT_STEPS).map(({ ms }) => ms);
  return {
    what: `latency of the ${short.length} jobs of ${SHORT_STEPS} steps, 99th percentile, ${name}`,
    figure: percentile(short, 99),
    unit: 'ms',
    spread: [Math.min(...short), Math.max(...short)],
  };
}

export const section: Section = {
  title: 'Pictures',
  about: ABOUT,
  environments: PEERS.map(({ environment }) => ({
    name: environment,
    requirements: `${HERE}/requirements-${environment.replace('peers/', '')}.txt`,
    size: environment === 'peers/ray' ? '150 MB, 450 MB on the disk' : '70 MB, 250 MB on the disk',
  })),
  comparisons: Object.entries(PLANS).flatMap(([name, plan]) => [saturation(name, plan), open(name, plan)]),
};

/** npm run lab -- fuzz: one run of the fuzzer, with bounds of time and memory, and its report. Exits with 1 when it found something. */
import { readFile } from 'node:fs/promises';
import { type CampaignReport, type Found, runCampaign } from './campaign.ts';
import { type CorpusEntry, readCorpus } from './corpus.ts';
import { replay } from './replay.ts';
import { startTarget } from './target.ts';

/** No request of any content may block the event loop for longer. */
const MAX_BLOCKED_MS = 50;
const MAX_GROWTH = 0.1;
/** Share of the rounds in which everything that is allocated once is allocated. */
const WARM_UP = 0.25;

interface Options {
  readonly minutes: string;
  readonly seed?: string;
  readonly replay?: string;
}
const {
  minutes,
  seed = String(Date.now() % 1_000_000),
  replay: file,
} = JSON.parse(process.argv[2]) as Options;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

const percentile = (numbers: readonly number[], share: number): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length * share)] ?? Number.NaN;

/** The last quarter of the rounds over those after the warm-up, as a share. */
function growthOf(rssBytes: readonly number[]): number {
  const rounds = rssBytes.slice(Math.floor(rssBytes.length * WARM_UP));
  const part = Math.max(1, Math.floor(rounds.length / 4));
  return median(rounds.slice(-part)) / median(rounds.slice(0, part)) - 1;
}

function sayFound({ what, batch, seed }: Found): void {
  say(`\nFOUND in the round of seed ${seed}: ${what}`);
  if (batch.length > 0) say(JSON.stringify({ fault: what, batch }));
}

function sayReport({ requests, kinds, statuses, rssBytes, blockedMs, otherTenantMs }: CampaignReport): void {
  const byStatus: Record<string, number> = {};
  for (const [name, times] of Object.entries(statuses)) {
    const status = name.slice(name.lastIndexOf(' ') + 1);
    byStatus[status] = (byStatus[status] ?? 0) + times;
  }
  const mib = rssBytes.map((bytes) => Math.round(bytes / 2 ** 20));
  say(`\n${requests} requests in ${rssBytes.length} rounds`);
  say(`by part of the grammar or route: ${JSON.stringify(kinds)}`);
  say(`by status: ${JSON.stringify(byStatus)}`);
  say(`resident memory in MiB after each round: ${mib.join(' ')}`);
  say(`growth of resident memory after the warm-up: ${(growthOf(rssBytes) * 100).toFixed(1)} %`);
  say(`longest block of the event loop: ${blockedMs.toFixed(0)} ms`);
  const p95 = percentile(otherTenantMs, 0.95).toFixed(0);
  say(`the other tenant: ${otherTenantMs.length} requests, 95th percentile ${p95} ms`);
}

const target = await startTarget();
let found: readonly Found[] = [];
try {
  const corpus: readonly CorpusEntry[] = file
    ? [{ name: file, ...JSON.parse(await readFile(file, 'utf8')) }]
    : await readCorpus();
  const old = await replay(target, corpus, MAX_BLOCKED_MS);
  for (const each of old) sayFound(each);
  found = old;
  if (!file) {
    say(`seed ${seed}, ${minutes} minutes`);
    const report = await runCampaign(target, {
      seed: Number(seed),
      ms: Number(minutes) * 60_000,
      maxBlockedMs: MAX_BLOCKED_MS,
      onFinding: sayFound,
    });
    found = [...old, ...report.found];
    sayReport(report);
    if (growthOf(report.rssBytes) > MAX_GROWTH) {
      found = [...found, { what: 'resident memory grew by more than 10 %', batch: [], seed: 0 }];
    }
  }
} finally {
  await target.close();
}
say(found.length === 0 ? '\nNothing was found.' : `\n${found.length} found.`);
process.exit(found.length === 0 ? 0 : 1);

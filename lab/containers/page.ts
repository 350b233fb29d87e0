/** Writes lab/containers.md from what a run saw. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { readResults, today } from '../results.ts';
import type { Image } from './building.ts';
import type { Result } from './results.ts';

const { STAND_INS } = (await import(new URL('./stand-ins.mjs', import.meta.url).href)) as {
  STAND_INS: Record<string, { readonly what: string }>;
};
const ROOT = join(import.meta.dirname, '../..');
const MB = 1_000_000;
/** Smaller layers are not worth a line. */
const SHOWN_LAYER = /^(?:\d{2,3}(?:\.\d+)?MB|[\d.]+GB)$/;

/** Of a run of all scenes. */
interface Run {
  readonly commit: string;
  /** Whether the engine began without any image, layer and volume. */
  readonly isEmpty: boolean;
  readonly began: number;
}

export function writePage(folder: string): void {
  const kept = readResults<unknown>(folder);
  const images = (kept.get('images') ?? []) as Image[];
  const scenes = (kept.get('scenes') ?? []) as string[];
  const run = kept.get('run') as Run | undefined;
  for (const name of ['images', 'scenes', 'run']) kept.delete(name);
  const results = ([...kept.values()] as Result[]).sort((one, other) => one.place - other.place);
  writeFileSync(join(ROOT, 'lab/containers.md'), page(results, images, scenes, run));
}

export function page(
  results: readonly Result[],
  images: readonly Image[],
  scenes: readonly string[],
  run?: Run,
): string {
  const version = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { encoding: 'utf8' }).trim().split('\n')[0];
  const failed = results.filter(({ passed }) => !passed);
  const without = scenes.filter((scene) => !results.some(({ name }) => name === scene));
  return `# What containers did

<!-- Written by npm run lab -- containers --write. -->

[Containers on one machine](../docs/compose.md) says how Lehr is run in containers. This page says what was seen when \`npm run lab -- containers\` did it: a
Docker Engine, [compose.yaml](../infra/compose.yaml), and what happens to containers while jobs run. After each scene that has jobs, the invariants
I1 to I7 of [Faults](faults.md) were checked: every accepted job ended once, its picture and its webhook are there, and a deleted job leaves nothing in
Redis or the store.

Written on ${today()}: ${results.length - failed.length} of ${scenes.length} scenes passed, ${failed.length} failed${without.length > 0 ? `, and these have no result: ${without.join(', ')}` : ''}. ${run ? oneRun(run) : severalRuns(results)}
${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, kernel ${release().split('-')[0]}, control groups version 1, Debian 12, no systemd;
${version('dockerd', '--version')}, ${version('runc', '--version')}, Compose 2.40.3, ${version('podman', '--version')}. The machine was shared, so the seconds are no
measure of Lehr.

| Scene | Result | s | Jobs | Repeated | What was seen |
| --- | --- | --- | --- | --- | --- |
${results.map(row).join('\n')}

\`Jobs\` counts those that the invariants were checked on, \`Repeated\` their attempts beyond the first. \`npm test\` has the parts that need no engine:
[compose.yaml](../test/repo/compose.test.ts), and [Redis with its users, restarted](../test/repo/redis-users.test.ts).

## Base images

No registry of images was in reach. These stood in, under the names that compose.yaml and the Dockerfiles have:

| Name | What stood in |
| --- | --- |
${Object.entries(STAND_INS)
  .map(([name, { what }]) => `| \`${name}\` | ${what} |`)
  .join('\n')}

Grafana, Loki, Tempo, Alloy and the exporters were not run, because their programs could not be had. Never tried: the real base images, a push to a registry,
processors other than x86-64, a card.

## Sizes

| Image | MB | Layers of 10 MB and more |
| --- | --- | --- |
${images.map(sizes).join('\n')}
`;
}

const oneRun = ({ commit, isEmpty, began }: Run): string =>
  `This is the report of one run of ${Math.round((Date.now() - began) / 60_000)} minutes at commit ${commit}${isEmpty ? ', which began with an empty engine' : ''}.`;

function severalRuns(results: readonly Result[]): string {
  const commits = [...new Set(results.map(({ commit }) => commit))];
  const scenes = commits.map((each) => {
    const names = results.filter(({ commit }) => commit === each).map(({ name }) => name);
    return `at commit ${each} ${names.join(', ')}`;
  });
  return `It is no report of one run: ${scenes.join('; ')}.`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');

const row = ({ name, sentence, passed, seconds, jobs, repeated, seen }: Result): string =>
  `| ${name}: ${cell(sentence)} | ${passed ? 'passed' : '**failed**'} | ${seconds} | ${jobs || ''} | ${jobs ? repeated : ''} | ${cell(seen).slice(0, 400)} |`;

function sizes({ name, bytes, layers }: Image): string {
  const large = layers
    .filter(({ size }) => SHOWN_LAYER.test(size))
    .map(({ size, step }) => `${size} \`${cell(step).slice(0, 60)}\``);
  return `| \`${name}\` | ${Math.round(bytes / MB)} | ${large.join(', ')} |`;
}

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseRegistry } from '../../packages/shared/src/index.ts';
import { blocksOf, ROOT, readText } from '../repo/readme.ts';
import { unpackTextFixture } from '../support/text-fixtures.ts';
import { tempFolder, tinyModels } from '../support/tiny-models.ts';
import { lehrShell, startLehrCommand } from './lehr-command.ts';

const WHOLE = { timeout: 300_000 };
const DEMO = join(ROOT, 'packages/demo-models/models/demo-diffusion');

async function demoHome() {
  const home = await tempFolder('tune');
  const models = join(home, 'models.yaml');
  await writeFile(
    models,
    `# ours
models:
  - name: demo
    task: diffusion
    versions:
      # the first one
      - { version: "1", path: ${DEMO} }
    defaults: { width: 128, height: 128, steps: 20, guidance: 2, sampler: ddim }
`,
  );
  // One thread and one row count: four combinations, one for each optimization level.
  const env = { LEHR_HOME: home, LEHR_DEVICE: 'cpu', LEHR_THREADS: '1' };
  const start = (...args: string[]) => startLehrCommand(['tune', ...args], { env });
  return { home, models, start };
}

test('lehr tune continues after kill -9, reports every setting, and keeps the comments of models.yaml', {
  tags: ['long'],
}, async () => {
  const { home, models, start } = await demoHome();
  const before = await readFile(models, 'utf8');
  const killed = start('demo', '--goal', 'latency');
  await new Promise<void>((resolve) => {
    let shown = '';
    killed.child.stderr?.on('data', (text: Buffer) => {
      shown += text;
      // The first line says 0 %; at the second, a trial is in the journal.
      if (shown.split(' % measure ').length > 2) resolve();
    });
  });
  killed.child.kill('SIGKILL');
  await killed.ended;
  expect(existsSync(join(home, 'tune/demo@1-latency.jsonl'))).toBe(true);

  const done = await start('demo', '--goal', 'latency').ended;
  expect(done).toMatchObject({ code: 0 });
  expect(done.stderr).toMatch(/^continues an interrupted search with \d+ measurements\n/);
  expect(done.stdout).toMatch(/^SETTING +VALUE +PICTURES\/S +ONE JOB +MEMORY +COST\n/);
  for (const level of ['extended', 'all']) {
    expect(done.stdout).toMatch(new RegExp(`^optimization +${level} +[\\d.]+ .* (?:chosen|x [\\d.]+)$`, 'm'));
  }
  expect(done.stdout).toContain('models.yaml was not changed');
  expect(await readFile(models, 'utf8')).toBe(before);
  expect(existsSync(join(home, 'tune/demo@1-latency.jsonl'))).toBe(false);
  const report = JSON.parse(await readFile(join(home, 'tune/demo@1-latency.json'), 'utf8')) as {
    tuned: object;
    all: unknown[];
  };
  expect(report.all).toHaveLength(2);

  const written = await start('demo@1', '--goal', 'latency', '--write', '--json').ended;
  const { settings } = JSON.parse(written.stdout) as { settings: Record<string, unknown> };
  expect(settings).toEqual({ threads: 1, optimization: expect.any(String) });
  const text = await readFile(models, 'utf8');
  expect(text).toContain('# ours\n');
  expect(text).toContain('# the first one\n');
  expect(parseRegistry(text).models[0].versions[0].tuned).toEqual({ cpu: settings });
});

test('lehr tune refuses what it does not know, and options that do not go together', WHOLE, async () => {
  const { start } = await demoHome();
  expect(await start('demo', '--goal', 'fame').ended).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('expected one of throughput, latency, memory'),
  });
  expect(await start('demo', '--arrivals', '2').ended).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('--arrivals is for the goal latency'),
  });
  expect(await start('demo', '--goal', 'latency', '--arrivals', '/none').ended).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('The arrivals /none cannot be read; wanted a number of jobs per second'),
  });
  expect(await start('demo', '--goal', 'latency', '--arrivals', 'Infinity').ended).toMatchObject({
    code: 65,
    stderr: expect.stringMatching(
      /The arrivals \S+\/Infinity cannot be read; wanted a number of jobs per second/,
    ),
  });
  expect(await start('demo', '--workers', '9').ended).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('--workers is 9, expected a whole number from 1 to 4'),
  });
  expect(await start('other').ended).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('There is no model "other". Offered: demo.'),
  });
});

test('lehr tune finds the settings of a text model and its exports, and leaves the row cap to the worker', {
  ...WHOLE,
  tags: ['long'],
}, async () => {
  const { home, models, start } = await demoHome();
  // It comes with graphs in int8 and half precision.
  unpackTextFixture('bert-classes', join(home, 'words'));
  const version = `{ version: "1", path: ${join(home, 'words')} }`;
  const entry = `  - { name: words, task: text, tasks: [text-classification], versions: [${version}] }\n`;
  await writeFile(models, `${await readFile(models, 'utf8')}${entry}`);
  const done = await start('words', '--variants', '--write').ended;
  expect(done).toMatchObject({ code: 0 });
  expect(done.stdout).toMatch(/^SETTING +VALUE +TEXTS\/S +ONE JOB +MEMORY +COST\n/);
  expect(done.stdout).toMatch(/^variant +_quantized /m);
  const report = JSON.parse(await readFile(join(home, 'tune/words@1-throughput.json'), 'utf8')) as {
    all: readonly { candidate: { session: { variant: string }; rowCap: number } }[];
  };
  const tried = new Set(report.all.map(({ candidate }) => candidate.session.variant));
  expect([...tried].sort()).toEqual(['', '_fp16', '_quantized']);
  expect(Math.max(...report.all.map(({ candidate }) => candidate.rowCap))).toBeGreaterThan(1);
  const arriving = await start('words', '--goal', 'latency', '--arrivals', '20', '--workers', '2').ended;
  expect(arriving).toMatchObject({ code: 0 });
  expect(arriving.stdout).toContain(' at most for 95 % of these arrivals, ');
  const [version1] = parseRegistry(await readFile(models, 'utf8')).models[1].versions;
  expect(version1.tuned).toEqual({
    cpu: { threads: 1, optimization: expect.any(String), variant: expect.any(String) },
  });
});

test('The commands of docs/tuning.md work', WHOLE, async () => {
  const models = await tinyModels();
  const blocks = blocksOf(readText('docs/tuning.md')).filter(({ language }) => language === 'sh');
  expect(blocks.map(({ label }) => label)).toEqual(['tune', 'prepare']);
  const home = await tempFolder('home');
  const env = { LEHR_HOME: home, LEHR_MODELS: models, LEHR_DEVICE: 'cpu', LEHR_THREADS: '1', MODEL: 'tiny' };
  const { run } = await lehrShell(env);
  const stdout = await run(blocks[0].text);
  // How many are tried depends on their speeds.
  expect(stdout).toMatch(/^row cap +\d+ .* chosen$/m);
  expect(stdout).toContain(`entered in ${models}`);
  expect(parseRegistry(await readFile(models, 'utf8')).models[0].versions[0].tuned).toMatchObject({
    cpu: { threads: 1, row_cap: expect.any(Number) },
  });
});

/** The programs and commands of docs/client.md, docs/cli.md and docs/events.md run as they are written. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { EXIT } from '../../apps/cli/src/exit-codes.ts';
import { blocksOf, ROOT, readText } from '../repo/readme.ts';
import { bundle } from '../support/bundle.ts';
import { startProgram } from '../support/lehr-process.ts';
import { flatPicture } from '../support/picture-file.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SAMPLES } from '../support/speech-files.ts';
import { speechModels } from '../support/speech-models.ts';
import { startStack } from '../support/stack.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { addTransformModels, tempFolder } from '../support/tiny-models.ts';
import { lehrShell } from './lehr-command.ts';
import { servedApi } from './served-api.ts';

const CLIENT = readText('docs/client.md');
const CLI = readText('docs/cli.md');
const EVENTS = readText('docs/events.md');
const RECORDING = fileURLToPath(new URL('en_circle.wav', SAMPLES));
const run = promisify(execFile);

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

function blockOf(page: string, language: string, label: string): string {
  const [block, another] = blocksOf(page).filter(
    (each) => each.language === language && each.label === label,
  );
  if (!block || another) throw new Error(`the page needs exactly one block "${language} ${label}"`);
  return block.text;
}

describe('docs/client.md', () => {
  /** Builds a program of the page. It is inside the repository, where Node finds its packages. */
  async function programOf(label: string): Promise<string> {
    const cache = join(ROOT, 'node_modules/.cache');
    mkdirSync(cache, { recursive: true });
    const folder = mkdtempSync(join(cache, 'lehr-docs-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, `${label}.ts`);
    writeFileSync(file, blockOf(CLIENT, 'ts', label));
    return bundle(file, import.meta.url);
  }

  test('The programs of docs/client.md create, follow and transcribe, and report an error', {
    tags: ['long'],
  }, async () => {
    const stack = await startStack(server, { LEHR_MODELS: await speechModels() });
    await stack.worker();
    const pictures = { PICTURE: await flatPicture('#c83264'), MASK: await flatPicture('#ffffff80') };
    const env = { LEHR_URL: stack.url, LEHR_API_KEY: stack.key, RECORDING, ...pictures };
    const outputOf = async (label: string): Promise<string[]> => {
      const { stdout } = await run(process.execPath, [await programOf(label)], { env });
      return stdout.trim().split('\n');
    };
    expect(await outputOf('picture')).toEqual([expect.stringMatching(/^64 64 \d+$/)]);
    expect(await outputOf('edit')).toEqual([expect.stringMatching(/^\d+ bytes$/)]);
    expect((await outputOf('follow')).at(-1)).toMatch(/^http:.*\/0\.png\?/);
    expect(await outputOf('speech')).toEqual([expect.stringMatching(/a red circle on a blue background/i)]);
    expect(await outputOf('errors')).toEqual(['invalid-input 422 false', '/input/steps must be at least 1']);
  });

  test('The webhook receiver of docs/client.md accepts signed deliveries and refuses others', async () => {
    const port = await freePort();
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const receiver = startProgram(await programOf('webhook'), {
      PORT: `${port}`,
      WEBHOOK_SECRET: secret,
    });
    const body = JSON.stringify({ type: 'job.succeeded', data: { id: 'job_1' } });
    const now = new Date();
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': `${Math.floor(now.getTime() / 1000)}`,
      'webhook-signature': new Webhook(secret).sign('msg_1', now, body),
    };
    const post = (text: string) =>
      fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: text });
    await vi.waitFor(async () => expect((await post(body)).status).toBe(204), SLOW_MACHINE);
    await receiver.logged('job.succeeded job_1');
    expect((await post(`${body} `)).status).toBe(401);
  });

  test('docs/client.md names every method of the client', async () => {
    const { Lehr } = await import('../../packages/client/src/index.ts');
    const methods = Object.getOwnPropertyNames(Lehr.prototype).filter((name) => name !== 'constructor');
    expect(methods.length).toBeGreaterThan(10);
    for (const method of methods) expect(CLIENT).toMatch(new RegExp(`\`${method}\\(`));
  });
});

describe('docs/cli.md', () => {
  test('The commands of docs/cli.md work in their order', { tags: ['long'] }, async () => {
    const home = await tempFolder('home');
    const models = await speechModels();
    await addTransformModels(models);
    const stack = await startStack(server, { LEHR_HOME: home, LEHR_MODELS: models });
    const worker = await stack.worker();
    const { cwd, run: runScript } = await lehrShell({
      LEHR_URL: stack.url,
      LEHR_API_KEY: stack.key,
      LEHR_HOME: home,
      LEHR_MODELS: models,
      LEHR_REDIS_URL: server.url,
      RECORDING,
    });
    const shell = (label: string, more: Readonly<Record<string, string>> = {}): Promise<string> =>
      runScript(blockOf(CLI, 'sh', label), more);
    expect(await shell('picture')).toContain('circle.png');
    expect((await readFile(join(cwd, 'circle.png'))).subarray(1, 4).toString()).toBe('PNG');
    expect(await shell('later')).toMatch(/succeeded in [\s\S]*JOB +TYPE/);
    expect(await shell('hires')).toContain('large.png');
    expect((await readFile(join(cwd, 'large.png'))).readUInt32BE(16)).toBe(128);
    expect(await shell('edit')).toMatch(/masked\.png[\s\S]*wide\.png/);
    const wide = await readFile(join(cwd, 'wide.png'));
    expect([wide.readUInt32BE(16), wide.readUInt32BE(20)]).toEqual([128, 128]);
    expect(await shell('transform')).toMatch(/picture +128x128: larger\.png/);
    expect(await shell('file')).toMatch(/^job_\w+ succeeded in/);
    expect(await shell('find')).toMatch(/succeeded[\s\S]*No jobs\.\n$/);
    expect(await shell('speech')).toMatch(
      /^.*a red circle on a blue background.*\njob_\w+ succeeded in [\s\S]*: spoken.png\n/i,
    );
    expect(await readFile(join(cwd, 'memo.srt'), 'utf8')).toMatch(/^1\n00:00:00,/);
    expect(await shell('script')).toBe('0\n');
    expect(JSON.parse(await readFile(join(cwd, 'job.json'), 'utf8'))).toMatchObject({ status: 'succeeded' });
    expect(await shell('keys')).toMatch(/acme +render farm +submit,read[\s\S]* is revoked\n$/);
    expect(await shell('audit')).toMatch(/key\.revoked .*\n.*key\.changed .*\n.*key\.created /);
    expect(await shell('usage')).toMatch(/^TENANT +MODEL +JOBS .*\ndefault +\S+@\S+ +\d/);
    expect(await readFile(join(cwd, 'usage.csv'), 'utf8')).toMatch(/^day,tenant,key,model,jobs/);
    // As npm start does, which is not what runs here.
    await mkdir(join(home, 'logs'));
    await writeFile(
      join(home, 'logs/worker.log'),
      worker.lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    );
    const JOB = String((await worker.logged('job started')).job);
    expect(await shell('logs', { JOB })).toMatch(/worker {2}info {3}job started .*\n.*job succeeded/);
    expect(await shell('doctor')).toMatch(/^ok +API/);
    const labels = blocksOf(CLI).flatMap(({ language, label }) => (language === 'sh' ? [label] : []));
    expect(labels).toEqual([
      'picture',
      'later',
      'hires',
      'edit',
      'transform',
      'file',
      'find',
      'speech',
      'script',
      'keys',
      'audit',
      'usage',
      'logs',
      'doctor',
    ]);
  });

  test('The table of exit codes in docs/cli.md is complete', () => {
    const codes = [...CLI.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
    expect(codes).toEqual(Object.values(EXIT));
  });
});

describe('docs/events.md', () => {
  const TYPES = ['job.queued', 'job.started', 'job.succeeded'];

  async function finishedJob() {
    const api = await servedApi(server.url);
    const { id } = await api.post();
    await api.worker.succeed(await api.worker.take());
    return { api, id };
  }

  test('The command of docs/events.md follows a job to its end', async () => {
    const { api, id } = await finishedJob();
    const env = { PATH: process.env.PATH, LEHR_URL: api.url, LEHR_API_KEY: api.key, ID: id };
    const { stdout } = await run('sh', ['-eu', '-c', blockOf(EVENTS, 'sh', 'follow')], { env });
    expect([...stdout.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).toEqual(TYPES);
  });

  test('The fetch function of docs/events.md yields the events and continues after an id', async () => {
    const { api, id } = await finishedJob();
    const program = `${blockOf(EVENTS, 'js', 'fetch')}; return eventsOf;`;
    const eventsOf = new Function('LEHR_URL', 'LEHR_API_KEY', program)(api.url, api.key) as (
      id: string,
      after?: string,
    ) => AsyncIterable<{ id: string; type: string }>;
    const events: { id: string; type: string }[] = [];
    for await (const event of eventsOf(id)) events.push(event);
    expect(events.map(({ type }) => type)).toEqual(TYPES);
    const later: string[] = [];
    for await (const { type } of eventsOf(id, events[1].id)) later.push(type);
    expect(later).toEqual(['job.succeeded']);
  });
});

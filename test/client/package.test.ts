/**
 * What a user installs: the tarballs of `@lehr/client`, `@lehr/mcp` and `lehr` in an empty folder, without this repository beside them. `npm run
 * test:nodes -- client/package` does the same on every supported Node.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../repo/readme.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';

const CLIENT = join(ROOT, 'packages/client');
/** What npx runs, without npx. */
const LEHR = 'node_modules/.bin/lehr';
const MODULES_OF_CLIENT = ['@stablelib/base64', 'eventsource-parser', 'fast-sha256', 'standardwebhooks'];
const MODULES_OF_MCP = ['@modelcontextprotocol/core', '@modelcontextprotocol/server', 'zod'];

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let server: TestRedis;
/** An empty folder before the packages were installed there. */
let folder: string;
beforeAll(async () => {
  server = await startRedis();
  const artifacts = '../../infra/release/artifacts.mjs';
  const { packPackages, installPackages } = (await import(new URL(artifacts, import.meta.url).href)) as {
    packPackages(tree: string, out: string): Promise<string[]>;
    installPackages(tree: string, files: readonly string[], folder: string): Promise<void>;
  };
  folder = await mkdtemp(join(tmpdir(), 'lehr-installed-'));
  await installPackages(ROOT, await packPackages(ROOT, join(folder, '.packed')), folder);
});
afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a program in that folder with this Node, and with no variables but these. */
async function run(program: string, args: readonly string[], more: Record<string, string>): Promise<Ended> {
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: folder,
    npm_config_update_notifier: 'false',
    ...more,
  };
  const ended = promisify(execFile)(program, args, { cwd: folder, env });
  return ended.then(
    (streams) => ({ code: 0, ...streams }),
    (error: Ended) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
  );
}

test('The packages install four small modules, the protocol of agents, and nothing of the server', async () => {
  const names = (await readdir(join(folder, 'node_modules'), { recursive: true }))
    .filter((path) => /^(@[^/]+\/)?[^/@]+\/package\.json$/.test(path))
    .map((path) => dirname(path));
  expect(names.sort()).toEqual(
    ['@lehr/client', ...MODULES_OF_CLIENT, '@lehr/mcp', ...MODULES_OF_MCP, 'lehr'].sort(),
  );
  const client = JSON.parse(await readFile(join(folder, 'node_modules/@lehr/client/package.json'), 'utf8'));
  expect(client.bin).toBeUndefined();
  for (const name of ['@lehr/client', '@lehr/mcp', 'lehr'])
    expect(await readFile(join(folder, 'node_modules', name, 'LICENSE'), 'utf8')).toContain('MIT License');
});

test('Installed alone, the SDK and the command draw at a running Lehr', async () => {
  const stack = await startStack(server);
  const env = { LEHR_URL: stack.url, LEHR_API_KEY: stack.key };
  await stack.worker();
  const script = `
    import { Lehr } from '@lehr/client';
    const lehr = new Lehr({ url: process.env.LEHR_URL, apiKey: process.env.LEHR_API_KEY });
    const job = await lehr.run({ type: 'text-to-image', input: { prompt: 'a red circle' } });
    const bytes = await lehr.download(job.output.images[0]);
    console.log(Buffer.from(bytes).subarray(1, 4).toString());`;
  const sdk = await run(process.execPath, ['--input-type=module', '-e', script], env);
  expect(sdk).toEqual({ code: 0, stdout: 'PNG\n', stderr: '' });

  const submitted = await run(LEHR, ['submit', 'a red circle', '-o', 'picture.png'], env);
  expect(submitted).toMatchObject({ code: 0, stderr: '' });
  expect((await readFile(join(folder, 'picture.png'))).subarray(1, 4).toString()).toBe('PNG');
  const doctor = await run(LEHR, ['doctor'], env);
  expect(doctor.stdout).toMatch(/^ok +API .*1 worker alive$/m);
  expect(doctor.stdout).toContain(
    'The server is not installed here: Redis, the store and the models were not',
  );
  expect(doctor.code).toBe(0);
});

test('Installed alone, the command serves tools to an agent', async () => {
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  const env = { PATH: process.env.PATH ?? '', LEHR_API_KEY: 'any' };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [LEHR, 'mcp'], cwd: folder, env }),
  );
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('draw');
});

test('Installed alone, a command that needs the server says in one sentence where it runs', async () => {
  expect((await run('npx', ['lehr', '--help'], {})).stdout).toContain('lehr submit');
  const commands = ['models list', 'tune demo', 'fleet', 'doctor --upgrade'];
  for (const command of commands) {
    const { code, stderr } = await run(LEHR, command.split(' '), { LEHR_API_KEY: 'any' });
    expect(stderr, command).toMatch(
      /^lehr: this command needs the programs of Lehr's server, .* run npx lehr in a checkout of Lehr[^\n]*\n$/,
    );
    expect(code, command).toBe(78);
  }
});

test('The published types import only files of the client and modules of Node', async () => {
  const texts = await Promise.all(
    (await readdir(join(CLIENT, 'dist'), { recursive: true }))
      .filter((file) => file.endsWith('.d.ts'))
      .map((file) => readFile(join(CLIENT, 'dist', file), 'utf8')),
  );
  expect(texts.length).toBeGreaterThan(10);
  const named = texts.flatMap((text) => [...text.matchAll(/(?:from|import\()\s*['"]([^'".][^'"]*)['"]/g)]);
  expect(named.map(([, name]) => name).filter((name) => !name.startsWith('node:'))).toEqual([]);
});

/** Every command of `lehr` as a process against a whole Lehr: its output and its exit code. What needs no Lehr runs in this process. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import { UNREACHABLE_URL } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';
import { addTransformModels, tempFolder, tinyModels } from '../support/tiny-models.ts';
import { faultyProxy } from './faulty-proxy.ts';
import { LEHR, lehrFor, runLehr, startLehrCommand } from './lehr-command.ts';
import { servedApi } from './served-api.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const PROMPT = 'a red circle';

describe('lehr submit', () => {
  test('lehr submit ends when the job is stored, or waits and saves the pictures', {
    tags: ['long'],
  }, async () => {
    const models = await tinyModels({ vaeEncoder: true });
    await addTransformModels(models);
    const stack = await startStack(server, { LEHR_MODELS: models });
    const lehr = lehrFor(stack);
    const stored = await lehr(['submit', PROMPT, '--steps', '4', '--metadata', 'order=81']);
    expect(stored).toMatchObject({ code: 0, stderr: '' });
    const [, id] = /^(job_\w+) queued at position 1/.exec(stored.stdout) ?? [];
    expect(stored.stdout).toContain(`lehr watch ${id}\n`);
    await stack.worker();
    const folder = await tempFolder('pictures');
    const saved = await lehr([
      'submit',
      PROMPT,
      '-n',
      '2',
      '-s',
      '128x64',
      '--seed',
      '7',
      '-o',
      `${folder}/`,
    ]);
    expect(saved.code).toBe(0);
    const [, done] = /^(job_\w+) succeeded in /.exec(saved.stdout) ?? [];
    for (const name of [`${done}.png`, `${done}-2.png`]) {
      const path = join(folder, name);
      expect(saved.stdout).toContain(path);
      const picture = await readFile(path);
      expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([128, 64]);
    }
    const json = await lehr(['submit', PROMPT, '-o', join(folder, 'a.webp'), '--format', 'webp', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ status: 'succeeded', files: [join(folder, 'a.webp')] });
    const begun = ['--image', join(folder, `${done}.png`), '--strength', '0.5', '--wait', '--json'];
    expect(JSON.parse((await lehr(['submit', PROMPT, ...begun])).stdout)).toMatchObject({
      status: 'succeeded',
      input: { image: 'data:', strength: 0.5 },
    });
    const hires = ['--hires', '2', '--hires-strength', '0.6', '--hires-upscaler', 'lanczos', '-w', '--json'];
    expect(JSON.parse((await lehr(['submit', PROMPT, '-s', '64x64', ...hires])).stdout)).toMatchObject({
      status: 'succeeded',
      input: { hires: { scale: 2, strength: 0.6, upscaler: 'lanczos', width: 128 } },
    });
    const first = join(folder, `${done}.png`);
    const wide = ['-o', join(folder, 'wide.png'), '--expand', 'left=32', '--expand', 'bottom=64', '--json'];
    expect(JSON.parse((await lehr(['edit', first, PROMPT, ...wide])).stdout)).toMatchObject({
      status: 'succeeded',
      input: { image: 'data:', width: 160, height: 128, expand: { left: 32, right: 0, top: 0, bottom: 64 } },
    });
    const marked = ['--mask', first, '--blur', '2', '--fill', 'noise', '--only-masked', '8', '-w', '--json'];
    expect(JSON.parse((await lehr(['edit', first, PROMPT, ...marked])).stdout)).toMatchObject({
      status: 'succeeded',
      input: { mask: 'data:', mask_blur: 2, mask_fill: 'noise', only_masked: { padding: 8 } },
    });
    expect(await lehr(['edit', first, PROMPT, '--expand', 'left'])).toMatchObject({ code: 64 });
    // This model has neither, so what is said shows what was sent.
    for (const [option, field] of [
      [['--control', `edges=${first}:0.8`], 'control.0.name'],
      [['--adapter', 'ink:0.8'], 'adapters.0.name'],
    ] as const) {
      const { code, stderr } = await lehr(['submit', PROMPT, ...option]);
      expect({ code, stderr }).toEqual({ code: 65, stderr: expect.stringContaining(`input.${field}`) });
    }
    for (const wrong of ['edges', '=a.png', 'edges='])
      expect(await lehr(['submit', PROMPT, '--control', wrong])).toMatchObject({
        code: 64,
        stderr: expect.stringContaining('expected NAME=FILE or NAME=FILE:0.8'),
      });
    const larger = ['-m', 'sharp', '--scale', '1.5', '-o', join(folder, 'larger.png')];
    expect((await lehr(['transform', first, ...larger])).stdout).toContain(
      `192x96: ${join(folder, 'larger.png')}`,
    );
    const cutout = ['-m', 'marks', '--cutout', '--format', 'webp', '-w', '--json'];
    expect(JSON.parse((await lehr(['transform', first, ...cutout])).stdout)).toMatchObject({
      input: { image: 'data:', output: 'cutout', output_format: 'webp' },
      output: { images: [{ content_type: 'image/webp', width: 128, height: 64 }] },
    });
    const labels = await lehr(['transform', first, '-m', 'sorts', '--top-k', '1', '-w']);
    expect(labels.stdout).toMatch(/ label +0\.\d{4} (cat|dog|teapot)\n$/);
    const request = {
      type: 'text-to-image',
      input: { prompt: PROMPT, steps: 4 },
      metadata: { from: 'stdin' },
    };
    const file = await lehr(['submit', '--file', '-', '--wait', '--json'], {
      stdin: JSON.stringify(request),
    });
    expect(JSON.parse(file.stdout)).toMatchObject({ status: 'succeeded', metadata: { from: 'stdin' } });
    // A directory of this path is a file.
    const nowhere = await lehr(['submit', PROMPT, '-o', join(folder, 'a.webp', 'b.png')]);
    expect(nowhere).toMatchObject({ code: 73, stderr: expect.stringContaining('cannot be written') });
  });

  test('The exit code of lehr submit says how the job ended', { tags: ['long'] }, async () => {
    const stack = await startStack(server);
    const lehr = lehrFor(stack);
    expect(await lehr(['submit', PROMPT, '--wait', '--timeout', '0.5'])).toMatchObject({
      code: 124,
      stderr: expect.stringMatching(/^lehr: job_\w+ has not ended after 0.5 s; it continues\n$/),
    });
    expect((await lehr(['submit', PROMPT, '--wait', '--deadline', '0.2'])).code).toBe(4);
    const key = ['--idempotency-key', 'mine'];
    const { id } = JSON.parse((await lehr(['submit', PROMPT, ...key, '--json'])).stdout);
    const waiting = lehr(['submit', PROMPT, ...key, '--wait']);
    expect((await lehr(['cancel', id])).stdout).toMatch(/^job_\w+ canceled/);
    expect((await waiting).code).toBe(3);
    await stack.worker();
    // The API accepts it: only the sampler knows its largest number of steps.
    const failed = await lehr(['submit', PROMPT, '--steps', '1000', '--wait']);
    expect(failed.code).toBe(2);
    expect(failed.stdout).toMatch(/failed: .*steps.*\n[\s\S]*error +invalid-input\n/);
  });

  test('Ctrl-C does not cancel the job', async () => {
    const api = await servedApi(server.url);
    const proxy = await faultyProxy(api.url);
    const { child, ended } = startLehrCommand(['submit', PROMPT, '--wait'], {
      env: { LEHR_URL: proxy.url, LEHR_API_KEY: api.key },
    });
    await proxy.received(2);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 130, stderr: expect.stringContaining('continues') });
    expect(JSON.parse((await lehrFor(api)(['jobs', '--json'])).stdout)).toMatchObject([{ status: 'queued' }]);
  });
});

describe('lehr watch', () => {
  test('lehr watch writes a line for each event, or each event as JSON', async () => {
    const api = await servedApi(server.url);
    const lehr = lehrFor(api);
    const { id } = await api.post();
    const watching = lehr(['watch', id]);
    const claim = await api.worker.take();
    await api.worker.progress(claim, 3);
    await api.worker.succeed(claim);
    const { code, stdout, stderr } = await watching;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const texts = stdout.split('\n').map((line) => line.replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z /, ''));
    expect(texts.slice(0, 5)).toEqual([
      'queued',
      'running',
      '37 % denoise 3/8',
      'succeeded in 7 ms',
      `${id} succeeded in 7 ms`,
    ]);
    const lines = async (...args: string[]) =>
      (await lehr(['watch', id, '--json', ...args])).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    const events = await lines();
    expect(events.map(({ type }) => type)).toEqual([
      'job.queued',
      'job.started',
      'job.progress',
      'job.succeeded',
    ]);
    expect((await lines('--after', events[2].id)).map(({ type }) => type)).toEqual(['job.succeeded']);
    expect(await lehr(['watch', 'job_00000000000000000000000000'])).toMatchObject({ code: 65 });
  });

  const script = (() => {
    try {
      return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
    } catch {
      return false;
    }
  })();

  test.skipIf(!script)('lehr watch draws a progress bar on a terminal', async () => {
    const api = await servedApi(server.url);
    const { id } = await api.post();
    const claim = await api.worker.take();
    await api.worker.progress(claim, 3);
    await api.worker.fail(claim);
    const command = `"${process.execPath}" "${LEHR}" watch ${id}`;
    const env = { PATH: process.env.PATH, LEHR_URL: api.url, LEHR_API_KEY: api.key };
    // `script` exits with the code of the command: the job failed.
    const { code, stdout } = (await promisify(execFile)('script', ['-qec', command, '/dev/null'], {
      env,
    }).catch((error: { code: number; stdout: string }) => error)) as { code: number; stdout: string };
    expect(code).toBe(2);
    expect(stdout.replaceAll('\r\n', '\n').split('\r\x1b[2K').slice(1)).toEqual([
      'queued     [------------------------]   0 %',
      'running    [------------------------]   0 %',
      'denoise    [#########---------------]  37 %  3/8',
      // The bar is erased when the job has ended.
      expect.stringMatching(new RegExp(`^${id} failed: NaN at step 3\n[\\s\\S]*numeric-error\n$`)),
    ]);
  });
});

test('lehr jobs lists, filters and shows jobs; lehr cancel cancels them', { tags: ['long'] }, async () => {
  const api = await servedApi(server.url);
  const lehr = lehrFor(api);
  expect(await lehr(['jobs'])).toMatchObject({ code: 0, stdout: 'No jobs.\n' });
  const ids: string[] = [];
  for (let i = 0; i < 3; i += 1) ids.unshift((await api.post({}, { metadata: { order: `${i}` } })).id);
  const canceled = await lehr(['cancel', ids[0], ids[1], '--json']);
  expect(JSON.parse(canceled.stdout)).toMatchObject([{ status: 'canceled' }, { status: 'canceled' }]);
  const table = (await lehr(['jobs'])).stdout.trim().split('\n');
  expect(table.map((line) => line.split(/ {2,}/)[0])).toEqual(['JOB', ...ids]);
  expect(table[1]).toMatch(/text-to-image +tiny@1 +canceled/);
  const found = await lehr(['jobs', '--status', 'canceled', '--limit', '1', '--json']);
  expect(JSON.parse(found.stdout)).toMatchObject([{ id: ids[0] }]);
  expect((await lehr(['jobs', ids[2]])).stdout).toMatch(/queued at position 1\n[\s\S]*order +0\n/);
  expect(await lehr(['jobs', ids[2], 'job_00000000000000000000000000'])).toMatchObject({
    code: 65,
    stdout: '',
  });
  expect(await lehr(['jobs', '--status', 'nonsense', '--json'])).toMatchObject({ code: 65, stdout: '' });
});

test('lehr models and lehr queues print tables or JSON', async () => {
  const api = await servedApi(server.url);
  const lehr = lehrFor(api);
  await api.post();
  expect((await lehr(['models'])).stdout).toMatch(
    /^MODEL +TASK +DEFAULT +VERSIONS\ntiny +text-to-image +yes +1\nsplit +text-to-image +a b\n$/,
  );
  expect(JSON.parse((await lehr(['models', '--json'])).stdout)).toMatchObject([
    { id: 'tiny' },
    { id: 'split' },
  ]);
  expect((await lehr(['queues'])).stdout).toMatch(
    /\ndiffusion\.tiny@1\.64x64 +1 +0 .* closed\n[\s\S]*\ntiny@1 +0 +closed\nsplit@a +0 +closed\nsplit@b +0 +closed\n$/,
  );
  expect(JSON.parse((await lehr(['queues', '--json'])).stdout)).toMatchObject({ data: [{ waiting: 1 }] });
});

test('lehr keys creates, lists and revokes keys, and shows a key only once', { tags: ['long'] }, async () => {
  const api = await servedApi(server.url);
  const lehr = lehrFor(api);
  const created = await lehr([
    'keys',
    'create',
    'acme',
    '--name',
    'render farm',
    '--scopes',
    'submit,read',
    '--expires',
    '2099-01-31',
    '--max-priority',
    'standard',
  ]);
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^lehr_live_\w+\n$/) });
  const key = created.stdout.trim();
  const id = key.split('_')[2];
  expect(created.stderr).toContain(`${id} of acme may submit, read`);
  const listed = await lehr(['keys', 'list']);
  expect(listed.stdout).toMatch(
    new RegExp(
      `${id} +acme +render farm +submit,read +standard +0 of 10000 +2099-01-31T00:00:00.000Z +never\n`,
    ),
  );
  const others = lehrFor({ ...api, key });
  expect((await others(['jobs'])).code).toBe(0);
  expect(await others(['keys', 'list'])).toMatchObject({
    code: 77,
    stderr: expect.stringContaining('right to admin'),
  });
  const limited = await lehr([
    'keys',
    'limit',
    id,
    '--max-jobs',
    '7',
    '--max-streams',
    'none',
    '--weight',
    '2',
  ]);
  expect(limited.stdout).toBe(`${id} of acme: max_jobs 7, max_streams none, weight 2\n`);
  const [{ limits }] = JSON.parse((await lehr(['keys', 'list', '--json'])).stdout) as [{ limits: object }];
  expect(limits).toMatchObject({ max_jobs: 7, max_streams: null, weight: 2, max_stored_mb: 10_000 });
  expect(await lehr(['keys', 'limit', id, '--weight', 'none'])).toMatchObject({ code: 64 });
  expect(await lehr(['keys', 'limit', id])).toMatchObject({ code: 64 });
  expect((await lehr(['keys', 'revoke', id])).stdout).toBe(`${id} is revoked\n`);
  expect(JSON.parse((await lehr(['keys', 'list', '--json'])).stdout)).toEqual([]);
  expect((await lehr(['keys', 'revoke', id])).code).toBe(65);
  const json = await lehr(['keys', 'create', 'acme', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({
    key: expect.stringMatching(/^lehr_live_/),
    tenant: 'acme',
  });
  // No output contains the caller's own key, and no other output contains the new key.
  for (const { stdout, stderr } of [listed, created]) expect(`${stdout}${stderr}`).not.toContain(api.key);
  expect(`${created.stderr}${listed.stdout}`).not.toContain(key);
});

test('lehr keys list names the keys that the API cannot verify', async () => {
  const shown = {
    tenant: 'acme',
    name: '',
    scopes: ['read'],
    limits: { max_priority: 'bulk', max_stored_mb: null },
    usage: { stored_mb: 0 },
    expires_at: null,
    last_used_at: null,
  };
  const data = [
    { ...shown, id: 'good', usable: true },
    { ...shown, id: 'lost', usable: false },
  ];
  const api = await listen('127.0.0.1', 0);
  onTestFinished(() => api.close(0));
  api.serve(() => Response.json({ data }));
  const lehr = lehrFor({ url: `http://127.0.0.1:${api.port}`, key: 'any' });
  expect(await lehr(['keys', 'list'])).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^The API refuses lost: it does not have the pepper/),
  });
});

test('lehr audit lists who created and revoked keys, newest first and by tenant', {
  tags: ['long'],
}, async () => {
  const api = await servedApi(server.url);
  const lehr = lehrFor(api);
  expect((await lehr(['audit'])).stdout).toBe('No entries.\n');
  const created = await lehr(['keys', 'create', 'acme']);
  const id = created.stdout.split('_')[2];
  await lehr(['keys', 'create', 'other']);
  await lehr(['keys', 'revoke', id]);
  const { stdout } = await lehr(['audit', '--tenant', 'acme']);
  expect(stdout).toMatch(
    new RegExp(
      `^TIME .*\n\\S+ +key\\.revoked +root +127\\.0\\.0\\.1 +acme +${id}\n\\S+ +key\\.created .*\n$`,
    ),
  );
  const json = await lehr(['audit', '--json', '--action', 'key.created', '--limit', '1']);
  expect(JSON.parse(json.stdout)).toMatchObject([{ action: 'key.created', tenant: 'other' }]);
  expect((await lehr(['audit', '--limit', 'all'])).code).toBe(64);
  expect((await lehrFor({ ...api, key: created.stdout.trim() })(['audit'])).code).toBe(77);
});

test('lehr usage shows jobs and device time by day, by what is asked for, and for spreadsheets', {
  tags: ['long'],
}, async () => {
  const api = await servedApi(server.url);
  const lehr = lehrFor(api);
  const { id } = await api.post();
  expect((await lehr(['cancel', id])).code).toBe(0);
  expect((await lehr(['usage'])).stdout).toMatch(
    /^DAY +JOBS .*\n\d{4}-\d\d-\d\d +1 +0 +0 +1 .*\nall +1 .*\n$/,
  );
  const { stdout } = await lehr(['usage', '--by', 'tenant,key', '--csv']);
  expect(stdout).toBe(
    'tenant,key,jobs,succeeded,failed,canceled,expired,device_s\r\ndefault,root,1,0,0,1,0,0\r\n',
  );
  const json = await lehr(['usage', '--json', '--model', 'none']);
  expect(JSON.parse(json.stdout)).toMatchObject({ object: 'usage', rows: [], total: { jobs: 0 } });
  expect(await lehr(['usage', '--to', 'soon'])).toMatchObject({ stderr: expect.stringContaining('to') });
});

describe('lehr doctor', () => {
  test('lehr doctor reports no problem in a working installation', { tags: ['long'] }, async () => {
    const home = await tempFolder('home');
    const models = await tinyModels();
    const stack = await startStack(server, { LEHR_HOME: home, LEHR_MODELS: models });
    await stack.worker();
    const env = { LEHR_HOME: home, LEHR_MODELS: models, LEHR_REDIS_URL: server.url, LEHR_DEVICE: 'cpu' };
    const { code, stdout } = await lehrFor(stack)(['doctor', '--json'], { env });
    const { checks, ...rest } = JSON.parse(stdout) as {
      checks: { name: string; state: string; detail: string }[];
    };
    expect(checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect({ code, ...rest }).toEqual({ code: 0, ok: true, server: true });
    expect(checks.map(({ name }) => name)).toEqual([
      'API',
      'clock of the API',
      'key',
      'model tiny@1',
      'queues',
      'Redis',
      'Redis policy',
      'Redis memory',
      'Redis log',
      'clock of Redis',
      'store',
      'providers',
      'opens tiny@1',
    ]);
    expect(checks.at(-1)?.detail).toMatch(/unet on cpu/);
    const text = await lehrFor(stack)(['doctor', '--skip-models'], { env });
    expect(text.stdout).toMatch(/^ok +API +http.* is ready .*, 1 worker alive\n/);
    expect(text.stdout).not.toContain('opens');
  });

  test('lehr doctor advises how to fix each problem', async () => {
    const evicting = await startRedis(['--maxmemory-policy', 'allkeys-lru', '--appendonly', 'no']);
    try {
      const home = await tempFolder('home');
      await writeFile(join(home, 'objects'), 'a file where a folder should be');
      await writeFile(join(home, 'redis-url'), `${evicting.url}\n`);
      const models = await tempFolder('models');
      await mkdir(join(models, 'broken'));
      await writeFile(
        join(models, 'models.yaml'),
        'models:\n  - name: broken\n    task: diffusion\n    versions: [{ version: "1", path: broken }]\n',
      );
      const env = {
        LEHR_URL: UNREACHABLE_URL,
        LEHR_HOME: home,
        LEHR_MODELS: join(models, 'models.yaml'),
        LEHR_DEVICE: 'tensorrt',
      };
      const { code, stdout } = await startLehrCommand(['doctor'], { env }).ended;
      expect(code).toBe(5);
      const lines = stdout.split('\n').filter(Boolean);
      const problems = lines.flatMap((line, i) => (/^(warn|fail)/.test(line) ? [[line, lines[i + 1]]] : []));
      for (const [line, advice] of problems) expect(advice, line).toMatch(/^ +-> \S/);
      expect(problems.map(([line]) => line.replace(/^(\w+) +(.+?) {2,}.*$/, '$1 $2'))).toEqual([
        'fail API',
        'fail Redis policy',
        'warn Redis log',
        'fail store',
        'fail providers',
        'fail opens broken@1',
      ]);
      expect(stdout).toContain('allkeys-lru');
      expect(stdout).not.toContain(new URL(evicting.url).password);
    } finally {
      await evicting.stop();
    }
  });
});

test('lehr doctor creates no files where nothing is installed', async () => {
  const cwd = await tempFolder('elsewhere');
  const env = { LEHR_URL: UNREACHABLE_URL };
  const { code, stdout } = await startLehrCommand(['doctor', '--skip-models'], { env, cwd }).ended;
  expect(code).toBe(5);
  // Only the API has failed: whether Redis and the store are wrong is not known here.
  expect(stdout.match(/^fail .*/gm)).toEqual([expect.stringMatching(/^fail +API /)]);
  expect(stdout).toMatch(
    /\nwarn +server +\.lehr is not here: .* were not checked\n +-> .*docker compose .* exec /,
  );
  expect(await readdir(cwd)).toEqual([]);
});

describe('A wrong call of lehr', () => {
  const usage: [args: string[], message: RegExp][] = [
    [['draw'], /"draw" is not a command/],
    [['keys'], /lehr keys create TENANT/],
    [['submit'], /give one of PROMPT, --audio and --file/],
    [['submit', 'a', 'b'], /unexpected argument "b"; quote an argument that has spaces/],
    [['submit', 'a', '--stepz', '4'], /Unknown option '--stepz'/],
    [['submit', 'a', '--steps', 'many'], /--steps is "many", expected a number/],
    [['submit', 'a', '--size', '512'], /--size is "512", expected WxH/],
    [['submit', 'a', '--metadata', 'order'], /expected NAME=VALUE/],
    [['submit', '--file', '-'], /Standard input is not JSON/],
    [['jobs', '--limit', '0'], /whole number above 0/],
    [['watch'], /JOB is missing/],
    [['transcribe', 'a.wav', '--format', 'docx'], /expected text, srt, vtt, json/],
    [['keys', 'create', 'acme', '--expires', 'soon'], /expected a date/],
  ];
  test.each(usage)('The arguments %j end with exit code 64', async (args, message) => {
    const { code, stdout, stderr } = await runLehr(args);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test('The exit code is 69 without a server, 77 for a wrong key, 78 without a key or an address, 66 without a file', {
    tags: ['long'],
  }, async () => {
    const unreachable = { LEHR_URL: UNREACHABLE_URL, LEHR_API_KEY: 'none' };
    const ended = (args: string[], env: Record<string, string>, cwd?: string) =>
      startLehrCommand(args, { env, ...(cwd && { cwd }) }).ended;
    const [noServer, noFile] = await Promise.all([
      ended(['models'], unreachable),
      ended(['transcribe', 'nowhere.wav'], unreachable),
    ]);
    expect(noServer).toMatchObject({ code: 69, stderr: expect.stringContaining('Is Lehr running') });
    expect(noFile).toMatchObject({ code: 66, stderr: expect.stringContaining('nowhere.wav cannot be read') });
    expect(await ended(['models'], { LEHR_URL: 'ftp://lehr.example' })).toMatchObject({ code: 78 });
    const folder = await tempFolder('empty');
    expect(await ended(['models'], {}, folder)).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('set LEHR_API_KEY'),
    });
    const api = await servedApi(server.url);
    const wrong = await lehrFor({ ...api, key: 'lehr_test_nobody_knows_this_one' })(['models', '--json']);
    expect(wrong).toMatchObject({ code: 77, stdout: '' });
    expect(JSON.parse(wrong.stderr)).toMatchObject({ error: { code: 'unauthenticated', status: 401 } });
    const refused = await lehrFor(api)(['submit', PROMPT, '--steps', '0', '--json']);
    expect(refused.code).toBe(65);
    expect(JSON.parse(refused.stderr)).toMatchObject({
      error: { code: 'invalid-input', problems: [{ pointer: '/input/steps' }] },
    });
  });

  test('lehr uses the key of npm start under LEHR_HOME, and sends it only to this machine', async () => {
    const api = await servedApi(server.url);
    const folder = await tempFolder('installed');
    await mkdir(join(folder, '.lehr'));
    await writeFile(join(folder, '.lehr', 'api-key'), `${api.key}\n`);
    const { port } = new URL(api.url);
    const here = await startLehrCommand(['models'], { env: { LEHR_PORT: port }, cwd: folder }).ended;
    expect(here).toMatchObject({ code: 0, stdout: expect.stringContaining('tiny') });
    const elsewhere = await startLehrCommand(['models'], {
      env: { LEHR_URL: 'http://lehr.example', LEHR_HOME: join(folder, '.lehr') },
    }).ended;
    expect(elsewhere).toMatchObject({ code: 78, stderr: expect.stringContaining('no key for lehr.example') });
    const byFlags = await startLehrCommand(['models', '--url', api.url, '--api-key', api.key]).ended;
    expect(byFlags.code).toBe(0);
  });

  test('The help text of every command explains every option', async () => {
    const all = await runLehr(['--help']);
    const names = [
      ...all.stdout.matchAll(
        /^ {2}lehr ((?:keys |(?:jobs|models|queues|batches|schedules) (?=[a-z]))?[a-z]+)/gm,
      ),
    ].map(([, name]) => name);
    expect(names).toHaveLength(50);
    const helps = await Promise.all(names.map((name) => runLehr([...name.split(' '), '--help'])));
    for (const [i, { code, stdout, stderr }] of helps.entries()) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain(`Usage: lehr ${names[i]} [options]`);
      expect(stdout).toMatch(/--json +\S/);
      for (const [line, , explained] of stdout.matchAll(/^ {2}(-\w,| {3}) --\S+(?: \S+)?(.*)$/gm)) {
        expect(explained, line).toMatch(/^ {2,}\S/);
      }
    }
  });
});

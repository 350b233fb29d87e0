/** `lehr mcp` and `/mcp` with the protocol's own client, over a real API and a real worker. */
import { copyFile, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fairAdmission } from '../../apps/api/src/http/fair-admission.ts';
import { listen } from '../../apps/api/src/http/listen.ts';
import { toObjectKey } from '../../packages/shared/src/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { API_KEY, apiWorld } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { flatPicture } from '../support/picture-file.ts';
import { freePort } from '../support/ports.ts';
import { startRadosgw } from '../support/radosgw.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SAMPLES } from '../support/speech-files.ts';
import { speechModels } from '../support/speech-models.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { textWorld } from '../support/text-world.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { LEHR, lehrShell } from './lehr-command.ts';

const { version: VERSION } = JSON.parse(readText('packages/mcp/package.json'));
const RECORDING = fileURLToPath(new URL('en_circle.wav', SAMPLES));
const NAMES = ['draw', 'edit', 'transcribe', 'embed', 'submit', 'status', 'cancel', 'models'];

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

type Server = Pick<Stack, 'url' | 'key'>;

const WAYS = {
  stdio: ({ url, key }: Server, files?: string) =>
    new StdioClientTransport({
      command: process.execPath,
      args: [LEHR, 'mcp', ...(files === undefined ? [] : ['--files', files])],
      env: { PATH: process.env.PATH ?? '', LEHR_URL: url, LEHR_API_KEY: key },
    }),
  http: ({ url, key }: Server) =>
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    }),
};

async function connected(way: keyof typeof WAYS, server: Server, files?: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(WAYS[way](server, files));
  return client;
}

/** An API whose links lead to it. */
async function served() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const world = await apiWorld(redis.url, { publicUrl: url });
  const listener = await listen('127.0.0.1', port);
  onTestFinished(() => listener.close(0));
  listener.serve(fairAdmission(world.app.fetch, world.parts));
  const submitted = async (client: Client, request: object = DRAW): Promise<string> =>
    jobIn(await client.callTool({ name: 'submit', arguments: { request } }));
  return { ...world, url, key: API_KEY, submitted };
}

const QUEUE = 'diffusion.tiny@1.64x64';
const DRAW = { type: 'text-to-image', input: { prompt: 'a red circle' } };
const PICTURE = Buffer.from('\u{89}PNG of the test');

const textOf = ({ content }: CallToolResult): string =>
  content.flatMap((each) => (each.type === 'text' ? [each.text] : [])).join('\n');
const jobIn = (result: CallToolResult): string => /job_\w+/.exec(textOf(result))?.[0] ?? '';

describe.each(['stdio', 'http'] as const)('Over %s', (way) => {
  test('an agent finds the tools, and draws a picture that it sees, hears of on the way, and that others can fetch', async () => {
    const world = await served();
    const client = await connected(way, world);
    expect(client.getServerVersion()).toMatchObject({ name: 'lehr', version: VERSION });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(NAMES);
    for (const { name, description } of tools) expect(description, name).toMatch(/\.$/);
    const told: number[] = [];
    let heard = () => {};
    const hasHeard = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const drawn = client.callTool(
      { name: 'draw', arguments: { prompt: 'a red circle', seed: 7 } },
      {
        onprogress: ({ progress }) => {
          told.push(progress);
          if (progress > 0) heard();
        },
      },
    );
    const claim = await world.worker.next(QUEUE);
    await world.worker.progress(claim, 3);
    await hasHeard;
    await world.worker.succeed(claim, PICTURE);
    const { content, isError } = await drawn;
    const [picture, link] = content;
    if (picture.type !== 'image' || link.type !== 'resource_link') throw new Error(JSON.stringify(content));
    expect(isError).toBeFalsy();
    expect(picture).toMatchObject({ mimeType: 'image/png', data: PICTURE.toString('base64') });
    expect(Buffer.from(await (await fetch(link.uri)).arrayBuffer())).toEqual(PICTURE);
    expect(link.description).toMatch(/^64x64, seed 7; until /);
    expect(told.at(-1)).toBe(3 / 8);
  });

  test('a long job returns its id at once, its state later, and then its result; or it is cancelled', async () => {
    const world = await served();
    const client = await connected(way, world);
    const status = (job: string, wait_s: number) =>
      client.callTool({ name: 'status', arguments: { job, wait_s } });
    const job = await world.submitted(client);
    expect(textOf(await status(job, 0))).toMatch(/^job_\w+ is queued at position 1/);
    const claim = await world.worker.next(QUEUE);
    expect(textOf(await status(job, 0))).toMatch(/^job_\w+ is running, 0 % done/);
    const waiting = status(job, 50);
    await world.worker.succeed(claim, PICTURE);
    expect((await waiting).content[0].type).toBe('image');
    const other = await world.submitted(client);
    const cancelled = await client.callTool({ name: 'cancel', arguments: { job: other } });
    expect(textOf(cancelled)).toBe(`${other} is canceled.`);
    const ended = await status(other, 0);
    expect([ended.isError, textOf(ended)]).toEqual([
      true,
      expect.stringMatching(/^canceled: .*\nAnother job of this kind may succeed later\.\nJob: job_/s),
    ]);
    const failing = await world.submitted(client);
    await world.worker.fail(await world.worker.next(QUEUE));
    expect(textOf(await status(failing, 0))).toMatch(/^numeric-error: .*\nJob: job_/s);
  });

  test('a client that gives up a call does not lose its job, and may go on', async () => {
    const world = await served();
    const client = await connected(way, world);
    const given = new AbortController();
    const call = client.callTool(
      { name: 'draw', arguments: { prompt: 'a red circle' } },
      { signal: given.signal },
    );
    const claim = await world.worker.next(QUEUE);
    given.abort();
    await expect(call).rejects.toThrow();
    await world.worker.succeed(claim, PICTURE);
    const status = await client.callTool({ name: 'status', arguments: { job: claim.jobId } });
    expect(textOf(status)).toContain('succeeded');
  });

  test('texts become vectors, in the order of the texts', async () => {
    const world = await textWorld(redis.url);
    const client = await connected(way, { url: world.url, key: API_KEY });
    const { isError, content } = await client.callTool({
      name: 'embed',
      arguments: { texts: ['a red circle', 'two stars'] },
    });
    expect(isError).toBeFalsy();
    const [, json] = textOf({ content }).split('\n');
    expect(JSON.parse(json).embeddings).toHaveLength(2);
  });

  test('a wrong value is named with what is allowed, and whether a second call helps', async () => {
    const world = await served();
    const client = await connected(way, world);
    const call = async (name: string, given: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: given });
      return [result.isError, textOf(result)];
    };
    expect(await call('draw', { prompt: 'a circle', steps: 0 })).toEqual([
      true,
      expect.stringMatching(/^invalid-input: .*\nsteps must be at least 1\nThe same call will fail again\.$/),
    ]);
    expect(await call('draw', {})).toEqual([true, expect.stringContaining('prompt')]);
    expect(await call('draw', { prompt: 'a', count: 2 })).toEqual([true, expect.stringContaining('count')]);
    const adapters = [{ name: 'no-such' }];
    expect(await call('draw', { prompt: 'a', adapters })).toEqual([
      true,
      expect.stringContaining('adapters'),
    ]);
    expect(await call('draw', { prompt: 'a', model: 'none' })).toEqual([
      true,
      expect.stringMatching(/^model-not-found: /),
    ]);
    expect(await call('submit', { request: { type: 'paint' } })).toEqual([
      true,
      expect.stringMatching(/^invalid-input: /),
    ]);
  });

  test('a key does what its scopes allow, and sees the jobs of its own tenant only', async () => {
    const world = await served();
    const own = await world.submitted(await connected(way, world));
    const other = await keyHolder(world, 'other');
    const foreign = await connected(way, { url: world.url, key: other.key.key });
    const status = await foreign.callTool({ name: 'status', arguments: { job: own } });
    expect([status.isError, textOf(status)]).toEqual([true, expect.stringMatching(/^not-found: /)]);
    const reader = await keyHolder(world, 'reader', { scopes: ['read'] });
    const client = await connected(way, { url: world.url, key: reader.key.key });
    const refused = await client.callTool({ name: 'draw', arguments: { prompt: 'a circle' } });
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringMatching(/^forbidden: /)]);
    expect(textOf(await client.callTool({ name: 'models', arguments: {} }))).toContain('tiny');
  });
});

test('Over HTTP a request without a known key, of a page of another site, or for a session is refused', async () => {
  const { app, url, key } = await served();
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const accept = 'application/json, text/event-stream';
  const post = (headers: Record<string, string>, method = 'POST') =>
    fetch(`${url}/mcp`, {
      method,
      headers: { 'content-type': 'application/json', accept, ...headers },
      ...(method === 'POST' && { body }),
    });
  const nobody = await post({});
  expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="lehr"']);
  const authorization = `Bearer ${key}`;
  expect((await post({ authorization, origin: 'https://elsewhere.example' })).status).toBe(403);
  // A page whose name was led to this server.
  const origin = 'http://elsewhere.example';
  const led = await app.request(`${origin}/mcp`, {
    method: 'POST',
    headers: { authorization, origin },
    body,
  });
  expect(led.status).toBe(403);
  expect((await post({ authorization }, 'GET')).status).toBe(405);
  expect((await post({ authorization }, 'DELETE')).status).toBe(405);
  expect((await post({ authorization })).status).toBe(200);
});

test('A path is read below --files only, also through a link, and without --files never', async () => {
  const world = await served();
  const folder = await tempFolder('files');
  await copyFile(await flatPicture('#c83264'), join(folder, 'flat.png'));
  await symlink('/etc/passwd', join(folder, 'link.png'));
  const edit = (image: string) => ({ name: 'edit', arguments: { prompt: 'a', image, strength: 0.5 } });
  const client = await connected('stdio', world, folder);
  for (const outside of ['../secret.png', '/etc/passwd', 'link.png', 'none.png']) {
    const result = await client.callTool(edit(outside));
    expect([result.isError, textOf(result)], outside).toEqual([
      true,
      expect.stringMatching(/is not (in|there)/),
    ]);
  }
  const edited = client.callTool(edit('flat.png'));
  await world.worker.succeed(await world.worker.next(QUEUE), PICTURE);
  expect((await edited).content[0].type).toBe('image');
  const without = await (await connected('stdio', world)).callTool(edit(join(folder, 'flat.png')));
  expect([without.isError, textOf(without)]).toEqual([true, expect.stringContaining('without --files')]);
});

test('Over HTTP no stream stays open to tell of changes of the tools', async () => {
  const { ask } = await served();
  const version = '2026-07-28';
  const names = 'io.modelcontextprotocol';
  const _meta = {
    [`${names}/protocolVersion`]: version,
    [`${names}/clientInfo`]: { name: 'test', version: '1' },
    [`${names}/clientCapabilities`]: {},
  };
  const method = 'subscriptions/listen';
  const params = { notifications: { toolsListChanged: true }, _meta };
  const headers = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    'mcp-method': method,
  };
  const answer = await ask('POST', '/mcp', { jsonrpc: '2.0', id: 1, method, params }, { headers });
  expect(await answer.text()).toContain('Subscription limit reached');
});

test('An agent edits what it has drawn, by the id of the job', async () => {
  const world = await served();
  const client = await connected('http', world);
  const job = await world.submitted(client);
  const edit = (image: string) =>
    client.callTool({ name: 'edit', arguments: { prompt: 'a blue one', image, mask: image, strength: 0.5 } });
  const early = await edit(job);
  expect([early.isError, textOf(early)]).toEqual([
    true,
    expect.stringContaining('names no picture: the job is queued'),
  ]);
  await world.worker.succeed(await world.worker.next(QUEUE), await readFile(await flatPicture('#c83264')));
  for (const image of [job, `${job}/0`]) {
    const edited = edit(image);
    await world.worker.succeed(await world.worker.next(QUEUE), PICTURE);
    expect((await edited).content[0].type).toBe('image');
  }
  const foreign = await connected('http', {
    url: world.url,
    key: (await keyHolder(world, 'editor')).key.key,
  });
  const refused = await foreign.callTool({ name: 'edit', arguments: { prompt: 'a', image: job } });
  expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringMatching(/^not-found: /)]);
});

test('A picture that the server cannot read is still a link', async () => {
  const world = await served();
  const client = await connected('http', world);
  const job = await world.submitted(client);
  const claim = await world.worker.next(QUEUE);
  await world.worker.succeed(claim, PICTURE);
  await world.parts.store.delete(toObjectKey(`out/default/${claim.jobId}/${claim.token}/0.png`));
  const { isError, content } = await client.callTool({ name: 'status', arguments: { job } });
  expect([isError, content.map(({ type }) => type)]).toEqual([undefined, ['resource_link', 'text']]);
});

test('Calls of agents take their turns like other requests: a hundred of them at once all get an answer', async () => {
  const world = await served();
  const client = await connected('http', world);
  const jobs = await Promise.all(Array.from({ length: 100 }, () => world.submitted(client)));
  expect(new Set(jobs).size).toBe(100);
  expect(world.parts.activeRequests.waiting).toBe(0);
});

test('With real models and an S3 store an agent draws, edits and transcribes over both ways', {
  tags: ['long'],
}, async () => {
  const s3 = await startRadosgw();
  onTestFinished(() => s3.stop());
  await s3.createBucket('lehr');
  const stack = await startStack(redis, {
    LEHR_MODELS: await speechModels(),
    LEHR_S3_BUCKET: 'lehr',
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
  });
  await stack.worker();
  const flat = await readFile(await flatPicture('#c83264'), 'base64');
  const image = `data:image/png;base64,${flat}`;
  const audio = await stack.upload('en_circle.wav', await readFile(RECORDING));
  for (const way of ['stdio', 'http'] as const) {
    const client = await connected(way, stack);
    const call = (name: string, given: Record<string, unknown>) =>
      client.callTool({ name, arguments: given });
    const edited = await call('edit', { prompt: 'a blue square', image, strength: 0.5 });
    expect(edited.content[0]).toMatchObject({ type: 'image', mimeType: 'image/png' });
    const heard = await call('transcribe', { audio, language: 'en' });
    expect(textOf(heard)).toMatch(/a red circle on a blue background/i);
  }
});

test('docs/mcp.md names every tool, and agents with its settings and with its key find them', async () => {
  const page = readText('docs/mcp.md');
  for (const name of NAMES) expect(page).toContain(`| \`${name}\` |`);
  const world = await served();
  const settings = blocksOf(page).filter(({ language }) => language === 'json');
  const [local, remote] = settings.map(({ text }) => JSON.parse(text).mcpServers.lehr);
  const [command] = blocksOf(page).filter(({ language }) => language === 'sh');
  const shell = await lehrShell({ LEHR_URL: world.url, LEHR_API_KEY: world.key });
  const [key] = (await shell.run(command.text)).match(/lehr_\w+/) ?? [];
  const env = { PATH: `${shell.cwd}:${process.env.PATH}`, LEHR_URL: world.url, LEHR_API_KEY: `${key}` };
  expect(Object.keys(local.env)).toEqual(['LEHR_URL', 'LEHR_API_KEY']);
  const headers = { Authorization: remote.headers.Authorization.replace('lehr_...', key) };
  for (const transport of [
    new StdioClientTransport({ command: local.command, args: local.args, env }),
    new StreamableHTTPClientTransport(new URL(new URL(remote.url).pathname, world.url), {
      requestInit: { headers },
    }),
  ]) {
    const client = new Client({ name: 'test', version: '1' });
    onTestFinished(() => client.close());
    await client.connect(transport);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(NAMES);
    expect(await world.submitted(client)).toMatch(/^job_/);
  }
});

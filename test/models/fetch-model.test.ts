/** Fetching a model from a server that speaks the hub's protocol and fails in the ways that servers do. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseRegistry } from '../../packages/shared/src/index.ts';
import {
  adapterPath,
  controlFolder,
  evict,
  type FetchEvent,
  fetchModel,
  namesInCache,
  partsToFetch,
} from '../../packages/shared/src/models/cache/index.ts';
import { type Fault, type HubFile, type HubServer, listen, sha256, startHub } from '../support/hub-server.ts';
import { tinyModelFiles } from '../support/model-folders.ts';
import { tempFolder } from '../support/tiny-models.ts';

const SOURCE = { source: 'hf://acme/model' };
const UNET = 'unet/model.onnx';
/** Retries follow at once; a stalled connection is given up early. */
const TIMES = { stallMs: 60_000, firstMs: 1, maxMs: 1 };

async function world(options: Parameters<typeof startHub>[1] = {}, extra: [string, HubFile][] = []) {
  const files = new Map([...(await tinyModelFiles()), ...extra]);
  const hub = await startHub(files, options);
  const cache = await tempFolder('cache');
  return { files, hub, cache };
}

function fetchFrom(
  hub: HubServer,
  cache: string,
  more: {
    token?: string;
    fields?: Partial<Parameters<typeof fetchModel>[0]>;
    signal?: AbortSignal;
    times?: Partial<typeof TIMES>;
    onEvent?: (event: FetchEvent) => void;
  } = {},
) {
  return fetchModel(
    { ...SOURCE, ...more.fields },
    {
      cache,
      hub: { endpoint: hub.endpoint, token: more.token },
      s3: { region: 'us-east-1' },
      signal: more.signal ?? new AbortController().signal,
      times: { ...TIMES, ...more.times },
      ...(more.onEvent && { onEvent: more.onEvent }),
    },
  );
}

const bytesAsked = ({ seen }: HubServer, path: string) =>
  seen.filter((each) => each.host === 'files' && each.path === path).map(({ range }) => range);

test('Only the files that the family needs are fetched, each verified, with a list of their digests', async () => {
  const { files, hub, cache } = await world({ pageSize: 3 }, [
    ['unet/diffusion_pytorch_model.safetensors', { bytes: Buffer.alloc(10), isLarge: true }],
    ['README.md', { bytes: Buffer.from('a model') }],
    ['safety_checker/model.onnx', { bytes: Buffer.alloc(10), isLarge: true }],
  ]);
  const events: FetchEvent[] = [];
  const { folder, manifest, isNew } = await fetchFrom(hub, cache, { onEvent: (event) => events.push(event) });
  expect(isNew).toBe(true);
  expect(manifest).toMatchObject({ task: 'diffusion', revision: hub.commit, source: 'hf://acme/model' });
  const paths = manifest.files.map(({ path }) => path);
  expect(paths).toContain(UNET);
  expect(paths.filter((path) => /safetensors|README|safety/.test(path))).toEqual([]);
  for (const { path, bytes, sha256: digest } of manifest.files) {
    const written = await readFile(join(folder, path));
    expect({ path, bytes, digest }).toEqual({
      path,
      bytes: written.byteLength,
      digest: sha256(files.get(path)?.bytes ?? Buffer.alloc(0)),
    });
  }
  const total = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  expect(events.at(-1)).toEqual({ type: 'progress', doneBytes: total, totalBytes: total });
  expect(await readdir(join(cache, '.partial'))).toEqual([]);
});

test('A model that is in the cache is not fetched again', async () => {
  const { hub, cache } = await world();
  await fetchFrom(hub, cache);
  const asked = hub.seen.length;
  expect(await fetchFrom(hub, cache)).toMatchObject({ isNew: false });
  expect(hub.seen.length).toBe(asked);
});

test('The token goes to the hub and never to the host of the large files', async () => {
  const { hub, cache } = await world({ token: 'hf_secret' });
  await fetchFrom(hub, cache, { token: 'hf_secret' });
  const [hubs, others] = ['hub', 'files'].map((host) => hub.seen.filter((each) => each.host === host));
  expect(new Set(hubs.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer hf_secret']));
  expect(others.length).toBeGreaterThan(0);
  expect(new Set(others.map(({ authorization }) => authorization))).toEqual(new Set([undefined]));
});

test('A list of files that goes on at another host is refused, and no request goes there', async () => {
  const asked: string[] = [];
  const other = await listen(({ url = '' }, response) => {
    asked.push(url);
    response.end('[]');
  });
  const { hub, cache } = await world({ token: 'hf_secret', pageSize: 3, nextPagesAt: other });
  await expect(fetchFrom(hub, cache, { token: 'hf_secret' })).rejects.toThrow('at another host');
  expect(asked).toEqual([]);
});

const PASSING: [string, Fault[]][] = [
  ['closes the connection in the middle of a file', [{ kind: 'cut', after: 1000 }]],
  ['answers 429 with Retry-After', [{ kind: 'status', status: 429, headers: { 'retry-after': '0' } }]],
  ['answers 500 and 503', [500, 503].map((status) => ({ kind: 'status', status }))],
  ['sends a damaged file once', [{ kind: 'damage' }]],
];
for (const [what, faults] of PASSING) {
  test(`A model is fetched from a server that ${what}`, async () => {
    const { hub, cache } = await world();
    hub.fail(UNET, ...faults);
    const { manifest } = await fetchFrom(hub, cache);
    expect(manifest.files.map(({ path }) => path)).toContain(UNET);
    expect(bytesAsked(hub, UNET)).toHaveLength(faults.length + 1);
  });
}

test('A connection that stops sending is given up', async () => {
  const { files, hub, cache } = await world();
  hub.fail(UNET, { kind: 'stall', after: 1000 });
  const { folder } = await fetchFrom(hub, cache, { times: { stallMs: 1_000 } });
  expect(await readFile(join(folder, UNET))).toEqual(files.get(UNET)?.bytes);
});

/** Fetches all files but the UNet, and 1000 bytes of that. */
async function interrupt({ files, hub, cache }: Awaited<ReturnType<typeof world>>): Promise<void> {
  hub.fail(UNET, { kind: 'stall', after: 1000 });
  const missing = (files.get(UNET)?.bytes.byteLength ?? 0) - 1000;
  const stop = new AbortController();
  const fetching = fetchFrom(hub, cache, {
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type === 'progress' && event.totalBytes - event.doneBytes === missing) stop.abort();
    },
  });
  await expect(fetching).rejects.toThrow('aborted');
  hub.seen.length = 0;
}

test('Fetching that was interrupted continues where it was, with what is already there', async () => {
  const each = await world();
  await interrupt(each);
  const { folder } = await fetchFrom(each.hub, each.cache);
  expect(await readFile(join(folder, UNET))).toEqual(each.files.get(UNET)?.bytes);
  const asked = each.hub.seen.filter(({ path }) => !path.startsWith('/api/'));
  expect(asked.map(({ host, path }) => `${host} ${path.split('/').slice(-2).join('/')}`)).toEqual([
    `hub ${UNET}`,
    `files ${UNET}`,
  ]);
  expect(asked[1].range).toBe('bytes=1000-');
});

test('A server that sends a resumed file from its beginning is accepted', async () => {
  const each = await world();
  await interrupt(each);
  each.hub.fail(UNET, { kind: 'whole' });
  const { folder } = await fetchFrom(each.hub, each.cache);
  expect(await readFile(join(folder, UNET))).toEqual(each.files.get(UNET)?.bytes);
  expect(bytesAsked(each.hub, UNET)).toEqual(['bytes=1000-']);
});

test('Two processes that want the same model fetch it once', async () => {
  const { hub, cache } = await world();
  const events: FetchEvent[] = [];
  const both = await Promise.all([
    fetchFrom(hub, cache),
    fetchFrom(hub, cache, { onEvent: (event) => events.push(event) }),
  ]);
  expect(both.map(({ isNew }) => isNew).sort()).toEqual([false, true]);
  expect(bytesAsked(hub, UNET)).toEqual([undefined]);
});

test('A file that is damaged each time is refused, and the model does not appear in the cache', async () => {
  const { hub, cache } = await world();
  hub.fail(UNET, { kind: 'damage' }, { kind: 'damage' });
  await expect(fetchFrom(hub, cache)).rejects.toThrow(
    /unet\/model\.onnx arrived damaged 2 times: its sha256/,
  );
  expect((await readdir(cache)).filter((name) => !name.startsWith('.'))).toEqual([]);
});

test('A small file that differs from its git digest is refused', async () => {
  const { hub, cache } = await world();
  hub.fail('model_index.json', { kind: 'damage' }, { kind: 'damage' });
  await expect(fetchFrom(hub, cache)).rejects.toThrow(
    /model_index\.json arrived damaged 2 times: its git-sha1/,
  );
});

test('A server that fails every time is given up with its last answer', async () => {
  const { hub, cache } = await world();
  hub.fail(UNET, ...Array.from({ length: 6 }, (): Fault => ({ kind: 'status', status: 502 })));
  await expect(fetchFrom(hub, cache)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('502'),
  });
});

test('Each refusal of the hub is reported with what to do', async () => {
  const { hub, cache } = await world({ gatedFor: ['hf_member'] });
  const gated = { code: 'forbidden', message: expect.stringContaining('accept its conditions') };
  await expect(fetchFrom(hub, cache)).rejects.toMatchObject(gated);
  await expect(fetchFrom(hub, cache, { token: 'hf_other' })).rejects.toMatchObject(gated);
  await expect(fetchFrom(hub, cache, { fields: { revision: 'nowhere' } })).rejects.toMatchObject({
    code: 'not-found',
    message: expect.stringContaining('Invalid rev id'),
  });
  const closed = await world({ token: 'hf_secret' });
  await expect(fetchFrom(closed.hub, closed.cache, { token: 'hf_wrong' })).rejects.toMatchObject({
    code: 'unauthenticated',
    message: expect.stringContaining('HF_TOKEN'),
  });
});

test('A variant takes the graphs of its name and saves them under the plain names', async () => {
  const files = await tinyModelFiles();
  const half = [...files].map(([path, file]): [string, HubFile] => [
    path.replace(/model\.onnx$/, 'model.fp16.onnx'),
    file,
  ]);
  const hub = await startHub(
    new Map([...half, [UNET, { bytes: Buffer.from('the other one'), isLarge: true }]]),
  );
  const cache = await tempFolder('cache');
  const { folder, manifest } = await fetchFrom(hub, cache, { fields: { variant: 'fp16' } });
  expect(manifest.variant).toBe('fp16');
  expect(await readFile(join(folder, UNET))).toEqual(files.get(UNET)?.bytes);
  expect(existsSync(join(folder, 'unet/model.fp16.onnx'))).toBe(false);
  await expect(fetchFrom(hub, cache, { fields: { variant: 'int8' } })).rejects.toThrow(
    /no text_encoder\/model\.onnx, unet\/model\.onnx.* in the variant "int8".*lehr models export/,
  );
});

test('A file of the model with a name that no path here can have is refused before anything is fetched', async () => {
  const { hub, cache } = await world({}, [['unet/a:b', { bytes: Buffer.from('x') }]]);
  await expect(fetchFrom(hub, cache)).rejects.toThrow(/"unet\/a:b", which cannot be a path here/);
  expect(hub.seen.filter(({ path }) => path.includes('/resolve/'))).toEqual([]);
});

test('Files that the model does not need are left out, whatever their names are', async () => {
  const names = ['../../evil.onnx', 'notes: first.txt', 'samples/a\\b.png'];
  const { hub, cache } = await world(
    {},
    names.map((name) => [name, { bytes: Buffer.from('x') }]),
  );
  const { manifest } = await fetchFrom(hub, cache);
  expect(manifest.files.filter(({ path }) => names.includes(path))).toEqual([]);
});

test('An adapter is fetched as one file into a folder of the cache, which lasts while models.yaml names it', async () => {
  const name = 'ink.safetensors';
  const { hub, cache } = await world({}, [[name, { bytes: Buffer.alloc(1000, 7), isLarge: true }]]);
  const registry = parseRegistry(`models:
  - name: tiny
    task: diffusion
    versions: [{ version: "1", path: tiny }]
    adapters: [{ name: ink, source: hf://acme/model/${name}, revision: v1 }]
`);
  const [model] = registry.models;
  const [part] = partsToFetch(model);
  expect(part).toMatchObject({ label: 'adapter ink of tiny' });
  const { folder, manifest } = await fetchFrom(hub, cache, { fields: part.fields });
  expect(manifest).toMatchObject({ source: `hf://acme/model/${name}`, files: [{ path: name, bytes: 1000 }] });
  const [adapter] = model.task === 'diffusion' ? model.adapters : [];
  expect(adapterPath(adapter, { models: '/srv', cache })).toBe(join(folder, name));
  expect(await readFile(join(folder, name))).toEqual(Buffer.alloc(1000, 7));
  const hourLater = Date.now() + 4e6;
  expect(await evict(cache, 0, namesInCache(registry), hourLater)).toEqual([]);
  expect(await evict(cache, 0, new Set(), hourLater)).toMatchObject([{ folder }]);
});

test('A ControlNet is fetched as a folder with its graph, data and config, which lasts while models.yaml names it', async () => {
  const files = ['config.json', 'model.onnx', 'model.onnx.data', 'diffusion_pytorch_model.safetensors'];
  const { hub, cache } = await world(
    {},
    files.map((name) => [`edges/${name}`, { bytes: Buffer.from('{}') }]),
  );
  const registry = parseRegistry(`models:
  - name: tiny
    task: diffusion
    versions: [{ version: "1", path: tiny }]
    controls: [{ name: edges, source: hf://acme/model/edges, revision: v1 }]
`);
  const [model] = registry.models;
  const [part] = partsToFetch(model);
  expect(part).toMatchObject({ label: 'control edges of tiny' });
  const { folder, manifest } = await fetchFrom(hub, cache, { fields: part.fields });
  expect(manifest.files.map(({ path }) => path)).toEqual(['config.json', 'model.onnx', 'model.onnx.data']);
  const [control] = model.task === 'diffusion' ? model.controls : [];
  expect(controlFolder(control, { models: '/srv', cache })).toBe(folder);
  expect(controlFolder({ ...control, source: undefined, path: 'edges' }, { models: '/srv', cache })).toBe(
    '/srv/edges',
  );
  const hourLater = Date.now() + 4e6;
  expect(await evict(cache, 0, namesInCache(registry), hourLater)).toEqual([]);
  expect(await evict(cache, 0, new Set(), hourLater)).toMatchObject([{ folder }]);
});

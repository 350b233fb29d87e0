/** Fetching one file of weights from a hub, a web server and a bucket. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { type FetchEvent, fetchFile, parseTypedFile } from '../../packages/shared/src/models/cache/index.ts';
import { listen, startHub } from '../support/hub-server.ts';
import { tempFolder } from '../support/tiny-models.ts';

const BYTES = Buffer.from(Array.from({ length: 50_000 }, (_, i) => i % 251));

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'the-access-key-id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'the-secret-access-key');
  return () => vi.unstubAllEnvs();
});

async function fetcher({ hub = 'http://127.0.0.1:9', s3 = 'http://127.0.0.1:9', token = '' } = {}) {
  const folder = await tempFolder('fetched');
  const events: FetchEvent[] = [];
  const fetchIt = async (text: string, stop = new AbortController(), stopAt?: number) => {
    const file = parseTypedFile(text, undefined);
    if (!file) throw new Error(`${text} is a path`);
    return fetchFile(file, join(folder, '.fetched'), {
      hub: { endpoint: hub, ...(token && { token }) },
      s3: { region: 'us-east-1', endpoint: s3 },
      signal: stop.signal,
      times: { stallMs: 60_000, firstMs: 1, maxMs: 1 },
      onEvent: (event) => {
        events.push(event);
        if (event.type === 'progress' && event.doneBytes === stopAt) stop.abort();
      },
    });
  };
  return { folder, events, fetchIt };
}

test('A file of the hub is fetched alone and verified, its size said first, and removed after its use', async () => {
  const files = new Map([
    ['vae/own.safetensors', { bytes: BYTES, isLarge: true }],
    ['vae/other.safetensors', { bytes: BYTES, isLarge: true }],
  ]);
  const hub = await startHub(files, { token: 'hf_secret' });
  const { folder, events, fetchIt } = await fetcher({ hub: hub.endpoint, token: 'hf_secret' });
  hub.fail('vae/own.safetensors', { kind: 'damage' }, { kind: 'cut', after: 1000 });
  const { path, remove } = await fetchIt('acme/model/vae/own.safetensors');
  expect(await readFile(path)).toEqual(BYTES);
  expect(events[0]).toEqual({ type: 'progress', doneBytes: 0, totalBytes: BYTES.length });
  const stored = hub.seen.filter(({ host }) => host === 'files');
  expect(stored.map(({ path: asked, authorization }) => [asked, authorization])).toEqual(
    [1, 2, 3].map(() => ['vae/own.safetensors', undefined]),
  );
  await remove();
  expect(await readdir(folder)).toEqual([]);
  await expect(fetchIt('acme/model/vae/none.safetensors')).rejects.toMatchObject({
    code: 'not-found',
    message: 'hf://acme/model/vae has no file none.safetensors.',
  });
  expect(await readdir(folder)).toEqual([]);
});

test('A fetch that was interrupted continues where it was, and begins anew when the file has changed', async () => {
  let bytes = BYTES;
  const ranges: (string | undefined)[] = [];
  const url = await listen((request, response) => {
    const [, from = '0'] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
    const rest = bytes.subarray(Number(from));
    response.writeHead(from === '0' ? 200 : 206, {
      'content-length': rest.length,
      etag: `"${bytes[0]}"`,
      'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}`,
    });
    ranges.push(request.headers.range);
    // The first answer of each version but one: 1000 bytes, and then nothing.
    ranges.length === 2 || ranges.length === 6 ? response.write(rest.subarray(0, 1000)) : response.end(rest);
  });
  const { folder, fetchIt } = await fetcher();
  const interrupt = async () => {
    const fetching = fetchIt(`${url}/own.safetensors`, new AbortController(), 1000);
    await expect(fetching).rejects.toThrow('aborted');
  };
  await interrupt();
  const first = await fetchIt(`${url}/own.safetensors`);
  expect(await readFile(first.path)).toEqual(BYTES);
  expect(ranges).toEqual([undefined, undefined, undefined, 'bytes=1000-']);
  await first.remove();
  await interrupt();
  bytes = Buffer.alloc(40_000, 7);
  const second = await fetchIt(`${url}/own.safetensors`);
  expect(await readFile(second.path)).toEqual(bytes);
  expect(ranges.slice(6)).toEqual([undefined, undefined]);
  await second.remove();
  expect(await readdir(folder)).toEqual([]);
});

test('A web server that says no length, and a file that is larger than the disk, are refused before a byte is written', async () => {
  const asked: string[] = [];
  const url = await listen(({ url: path = '' }, response) => {
    asked.push(path);
    if (path === '/large.safetensors') response.writeHead(200, { 'content-length': '9000000000000000' });
    response.write('{');
  });
  const { folder, fetchIt } = await fetcher();
  await expect(fetchIt(`${url}/endless.safetensors`)).rejects.toThrow('without its length');
  await expect(fetchIt(`${url}/large.safetensors`)).rejects.toMatchObject({
    code: 'storage-failed',
    message: expect.stringContaining('needs 9000000.00 GB more'),
  });
  expect(asked).toHaveLength(2);
  expect(await readdir(folder)).toEqual([]);
});

test('A file of a bucket is fetched without a list of all others', async () => {
  const prefixes: (string | null)[] = [];
  const endpoint = await listen((request, response) => {
    const { searchParams, pathname } = new URL(request.url ?? '', 'http://s3');
    if (!searchParams.has('list-type')) {
      if (pathname === '/models/a/own.safetensors') return response.end(BYTES);
      return response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
    }
    const prefix = searchParams.get('prefix');
    prefixes.push(prefix);
    const rows = ['', '.md5'].map(
      (ending) =>
        `<Contents><Key>a/own.safetensors${ending}</Key><Size>${BYTES.length}</Size><ETag>"1"</ETag></Contents>`,
    );
    response.setHeader('content-type', 'application/xml');
    const found = prefix === 'a/own.safetensors' ? rows.join('') : '';
    return response.end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>${found}</ListBucketResult>`,
    );
  });
  const { fetchIt } = await fetcher({ s3: endpoint });
  const { path, remove } = await fetchIt('s3://models/a/own.safetensors');
  expect(await readFile(path)).toEqual(BYTES);
  await remove();
  await expect(fetchIt('s3://models/a/none.safetensors')).rejects.toThrow(
    's3://models/a/ has no file none.safetensors.',
  );
  expect(prefixes).toEqual(['a/own.safetensors', 'a/none.safetensors']);
});

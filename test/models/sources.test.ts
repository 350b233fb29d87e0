/** Fetching a model from a bucket, a web server and a folder. */
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { fetchModel } from '../../packages/shared/src/models/cache/index.ts';
import { type HubFile, listen } from '../support/hub-server.ts';
import { readFiles, tinyModelFiles } from '../support/model-folders.ts';
import { tempFolder, tinyModels } from '../support/tiny-models.ts';

const UNET = 'unet/model.onnx';

async function fetchFrom(source: string, cache: string, endpoint?: string) {
  return fetchModel(
    { source },
    {
      cache,
      hub: { endpoint: 'http://127.0.0.1:9' },
      s3: { region: 'us-east-1', endpoint },
      signal: new AbortController().signal,
      times: { stallMs: 60_000, firstMs: 1, maxMs: 1 },
    },
  );
}

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'the-access-key-id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'the-secret-access-key');
  return () => vi.unstubAllEnvs();
});

/** A bucket with these objects that lists two at a time and breaks off the first read of the UNet. */
async function bucket(objects: ReadonlyMap<string, HubFile>) {
  const ranges: (string | undefined)[] = [];
  const keys = [...objects.keys()];
  const endpoint = await listen((request, response) => {
    const url = new URL(request.url ?? '', 'http://s3');
    if (url.searchParams.has('list-type')) {
      const from = Number(url.searchParams.get('continuation-token') ?? 0);
      const prefix = url.searchParams.get('prefix') ?? '';
      const rows = keys.slice(from, from + 2).map((key) => {
        const size = objects.get(key)?.bytes.byteLength;
        return `<Contents><Key>${prefix}${key}</Key><Size>${size}</Size><ETag>"${size}"</ETag></Contents>`;
      });
      const more = from + 2 < keys.length;
      const next = more ? `<NextContinuationToken>${from + 2}</NextContinuationToken>` : '';
      response.setHeader('content-type', 'application/xml');
      return response.end(
        `<?xml version="1.0"?><ListBucketResult><IsTruncated>${more}</IsTruncated>${next}${rows.join('')}</ListBucketResult>`,
      );
    }
    const key = decodeURIComponent(url.pathname).replace('/models/tiny/', '');
    const found = objects.get(key);
    if (!found) return response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
    const [, from = '0'] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
    const rest = found.bytes.subarray(Number(from));
    response.writeHead(from === '0' ? 200 : 206, { 'content-length': rest.byteLength });
    if (key !== UNET) return response.end(rest);
    ranges.push(request.headers.range);
    if (ranges.length > 1) return response.end(rest);
    return response.write(rest.subarray(0, 1000), () => response.destroy());
  });
  return { endpoint, ranges };
}

test('A model is fetched from a bucket, over several pages of its list and a broken connection', async () => {
  const files = await tinyModelFiles();
  const { endpoint, ranges } = await bucket(files);
  const { folder, manifest } = await fetchFrom('s3://models/tiny', await tempFolder('cache'), endpoint);
  expect(await readFile(join(folder, UNET))).toEqual(files.get(UNET)?.bytes);
  expect(manifest).toMatchObject({ source: 's3://models/tiny/', task: 'diffusion' });
  expect(ranges.length).toBe(2);
});

test('An empty prefix of a bucket is reported as a source without a model', async () => {
  const { endpoint } = await bucket(new Map());
  await expect(fetchFrom('s3://models/tiny', await tempFolder('cache'), endpoint)).rejects.toThrow(
    'no files',
  );
});

test('A bucket that the credentials may not read is refused at once', async () => {
  const endpoint = await listen((_, response) =>
    response
      .writeHead(403)
      .end('<Error><Code>AccessDenied</Code><Message>the-access-key-id</Message></Error>'),
  );
  const refused = fetchFrom('s3://models/tiny', await tempFolder('cache'), endpoint);
  await expect(refused).rejects.toMatchObject({
    code: 'forbidden',
    message: 's3://models/tiny/ cannot be read: AccessDenied (HTTP 403).',
  });
});

test('A folder is copied, and its copy on a web server is a source for other machines', async () => {
  const original = join(await tinyModels(), '../tiny');
  const cache = await tempFolder('cache');
  const copy = await fetchFrom(original, cache);
  const served = await readFiles(copy.folder);
  const url = await listen((request, response) => {
    const file = served.get(decodeURIComponent(request.url ?? '').replace('/tiny/', ''));
    file ? response.end(file.bytes) : response.writeHead(404).end();
  });
  const fetched = await fetchFrom(`${url}/tiny`, await tempFolder('cache'));
  expect(fetched.manifest.files).toEqual(copy.manifest.files);
  expect(await readFile(join(fetched.folder, UNET))).toEqual(await readFile(join(original, UNET)));
  await expect(fetchFrom(`${url}/other`, cache)).rejects.toThrow(/lehr-model\.json .*404.*lehr models pull/);
});

test('A folder with a link that leads nowhere is copied without it, whichever way its path is written', async () => {
  const original = join(await tempFolder('source'), 'model');
  await cp(join(await tinyModels(), '../tiny'), original, { recursive: true });
  await symlink('nowhere', join(original, 'unet/weights'));
  const { folder } = await fetchFrom(`${dirname(original)}//model`, await tempFolder('cache'));
  expect(await readFile(join(folder, UNET))).toEqual(await readFile(join(original, UNET)));
  expect(await readdir(join(folder, 'unet'))).not.toContain('weights');
});

test('A copy that was changed after its list of digests was written is refused', async () => {
  const cache = await tempFolder('cache');
  const { folder } = await fetchFrom(join(await tinyModels(), '../tiny'), cache);
  const changed = join(await tempFolder('changed'), 'model');
  await cp(folder, changed, { recursive: true });
  const unet = await readFile(join(changed, UNET));
  unet[unet.length - 1] ^= 0xff;
  await writeFile(join(changed, UNET), unet);
  await expect(fetchFrom(changed, cache)).rejects.toThrow(`${UNET} arrived damaged`);
});

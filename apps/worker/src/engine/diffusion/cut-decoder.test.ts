import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion } from '@lehr/demo-models';
import { decode, encode } from '@lehr/onnx-model';
import { systemClock } from '@lehr/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unpackFixture } from '../../../../../test/support/diffusion-fixtures.ts';
import { onnxRuntime } from '../runtime/onnx.ts';
import type { RuntimeSession } from '../runtime/runtime.ts';
import { cutDecoder } from './cut-decoder.ts';
import { pictureLike } from './latent-rgb.ts';
import { openVae, type Vae } from './vae.ts';

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-cut-'));
  await writeTinyDiffusion(folder, { seed: 5 });
  await writeTinyDiffusion(join(folder, 'other'), { seed: 6 });
});
afterAll(() => rmSync(folder, { recursive: true }));

const picture = { width: 64, height: 48 };
const latent = pictureLike(4, { width: 8, height: 6 });
const load = (largestPiece?: number, of = folder): Promise<RuntimeSession> =>
  onnxRuntime.load(
    { path: join(of, 'vae_decoder/model.onnx') },
    { providers: ['cpu'], threads: 1, ...(largestPiece !== undefined && { largestPiece }) },
  );

async function opened(): Promise<{ readonly vae: Vae; readonly pixels: Uint8Array }> {
  const vae = await openVae(await load(), { scalingFactor: 0.18215, shiftFactor: 0 });
  return { vae, pixels: await vae.decode(latent, picture) };
}

const cut = (vae: Vae, reload: typeof load, limitMs = 0) =>
  cutDecoder(vae, { picture, limitMs, load: reload, clock: systemClock });

test('A decoder that takes too long runs in pieces and draws the same picture to the bit', async () => {
  const { vae, pixels } = await opened();
  const report = await cut(vae, load);
  expect(report?.pieces).toBeGreaterThan(2);
  expect(report?.reason).toBeUndefined();
  const run = vae.decodeInPieces(latent, picture);
  let yields = 0;
  let next = await run.next();
  for (; !next.done; next = await run.next()) yields += 1;
  expect(yields).toBe((report?.pieces ?? 0) - 1);
  expect(next.value).toEqual(pixels);
  await vae.close();
});

test.for(['sd15', 'sd21', 'sdxl', 'sd15-dynamo-18', 'sdxl-lcm-dynamo-21'])(
  'The decoder of the real export %s draws the same picture to the bit in pieces',
  async (name) => {
    const home = join(folder, name);
    unpackFixture(name, home);
    const vae = await openVae(await load(undefined, home), { scalingFactor: 0.18215, shiftFactor: 0 });
    const report = await cut(vae, (share) => load(share, home));
    expect(report?.pieces).toBeGreaterThan(4);
    expect(report?.reason).toBeUndefined();
    await vae.close();
  },
);

test('A decoder that is short enough stays whole, and is not opened again', async () => {
  const { vae } = await opened();
  const { session } = vae;
  const reload = () => Promise.reject(new Error('opened again'));
  expect(await cut(vae, reload, Number.POSITIVE_INFINITY)).toBeUndefined();
  expect(vae.session).toBe(session);
  await vae.close();
});

test('Pieces that do not open leave the decoder whole, with the reason', async () => {
  const { vae, pixels } = await opened();
  const report = await cut(vae, (share) =>
    share === undefined ? load() : Promise.reject(new Error('there is no memory for them')),
  );
  expect(report).toEqual({ pieces: 1, reason: 'it does not run in pieces: there is no memory for them' });
  expect(await vae.decode(latent, picture)).toEqual(pixels);
  await vae.close();
});

test('Pieces that draw another picture are not used', async () => {
  const { vae, pixels } = await opened();
  const report = await cut(vae, (share) =>
    share === undefined ? load() : load(share, join(folder, 'other')),
  );
  expect(report?.pieces).toBe(1);
  expect(report?.reason).toContain('draws another picture');
  expect(await vae.decode(latent, picture)).toEqual(pixels);
  await vae.close();
});

test('A decoder whose file changed while it was opened is refused', async () => {
  const { vae } = await opened();
  const reload = () => load(undefined, join(folder, 'other'));
  await expect(cut(vae, reload)).rejects.toMatchObject({ code: 'model-unavailable' });
  await vae.close();
});

test('A decoder that cannot decode synthetic latents stays whole, as it is', async () => {
  const home = join(folder, 'roots');
  cpSync(join(folder, 'vae_decoder'), join(home, 'vae_decoder'), { recursive: true });
  const path = join(home, 'vae_decoder/model.onnx');
  const model = decode('ModelProto', readFileSync(path));
  const nodes = model.graph?.node ?? [];
  for (const each of nodes) each.output = each.output?.map((name) => (name === 'sample' ? 'level' : name));
  nodes.push({ opType: 'Sqrt', name: 'root', input: ['level'], output: ['sample'] });
  writeFileSync(path, encode('ModelProto', model));
  const session = await load(undefined, home);
  const vae = await openVae(session, { scalingFactor: 0.18215, shiftFactor: 0 });
  const reload = () => Promise.reject(new Error('opened again'));
  const reason = 'its pieces cannot be compared: The VAE produced values that are not finite.';
  expect(await cut(vae, reload)).toEqual({ pieces: 1, reason });
  expect(vae.session).toBe(session);
  await vae.close();
});

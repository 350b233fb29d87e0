import { once } from 'node:events';
import { LehrError } from '@lehr/shared';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { readPicture } from './picture-input.ts';
import { PictureReader } from './picture-reader.ts';

/** Decodings under way. sharp's own counters also have the tasks that only read the size of a picture. */
const decodings = { now: 0, most: 0 };
const decode = async (file: Uint8Array): Promise<Uint8Array> => {
  decodings.now += 1;
  decodings.most = Math.max(decodings.most, decodings.now);
  return readPicture(file, { width: 8, height: 8 }).finally(() => {
    decodings.now -= 1;
  });
};

const PART = { field: 'image', decode } as const;
const { signal } = new AbortController();
const KB = 1_000;

/** Decoded, 1000 x 1000 pixels of three bytes. */
const LARGE_BYTES = 3_000 * KB;
const large = (): Promise<Buffer> =>
  sharp({ create: { width: 1000, height: 1000, channels: 3, background: '#abc' } })
    .png({ progressive: true })
    .toBuffer();

const reader = (limits: Partial<ConstructorParameters<typeof PictureReader>[0]>): PictureReader =>
  new PictureReader({
    fileBytes: 100 * KB,
    filesBytes: 1000 * KB,
    decodedBytes: 10 * LARGE_BYTES,
    ...limits,
  });

/** The most pictures that are decoded at the same time. */
async function mostAtOnce(pictures: PictureReader, files: readonly Uint8Array[]): Promise<number> {
  decodings.most = 0;
  const read = (file: Uint8Array, i: number) =>
    pictures.read({ ...PART, fetch: async () => file, owner: `tenant-${i}`, signal });
  expect((await Promise.all(files.map(read))).map(({ length }) => length)).toEqual(files.map(() => 192));
  return decodings.most;
}

test('At most two pictures are decoded at the same time, whoever sent them', async () => {
  const file = await large();
  expect(await mostAtOnce(reader({}), [file, file, file, file, file])).toBe(2);
});

test('Pictures that together take more than the limit are decoded one after the other, and a larger one alone', async () => {
  const file = await large();
  expect(await mostAtOnce(reader({ decodedBytes: LARGE_BYTES * 1.5 }), [file, file, file])).toBe(1);
  expect(await mostAtOnce(reader({ decodedBytes: LARGE_BYTES / 2 }), [file, file, file])).toBe(1);
});

test('A file that cannot be fetched is named by the field that asked for it', async () => {
  const failed = (code: 'invalid-input' | 'too-large' | 'storage-failed') =>
    reader({})
      .read({
        ...PART,
        field: 'control/1/image',
        fetch: () => Promise.reject(new LehrError(code, 'The picture is not there.')),
        owner: 'tenant',
        signal,
      })
      .catch(({ code, message, problems }: LehrError) => ({ code, message, problems }));
  const named = {
    message: '/input/control/1/image: The picture is not there.',
    problems: [{ pointer: '/input/control/1/image', detail: 'The picture is not there.' }],
  };
  expect(await failed('invalid-input')).toEqual({ code: 'invalid-input', ...named });
  expect(await failed('too-large')).toEqual({ code: 'too-large', ...named });
  expect(await failed('storage-failed')).toMatchObject({ message: 'The picture is not there.' });
});

test('The file of a latent is handed on as it is, but not as a mask', async () => {
  const latent = Buffer.from('\u0040\0\0\0\0\0\0\0{"latent"', 'latin1');
  const part = {
    fetch: async () => latent,
    decode: async (file: Uint8Array) => file,
    owner: 'tenant',
    signal,
  };
  expect(await reader({}).read({ ...part, field: 'image' })).toBe(latent);
  await expect(reader({}).read({ ...part, field: 'mask' })).rejects.toMatchObject({ code: 'invalid-input' });
});

test('A file is fetched only when the limit has room for it, and one tenant leaves room for another', async () => {
  const pictures = reader({ fileBytes: 100 * KB, filesBytes: 400 * KB });
  const small = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#abc' } })
    .png()
    .toBuffer();
  const answers = new EventTarget();
  const fetched: string[] = [];
  const read = (owner: string): Promise<unknown> =>
    pictures.read({
      ...PART,
      owner,
      signal,
      fetch: async () => {
        fetched.push(owner);
        await once(answers, 'answer');
        return small;
      },
    });
  const all = [read('a'), read('a'), read('a'), read('b'), read('b'), read('c')];
  await Promise.resolve();
  expect(fetched).toEqual(['a', 'a', 'b', 'b']);
  while (fetched.length < all.length) {
    answers.dispatchEvent(new Event('answer'));
    await Promise.race(all);
    await new Promise(setImmediate);
  }
  answers.dispatchEvent(new Event('answer'));
  await Promise.all(all);
  expect(fetched.toSorted()).toEqual(['a', 'a', 'a', 'b', 'b', 'c']);
});

test('A picture that cannot be fetched or read, or whose job is cancelled while it waits, holds nothing', async () => {
  const pictures = reader({ fileBytes: 100 * KB, filesBytes: 100 * KB });
  const file = await large();
  const cancelled = new AbortController();
  const part = { ...PART, owner: 'a', signal };
  const first = pictures.read({ ...part, fetch: () => Promise.reject(new Error('no such host')) });
  const second = pictures.read({ ...part, fetch: async () => file, signal: cancelled.signal });
  cancelled.abort(new Error('cancelled'));
  await expect(first).rejects.toThrow('no such host');
  await expect(second).rejects.toThrow('cancelled');
  await expect(pictures.read({ ...part, fetch: async () => Buffer.from('GIF89a') })).rejects.toMatchObject({
    code: 'invalid-input',
  });
  expect(await pictures.read({ ...part, fetch: async () => file })).toHaveLength(192);
});

/**
 * The contract of every ObjectStore. The S3 half runs against a real server and fails where that server can neither be found nor
 * installed, unless LEHR_TEST_S3=off.
 */
import { createHash } from 'node:crypto';
import { ulid } from 'ulid';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type ObjectKey, toObjectKey } from '../../packages/shared/src/base/ids.ts';
import { openFolderWorld, openS3World, type World } from './object-store-worlds.ts';

const MINUTES = 60_000;
const PNG = { contentType: 'image/png' };

const STORES = [
  { name: 'a folder', open: openFolderWorld, off: false },
  { name: 'S3', open: openS3World, off: process.env.LEHR_TEST_S3 === 'off' },
];

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const bytesOf = async (stream: ReadableStream<Uint8Array>) =>
  Buffer.from(await new Response(stream).arrayBuffer());

/** Bytes that repeat nowhere, so that a piece in the wrong place is found. */
function someBytes(length: number, seed = 0): Buffer {
  return Buffer.from(
    Uint32Array.from({ length: Math.ceil(length / 4) }, (_, i) => i + seed).buffer,
    0,
    length,
  );
}

async function keysOf(keys: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const key of keys) all.push(key);
  return all.sort();
}

describe.each(STORES)('an object store in $name', ({ open, off }) => {
  let world: World;
  let tests = 0;
  let prefix = '';

  beforeAll(async () => {
    if (!off) world = await open();
  }, 5 * MINUTES);
  afterAll(() => world?.close(), MINUTES);
  beforeEach((context) => {
    context.skip(off, 'LEHR_TEST_S3=off');
    prefix = `test-${tests++}/`;
  });

  const keyOf = (name: string) => toObjectKey(prefix + name);

  async function stored(
    name: string,
    body: Uint8Array = someBytes(5_000),
    options = PNG,
  ): Promise<ObjectKey> {
    await world.store.put(keyOf(name), body, options);
    return keyOf(name);
  }

  async function read(key: ObjectKey) {
    const object = await world.store.get(key);
    return object && { ...object, body: await bytesOf(object.body) };
  }

  describe('put and get', () => {
    test('An object is read back with its body, type, length and SHA-256', async () => {
      const body = someBytes(5_001);
      const info = { key: keyOf('a.png'), bytes: 5_001, contentType: 'image/png', sha256: sha256(body) };
      expect(await world.store.put(info.key, body, PNG)).toEqual(info);
      expect(await read(info.key)).toEqual({ ...info, body });
    });

    test('Of a view into a larger buffer only the view is stored', async () => {
      const body = someBytes(5_000).subarray(100, 200);
      expect((await read(await stored('a', body)))?.body).toEqual(Buffer.from(body));
    });

    test('A second put replaces body and type', async () => {
      await stored('a', someBytes(9_000));
      const key = await stored('a', Buffer.from('{}'), { contentType: 'application/json' });
      expect(await read(key)).toMatchObject({
        bytes: 2,
        contentType: 'application/json',
        body: Buffer.from('{}'),
      });
    });

    test('Nothing is found under a key that was never put, nor under a part of a key', async () => {
      await stored('a/b');
      expect(await world.store.get(keyOf('none'))).toBeUndefined();
      expect(await world.store.get(keyOf('a'))).toBeUndefined();
      expect(await world.store.get(keyOf('a/b/c'))).toBeUndefined();
    });

    test('An empty body can be stored', async () => {
      expect(await read(await stored('empty', Buffer.alloc(0)))).toMatchObject({
        bytes: 0,
        body: Buffer.alloc(0),
        sha256: sha256(Buffer.alloc(0)),
      });
    });

    test('A body of 12 MB is read back complete', async () => {
      const body = someBytes(12_000_000);
      const object = (await read(await stored('large', body)))!;
      expect(object.bytes).toBe(12_000_000);
      expect(sha256(object.body)).toBe(sha256(body));
    });

    test('Concurrent puts of one key leave exactly one of them, complete', async () => {
      const key = keyOf('contended');
      const infos = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          world.store.put(key, someBytes(100_000 * (i + 1), i), { contentType: `image/x-${i}` }),
        ),
      );
      const { body, ...info } = (await read(key))!;
      expect(infos).toContainEqual(info);
      expect(sha256(body)).toBe(info.sha256);
      expect(await keysOf(world.store.list(prefix))).toEqual([key]);
    });

    test('An object that is replaced while it is read is read to its end unchanged', async () => {
      const before = someBytes(12_000_000);
      const key = await stored('a', before);
      const reader = (await world.store.get(key))?.body.getReader();
      const chunks = [(await reader?.read())?.value ?? Buffer.alloc(0)];
      await stored('a', Buffer.from('after'));
      for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
        chunks.push(next.value);
      expect(sha256(Buffer.concat(chunks))).toBe(sha256(before));
    });
  });

  describe('copy', () => {
    test('A copy has the body and type of its object, and stays when the object is deleted', async () => {
      const body = someBytes(5_000_000);
      const [from, to] = [await stored('a.png', body), keyOf('copies/b.png')];
      expect(await world.store.copy(from, to)).toBe(true);
      await world.store.delete(from);
      const copy = (await read(to))!;
      expect(copy).toMatchObject({ bytes: 5_000_000, contentType: 'image/png', sha256: sha256(body) });
      expect(sha256(copy.body)).toBe(sha256(body));
    });

    test('There is no copy of an object that does not exist', async () => {
      expect(await world.store.copy(keyOf('none'), keyOf('copy'))).toBe(false);
      expect(await keysOf(world.store.list(prefix))).toEqual([]);
    });
  });

  describe('an aborted put', () => {
    test('A put that is aborted before it starts rejects with the reason and stores nothing', async () => {
      const signal = AbortSignal.abort(new Error('lease lost'));
      await expect(world.store.put(keyOf('a'), someBytes(10), { ...PNG, signal })).rejects.toThrow(
        'lease lost',
      );
      expect(await world.store.get(keyOf('a'))).toBeUndefined();
    });

    test('A put that is aborted half-way rejects with the reason and keeps the old object', async () => {
      const key = await stored('a', Buffer.from('before'));
      const { store, midway } = await world.interruptible();
      const abort = new AbortController();
      const putting = expect(
        store.put(key, someBytes(12_000_000), { ...PNG, signal: abort.signal }),
      ).rejects.toThrow('lease lost');
      await midway;
      abort.abort(new Error('lease lost'));
      await putting;
      expect((await read(key))?.body).toEqual(Buffer.from('before'));
      expect(await keysOf(world.store.list(prefix))).toEqual([key]);
    });
  });

  describe('delete', () => {
    test('A delete removes one object and can be repeated', async () => {
      const [gone, kept] = [await stored('a/1'), await stored('a/2')];
      await world.store.delete(gone);
      await world.store.delete(gone);
      await world.store.delete(keyOf('never/there'));
      expect(await world.store.get(gone)).toBeUndefined();
      expect(await keysOf(world.store.list(prefix))).toEqual([kept]);
    });
  });

  describe('list', () => {
    test('A list has every key below the prefix, and `a/` does not match `ab/`', async () => {
      await Promise.all(['a', 'a/1', 'a/2/3', 'ab/4', 'b/a/5'].map((name) => stored(name)));
      expect(await keysOf(world.store.list(`${prefix}a/`))).toEqual([keyOf('a/1'), keyOf('a/2/3')]);
      expect(await keysOf(world.store.list(`${prefix}none/`))).toEqual([]);
    });

    test('A list continues past the thousand keys of one S3 page', async () => {
      const names = Array.from({ length: 1_050 }, (_, i) => `many/${i}`);
      while (names.length)
        await Promise.all(names.splice(0, 50).map((name) => stored(name, Buffer.alloc(0))));
      expect(await keysOf(world.store.list(`${prefix}many/`))).toHaveLength(1_050);
    });

    test('Objects can be deleted while they are listed', async () => {
      for (const name of ['a/1', 'a/2', 'b/3']) await stored(name);
      for await (const key of world.store.list(prefix)) await world.store.delete(key);
      expect(await keysOf(world.store.list(prefix))).toEqual([]);
    });

    test.each(['', '/', 'a', '../', 'a/../', '/a/'])('A list refuses the prefix %j', async (wanted) => {
      await expect(keysOf(world.store.list(wanted))).rejects.toThrow(/^Not (a prefix|an object key)/);
    });
  });

  describe('deleting in bulk', () => {
    test('More than a thousand objects are deleted at once, missing ones do not matter, and others stay', async () => {
      const names = Array.from({ length: 1_050 }, (_, i) => `many/${i}`);
      for (let i = 0; i < names.length; i += 50)
        await Promise.all(names.slice(i, i + 50).map((name) => stored(name, Buffer.alloc(0))));
      const kept = await stored('kept/1');
      await world.store.deleteMany([...names, 'never/there'].map(keyOf));
      await world.store.deleteMany([]);
      expect(await keysOf(world.store.list(prefix))).toEqual([kept]);
    });
  });

  describe('objects by their time', () => {
    const [old, middle, young] = [1_000_000, 86_400_000 * 20_000, 86_400_000 * 20_000 + 1];
    const id = (at: number): string => ulid(at).toLowerCase();

    async function storedAll(keys: readonly string[]): Promise<void> {
      for (const key of keys) await world.store.put(toObjectKey(key), Buffer.from('x'), PNG);
    }

    async function madeBefore(before: number): Promise<string[]> {
      const found: string[] = [];
      for await (const slice of world.store.listMadeBefore(before)) {
        expect(slice.length).toBeLessThanOrEqual(1000);
        found.push(...slice);
      }
      return found.sort();
    }

    test('Outputs and uploads are found by the time of their job or file, and nothing else is', async () => {
      const gone = [
        `out/acme/job_${id(old)}/lease/0.png`,
        `out/acme/job_${id(middle - 1)}/lease/0.png`,
        `out/b-${tests}/job_${id(middle - 1)}/checkpoints/lease.0`,
        `in/acme/file_${id(middle - 1)}`,
        `in/acme/job_${id(old)}/audio`,
      ].sort();
      const kept = [
        `out/acme/job_${id(middle)}/lease/0.png`,
        `out/acme/job_${id(young)}/lease/0.png`,
        `out/acme/notes/job_${id(old)}.txt`,
        `out/acme/job_zzzzzzzzzzzzzzzzzzzzzzzzzz/0.png`,
        `in/acme/file_${id(young)}`,
        `in/acme/job_${id(middle)}/audio`,
      ].sort();
      await storedAll([...gone, ...kept]);
      expect(await madeBefore(middle)).toEqual(gone);
      for await (const slice of world.store.listMadeBefore(middle)) await world.store.deleteMany(slice);
      expect(await madeBefore(middle)).toEqual([]);
      const left = [...(await keysOf(world.store.list('out/'))), ...(await keysOf(world.store.list('in/')))];
      expect(left.sort()).toEqual(kept);
      for (const key of kept) {
        const object = await world.store.get(toObjectKey(key));
        expect(await bytesOf(object!.body)).toEqual(Buffer.from('x'));
      }
      await world.store.deleteMany(kept.map(toObjectKey));
    });

    test('Old objects of every tenant are found behind more than a thousand younger ones of another', {
      tags: ['long'],
    }, async () => {
      const keys = [
        ...Array.from({ length: 1_100 }, (_, i) => `out/a/job_${id(young + i)}/0.png`),
        `out/b/job_${id(old)}/0.png`,
        ...Array.from({ length: 1_050 }, (_, i) => `out/c/job_${id(old + i)}/0.png`),
      ];
      for (let i = 0; i < keys.length; i += 50)
        await Promise.all(keys.slice(i, i + 50).map((key) => storedAll([key])));
      expect(await madeBefore(middle)).toEqual(keys.slice(1_100).sort());
      await world.store.deleteMany(keys.map(toObjectKey));
      expect(await keysOf(world.store.list('out/'))).toEqual([]);
    });
  });

  test.each(['../a', 'a/../../b', '/etc/passwd', 'a//b', 'a/./b', 'a\\b', 'a\0b', ''])(
    'Every method refuses the key %j, even when it was cast',
    async (name) => {
      const key = name as ObjectKey;
      const { store } = world;
      for (const call of [
        store.put(key, someBytes(1), PNG),
        store.get(key),
        store.copy(key, keyOf('a')),
        store.copy(keyOf('a'), key),
        store.link(key),
        store.delete(key),
        store.deleteMany([key]),
      ]) {
        await expect(call).rejects.toThrow('Not an object key');
      }
    },
  );

  describe('a link', () => {
    test('A link can be read without credentials, with the right bytes, type and name', async () => {
      const body = someBytes(5_000);
      const filename = 'café 写真 "1".png';
      const response = await fetch(await world.store.link(await stored('a.png', body), { filename }));
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('image/png');
      expect(response.headers.get('content-length')).toBe('5000');
      expect(response.headers.get('x-content-type-options')).toBe(world.sendsNosniff ? 'nosniff' : null);
      const disposition = response.headers.get('content-disposition') ?? '';
      expect(disposition).toMatch(/^attachment; filename="caf_ __ _1_\.png"; /);
      expect(decodeURIComponent(disposition.split("UTF-8''")[1] ?? '')).toBe(filename);
      expect(Buffer.from(await response.arrayBuffer())).toEqual(body);
    });

    test('A link without a file name sends no Content-Disposition', async () => {
      const response = await fetch(await world.store.link(await stored('a.png')));
      expect(response.headers.get('content-disposition')).toBeNull();
    });

    test('A link to a deleted object answers 404', async () => {
      const key = await stored('a.png');
      const link = await world.store.link(key);
      await world.store.delete(key);
      expect((await fetch(link)).status).toBe(404);
    });

    test('A link lasts 15 minutes by default and is refused after that', async () => {
      const key = await stored('a.png');
      const statusOfLinkMadeAgo = async (minutes: number, expiresInS?: number) => {
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - minutes * MINUTES });
        onTestFinished(() => void vi.useRealTimers());
        const link = await world.store.link(key, { expiresInS });
        vi.useRealTimers();
        return (await fetch(link)).status;
      };
      expect(await statusOfLinkMadeAgo(14)).toBe(200);
      expect(await statusOfLinkMadeAgo(16)).toBe(403);
      expect(await statusOfLinkMadeAgo(16, 3600)).toBe(200);
    });

    test('A link cannot be changed to another key, a later expiry or another signature', async () => {
      await stored('theirs.png');
      const link = await world.store.link(await stored('mine.png'), { expiresInS: 60 });
      const changed = (change: (url: URL) => void) => {
        const url = new URL(link);
        change(url);
        expect(url.href).not.toBe(link);
        return fetch(url);
      };
      const { expiryParameter, signatureParameter } = world;
      const later = (value: string) => String(Number(value) + 3_600);
      const flipped = (value: string) => (value.startsWith('0') ? '1' : '0') + value.slice(1);
      const replaced = (parameter: string, to: (value: string) => string) =>
        changed(({ searchParams }) => searchParams.set(parameter, to(searchParams.get(parameter) ?? '')));

      const refused = [
        await changed((url) => {
          url.pathname = url.pathname.replace('mine', 'theirs');
        }),
        await replaced(expiryParameter, later),
        await replaced(signatureParameter, flipped),
        await changed(({ searchParams }) => searchParams.delete(signatureParameter)),
        await changed((url) => {
          url.search = '';
        }),
      ];
      expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
      expect((await fetch(link)).status).toBe(200);
    });

    test.each([0, -1, 1.5, Number.NaN, 604_801])('A link for %d seconds is refused', async (expiresInS) => {
      await expect(world.store.link(keyOf('a'), { expiresInS })).rejects.toThrow('Not a link lifetime');
    });
  });

  describe('check', () => {
    test('The check of a healthy store resolves, also many at once, and leaves no object', async () => {
      await Promise.all(Array.from({ length: 5 }, () => world.store.check()));
      expect(await keysOf(world.store.list('lehr-health/'))).toEqual([]);
    });

    test('The check of a store that cannot take a write rejects with the reason, and a put rejects as well', async () => {
      const broken = await world.broken();
      expect(broken.length).toBeGreaterThan(0);
      for (const { store, message } of broken) {
        const failure = { name: 'LehrError', code: 'storage-failed', cause: expect.any(Error) };
        await expect(store.check()).rejects.toMatchObject({
          ...failure,
          message: expect.stringMatching(message),
        });
        await expect(store.put(keyOf('a'), someBytes(1), PNG)).rejects.toMatchObject(failure);
      }
    });
  });
});

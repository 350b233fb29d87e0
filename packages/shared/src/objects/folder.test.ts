import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ulid } from 'ulid';
import { expect, onTestFinished, test } from 'vitest';
import { type ObjectKey, toObjectKey } from '../base/ids.ts';
import { type FolderStoreOptions, openFolderStore } from './folder.ts';

const OPTIONS = { publicUrl: 'https://lehr.example', linkSecret: 's'.repeat(32), fsync: false };
const PNG = { contentType: 'image/png' };
const BODY = Buffer.from('a picture');

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-folder-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openStore(options: Partial<FolderStoreOptions> = {}) {
  const root = join(await temporaryFolder(), 'objects');
  return { root, store: await openFolderStore({ root, ...OPTIONS, ...options }) };
}

async function textOf(stream: ReadableStream<Uint8Array> | undefined): Promise<string | undefined> {
  return stream && new Response(stream).text();
}

async function keysOf(keys: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const key of keys) all.push(key);
  return all.sort();
}

test('An object and a directory of the same name exist side by side', async () => {
  const { store } = await openStore();
  await store.put(toObjectKey('t/a'), BODY, PNG);
  await store.put(toObjectKey('t/a/b'), BODY, PNG);
  expect(await keysOf(store.list('t/'))).toEqual(['t/a', 't/a/b']);
  await store.delete(toObjectKey('t/a'));
  expect(await textOf((await store.get(toObjectKey('t/a/b')))?.body)).toBe('a picture');
});

test('The body of a stored object can be read from its file with ordinary tools', async () => {
  const { root, store } = await openStore();
  await store.put(toObjectKey('t/a.png'), BODY, PNG);
  const [, body] = (await readFile(join(root, 't/a.png,object'), 'utf8')).split('\n');
  expect(body).toBe('a picture');
});

test('Deleting the last object of a directory removes the directory and its empty parents, and no directory in use', async () => {
  const { root, store } = await openStore();
  await store.put(toObjectKey('t/job/1/0.png'), BODY, PNG);
  await store.put(toObjectKey('t/other/0.png'), BODY, PNG);
  await store.delete(toObjectKey('t/job/1/0.png'));
  expect(await readdir(join(root, 't'))).toEqual(['other']);
  await store.delete(toObjectKey('t/other/0.png'));
  expect(await readdir(root)).toEqual([',writing']);
});

test('Puts succeed while deletes remove their directories at the same time', async () => {
  const { store } = await openStore();
  const rounds = Array.from({ length: 40 }, (_, round) => round);
  await Promise.all(
    rounds.map(async (round) => {
      await store.put(toObjectKey(`t/deep/${round % 4}/gone-${round}`), BODY, PNG);
      await store.delete(toObjectKey(`t/deep/${round % 4}/gone-${round}`));
      await store.put(toObjectKey(`t/deep/${round % 4}/${round}/kept`), BODY, PNG);
    }),
  );
  expect(await keysOf(store.list('t/'))).toHaveLength(40);
});

test('Symbolic links inside the folder are not read, listed, written through or deleted through', async () => {
  const { root, store } = await openStore();
  const outside = await temporaryFolder();
  const outsideStore = await openFolderStore({ root: join(outside, 'objects'), ...OPTIONS });
  await outsideStore.put(toObjectKey('dir/secret'), BODY, PNG);
  await mkdir(join(root, 't'));
  await symlink(join(outside, 'objects/dir'), join(root, 't/dir'));
  await symlink(join(outside, 'objects/dir/secret,object'), join(root, 't/file,object'));

  expect(await store.get(toObjectKey('t/dir/secret'))).toBeUndefined();
  expect(await store.get(toObjectKey('t/file'))).toBeUndefined();
  expect(await keysOf(store.list('t/'))).toEqual([]);
  expect(await keysOf(store.list('t/dir/'))).toEqual([]);
  await expect(store.put(toObjectKey('t/dir/new'), BODY, PNG)).rejects.toMatchObject({
    code: 'storage-failed',
    message: expect.stringContaining('a link or a file is in the place of a directory'),
  });
  await store.delete(toObjectKey('t/dir/secret'));
  expect(await keysOf(outsideStore.list('dir/'))).toEqual(['dir/secret']);
});

test('A file in the place of a directory hides what would be below it, and is not written over', async () => {
  const { root, store } = await openStore();
  await writeFile(join(root, 't'), 'untouched');
  expect(await store.get(toObjectKey('t/a'))).toBeUndefined();
  expect(await keysOf(store.list('t/'))).toEqual([]);
  await expect(store.put(toObjectKey('t/a'), BODY, PNG)).rejects.toMatchObject({
    code: 'storage-failed',
    message: expect.stringContaining('a link or a file is in the place of a directory'),
  });
  expect(await readFile(join(root, 't'), 'utf8')).toBe('untouched');
});

test('A put over a symbolic link replaces the link, not its target', async () => {
  const { root, store } = await openStore();
  const outside = join(await temporaryFolder(), 'precious');
  await writeFile(outside, 'untouched');
  await symlink(outside, join(root, 'a,object'));
  await store.put(toObjectKey('a'), BODY, PNG);
  expect(await readFile(outside, 'utf8')).toBe('untouched');
  expect(await textOf((await store.get(toObjectKey('a')))?.body)).toBe('a picture');
});

test('List skips files that no store wrote', async () => {
  const { root, store } = await openStore();
  await store.put(toObjectKey('t/a'), BODY, PNG);
  await writeFile(join(root, 't/.DS_Store'), '');
  await writeFile(join(root, 't/not a key,object'), '');
  expect(await keysOf(store.list('t/'))).toEqual(['t/a']);
});

test.each([
  [
    'has lost its end',
    'body has 8 bytes',
    async (file: string) => truncate(file, (await stat(file)).size - 1),
  ],
  ['has grown', 'body has 10 bytes', (file: string) => appendFile(file, '!')],
  ['is empty', 'does not begin like an object', (file: string) => truncate(file, 0)],
  ['has another header', 'header is damaged', (file: string) => writeFile(file, 'lehr-object-1 {}\n')],
])('Reading an object whose file %s fails with storage-failed', async (_, says, damage) => {
  const { root, store } = await openStore();
  await store.put(toObjectKey('t/a'), BODY, PNG);
  await damage(join(root, 't/a,object'));
  await expect(store.get(toObjectKey('t/a'))).rejects.toMatchObject({
    code: 'storage-failed',
    message: expect.stringContaining(says),
  });
});

test("The file of another key's object under this name is not returned", async () => {
  const { root, store } = await openStore();
  await store.put(toObjectKey('t/a'), BODY, PNG);
  await writeFile(join(root, 't/b,object'), await readFile(join(root, 't/a,object')));
  expect(await store.get(toObjectKey('t/b'))).toBeUndefined();
});

test.runIf(process.platform === 'linux')(
  'A body that is cancelled or read to its end closes its file',
  async () => {
    const { root, store } = await openStore();
    const key = toObjectKey('t/a');
    await store.put(key, BODY, PNG);
    await (await store.get(key))?.body.cancel();
    await textOf((await store.get(key))?.body);
    const open = async (): Promise<string[]> => {
      const descriptors = await readdir('/proc/self/fd');
      const paths = await Promise.all(
        descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
      );
      return paths.filter((path) => path.startsWith(root));
    };
    // A thread pool closes the file soon; the garbage collector would only do so much later.
    await expect.poll(open, { timeout: 3000 }).toEqual([]);
  },
);

test('Opening a folder removes the unfinished files of dead processes and keeps those of live ones', async () => {
  const root = join(await temporaryFolder(), 'objects');
  const host = hostname().replace(/[^A-Za-z0-9-]/g, '-');
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  const names = {
    deadProcess: `${host}.${child.pid}.00000000.0`,
    samePidBefore: `${host}.${process.pid}.00000000.0`,
    liveProcess: `${host}.${process.ppid}.00000000.0`,
    otherHost: `elsewhere.${child.pid}.00000000.0`,
    otherHostLongAgo: `elsewhere.${child.pid}.00000000.1`,
  };
  await mkdir(join(root, ',writing'), { recursive: true });
  for (const name of Object.values(names)) await writeFile(join(root, ',writing', name), 'half');
  await utimes(join(root, ',writing', names.otherHostLongAgo), 0, 0);

  await openFolderStore({ root, ...OPTIONS });
  expect((await readdir(join(root, ',writing'))).sort()).toEqual([names.liveProcess, names.otherHost].sort());
});

test('A root that is a file cannot be opened, and the error names it', async () => {
  const root = join(await temporaryFolder(), 'objects');
  await writeFile(root, '');
  await expect(openFolderStore({ root, ...OPTIONS })).rejects.toMatchObject({
    code: 'storage-failed',
    message: `Could not open the object folder ${root}: a file is in the place of a folder (EEXIST).`,
  });
});

test('A folder that was removed is not created again by a put', async () => {
  const { root, store } = await openStore();
  await rm(root, { recursive: true });
  await expect(store.put(toObjectKey('t/a'), BODY, PNG)).rejects.toThrow('the folder is gone (ENOENT)');
  await expect(readdir(root)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('Check rejects while less space is free than required', async () => {
  const { store } = await openStore({ minFreeBytes: Number.MAX_SAFE_INTEGER });
  await expect(store.check()).rejects.toThrow(/cannot take a write: \d+ bytes are free/);
});

test('The longest allowed key segment fits into a file name, and a longer one is refused with a clear message', async () => {
  const { store } = await openStore();
  const longest = toObjectKey('k'.repeat(200));
  expect((await store.put(longest, BODY, PNG)).bytes).toBe(BODY.byteLength);
  const longer = 'k'.repeat(201) as ObjectKey;
  await expect(store.put(longer, BODY, PNG)).rejects.toThrow('Wanted segments of up to 200');
});

test('A content type with a line break is refused', async () => {
  const { store } = await openStore();
  const contentType = 'text/plain\r\nset-cookie: a=b';
  await expect(store.put(toObjectKey('a'), BODY, { contentType })).rejects.toThrow('Not a content type');
});

test('A sweep of a folder reads the directories of old days only, and removes them', async () => {
  const { store, root } = await openStore();
  const day = 86_400_000;
  const key = (at: number) => toObjectKey(`out/acme/job_${ulid(at).toLowerCase()}/lease/0.png`);
  const [old, young] = [key(20_000 * day), key(20_001 * day)];
  for (const each of [old, young]) await store.put(each, BODY, PNG);
  expect(await readdir(join(root, 'out/acme'))).toEqual([',2024-10-04', ',2024-10-05']);
  const slices: string[] = [];
  for await (const slice of store.listMadeBefore(20_001 * day - 1)) {
    slices.push(...slice);
    await store.deleteMany(slice);
  }
  expect(slices).toEqual([old]);
  expect(await readdir(join(root, 'out/acme'))).toEqual([',2024-10-05']);
});

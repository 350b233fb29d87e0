/** A folder store whose process is killed, or whose disk is full: every visible object is complete. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openFolderStore } from '../../packages/shared/src/objects/folder.ts';
import { bundle } from '../support/bundle.ts';

let folder: string;
let program: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-folder-faults-'));
  program = await bundle('folder-store-program.ts', import.meta.url);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const freshRoot = () => mkdtemp(join(folder, 'root-'));
const openStore = (root: string) =>
  openFolderStore({ root, publicUrl: 'http://localhost', linkSecret: 's'.repeat(32) });

/** Reads every stored object; throws for one whose file is damaged. */
async function visibleObjects(root: string) {
  const store = await openStore(root);
  const objects: { readonly sha256: string; readonly bytes: Buffer }[] = [];
  for await (const key of store.list('outputs/')) {
    const object = await store.get(key);
    if (!object) throw new Error(`${key} is listed but cannot be read.`);
    objects.push({
      sha256: object.sha256,
      bytes: Buffer.from(await new Response(object.body).arrayBuffer()),
    });
  }
  return objects;
}

function expectWhole(objects: Awaited<ReturnType<typeof visibleObjects>>): void {
  for (const { sha256, bytes } of objects) {
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
  }
}

/** Runs the program, kills it after this many puts, and returns the names of unfinished files. */
async function killAfter(puts: number, root: string): Promise<readonly string[]> {
  const child = spawn(process.execPath, [program, root, '1000000'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stored = 0;
  for await (const _ of createInterface(child.stdout)) if (++stored === puts) break;
  child.kill('SIGKILL');
  await once(child, 'exit');
  return readdir(join(root, ',writing'));
}

test('After kill -9 in the middle of puts every visible object is complete, and unfinished files are removed', async () => {
  const root = await freshRoot();
  // A kill between two puts proves nothing, so it is repeated.
  let unfinished = await killAfter(40, root);
  while (unfinished.length === 0) unfinished = await killAfter(40, root);

  const objects = await visibleObjects(root);
  expect(objects).toHaveLength(12);
  expectWhole(objects);
  expect(await readdir(join(root, ',writing'))).toEqual([]);
});

test('A put beyond the file size limit of the process fails with a clear message and leaves no file', async () => {
  const root = await freshRoot();
  const limited = `ulimit -f 512 && exec "$0" "$@"`;
  const child = spawn('sh', ['-c', limited, process.execPath, program, root, '12'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = await text(child.stdout);
  expect(lines).toMatch(
    /^\d+ storage-failed Could not store .*: the file would be larger than allowed \(EFBIG\)\.$/m,
  );
  expect(await readdir(root)).toEqual([',writing']);
  expect(await readdir(join(root, ',writing'))).toEqual([]);
});

/** Starts a program in its own mount namespace, so that a disk mounted there is visible only to it and ends with it. */
const PRIVATE_DISK = ['unshare', process.getuid?.() === 0 ? '--mount' : '--map-root-user', '--mount'];
const canMount =
  process.platform === 'linux' &&
  spawnSync(PRIVATE_DISK[0]!, [...PRIVATE_DISK.slice(1), 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status ===
    0;

test.runIf(canMount)(
  'A full disk fails puts with a clear message and leaves no files of them, and check rejects',
  async () => {
    const root = await freshRoot();
    // After the lines of the program: its unfinished files (none), then the stored objects.
    const script = 'mount -t tmpfs -o size=4m tmpfs "$2" && "$0" "$@"; ls "$2/,writing"; ls "$2/outputs"';
    const command = [...PRIVATE_DISK.slice(1), 'sh', '-c', script, process.execPath, program, root, '24'];
    const child = spawn(PRIVATE_DISK[0]!, command, { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = (await text(child.stdout)).trim().split('\n');
    expect(lines.filter((line) => line.endsWith(' stored')).length).toBeGreaterThan(0);
    expect(lines.find((line) => line.includes('ENOSPC'))).toMatch(
      /storage-failed .*: the disk is full \(ENOSPC\)\.$/,
    );
    expect(lines.find((line) => line.startsWith('check '))).toMatch(
      /cannot take a write: \d+ bytes are free, wanted/,
    );
    const check = lines.findIndex((line) => line.startsWith('check '));
    expect(lines.slice(check + 1).every((line) => /^job-\d+$/.test(line))).toBe(true);
  },
);

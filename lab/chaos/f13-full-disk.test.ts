import { spawnSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { tempFolder } from '../../test/support/tiny-models.ts';
import { chaosWorld } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

/** The store wants 64 MiB free. */
const DISK_MB = 128;

/** A separate file system. It needs the right to mount. */
async function smallDisk(): Promise<string> {
  const folder = await tempFolder('disk');
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'none', folder]);
  if (status !== 0) throw new Error(`this row needs the right to mount a tmpfs: ${stderr}`);
  onTestFinished(() => void spawnSync('umount', ['-l', folder]));
  return folder;
}

faultRow(
  {
    row: 'F13',
    injected: 'the disk of the folder store is full (tmpfs of 128 MB)',
    promised:
      'No job fails and none is claimed while the disk is full; the queue goes on when there is room.',
  },
  async () => {
    const home = await smallDisk();
    const world = await chaosWorld({ home });
    const { client, history, webhook } = world;
    const worker = await world.worker({ times: { storeRetryMs: 1000 } });
    await client.ended(await client.submitUntilAccepted({ webhook }));
    const filler = join(home, 'filler');
    await writeFile(filler, Buffer.alloc(DISK_MB * 1024 * 1024)).catch(() => {});
    history.fault('the disk is full');
    const ids = await client.submitMany(8, () => ({ webhook, input: { steps: 4 } }));
    await worker.logged('the store takes no writes; no job is claimed until it does');
    await client.reached(ids, 'queued');
    const starts = (): number => worker.lines.filter(({ msg }) => msg === 'job started').length;
    const before = starts();
    const later = await client.submitMany(4, () => ({ webhook, input: { steps: 4 } }));
    await client.reached(later, 'queued');
    const claimedWhileFull = starts() - before;
    await rm(filler);
    const roomAt = history.fault('there is room');
    const verdict = await judge(world);
    expectKept(verdict);
    if (verdict.succeeded !== verdict.accepted)
      throw new Error(`${verdict.succeeded} of ${verdict.accepted} succeeded`);
    return {
      seen: `${verdict.succeeded} of ${verdict.accepted} jobs succeeded; ${claimedWhileFull} claims while the disk was full`,
      figures: { 'first job done after there was room': seconds(history.recoveryMs(roomAt)) },
    };
  },
);

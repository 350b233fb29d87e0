/** `node folder-store-program.mjs <root> <count>` puts objects into a folder store and prints one outcome per line. */
import { toObjectKey } from '../../packages/shared/src/base/ids.ts';
import { openFolderStore } from '../../packages/shared/src/objects/folder.ts';

const KEYS = 12;
const WRITERS = 6;

const [root = '', count = ''] = process.argv.slice(2);
const store = await openFolderStore({ root, publicUrl: 'http://localhost', linkSecret: 's'.repeat(32) });
let next = 0;

/** Every put has a different length and content, so that a mixture of two would be found. */
async function write(): Promise<void> {
  for (let n = next++; n < Number(count); n = next++) {
    const body = Buffer.alloc(400_000 + (n % 7) * 100_000, n);
    const key = toObjectKey(`outputs/job-${n % KEYS}/0.png`);
    const outcome = await store.put(key, body, { contentType: 'image/png' }).then(
      () => 'stored',
      (error) => `${error.code} ${error.message}`,
    );
    process.stdout.write(`${n} ${outcome}\n`);
  }
}

await Promise.all(Array.from({ length: WRITERS }, write));
process.stdout.write(
  `check ${await store.check().then(
    () => 'passed',
    (error) => error.message,
  )}\n`,
);

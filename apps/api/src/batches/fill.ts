/** Copies the lines of a file, or the failed ones of another batch, into the slices of a batch. */
import { LehrError, type TenantId } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { Authenticator } from '../access/auth/authenticator.ts';
import type { Files } from '../jobs/files/files.ts';
import type { BatchRecord, BatchStore } from './batch-store.ts';
import { BadLines, linesOfFile } from './read-lines.ts';
import { type Line, readPart, readSlice, SliceWriter } from './slices.ts';

export interface FillParts {
  readonly store: ObjectStore;
  readonly files: Files;
  readonly batches: BatchStore;
  readonly authenticator: Authenticator;
}

const HOLD_MS = 10_000;
const HELD_LINES = 1_000;

/** After it the batch has its slices, or ends because its lines are not valid. */
export async function fillSlices(parts: FillParts, batch: BatchRecord): Promise<void> {
  const { store, batches } = parts;
  const { id } = batch;
  const writer = new SliceWriter(store, batch);
  try {
    for await (const line of linesOf(parts, batch)) {
      await writer.add(line);
      if (writer.lines % HELD_LINES === 0) await batches.hold(id, HOLD_MS);
    }
    await writer.flush();
  } catch (error) {
    const errors = faultsOf(error);
    if (!errors) throw error;
    await batches.end(id, 'failed', { errors });
    return;
  }
  await batches.write(id, { state: 'in_progress', total: writer.lines, slices: writer.slices });
}

function faultsOf(error: unknown): BadLines['errors'] | undefined {
  if (error instanceof BadLines) return error.errors;
  if (!(error instanceof LehrError) || error.retryable) return undefined;
  return [{ code: error.code, message: error.message, param: null, line: null }];
}

async function* linesOf(parts: FillParts, batch: BatchRecord): AsyncGenerator<Line> {
  const { source, tenant, endpoint } = batch;
  if (source.from === 'retry') yield* failedLines(parts, tenant, source.batch);
  if (source.from !== 'file') return;
  const caller = await parts.authenticator.find(batch.key);
  const file = await parts.files.find(tenant, source.file);
  yield* linesOfFile(await parts.files.open(tenant, file), endpoint, caller?.limits.max_batch_lines ?? null);
}

/** Those whose job did not succeed, and those that got none. */
async function* failedLines(parts: FillParts, tenant: TenantId, id: string): AsyncGenerator<Line> {
  const earlier = await parts.batches.find(tenant, id);
  for (let slice = 0; slice < earlier.slices; slice += 1) {
    const results = await readPart(parts.store, earlier, slice);
    const { lines } = await readSlice(parts.store, earlier, slice);
    for (const [i, { record }] of results.lines.entries())
      if (record?.state !== 'succeeded') yield { custom_id: lines[i].custom_id, body: lines[i].body };
  }
}

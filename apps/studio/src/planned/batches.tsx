/** The batches of the tenant, newest first: how far each is, and what can be done with it. */
import type { Batch } from '@lehr/client';
import { hasEnded } from '../jobs/follow-batch.ts';
import { Link } from '../parts/link.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { go } from '../shell/router.ts';
import { texts } from '../texts/index.ts';
import { lehr } from '../wire/lehr.ts';
import { ActionButton } from './action-button.tsx';

const words = texts.planned;
export const timeOf = (seconds: number): string => new Date(seconds * 1000).toLocaleString();
export const nameOf = ({ metadata, endpoint }: Batch): string => metadata.name ?? endpoint;

function Name({ batch }: { readonly batch: Batch }) {
  return (
    <span class="key-name">
      <Link to={{ name: 'batch', id: batch.id }}>{nameOf(batch)}</Link>
      <code>{batch.id}</code>
    </span>
  );
}

/** The bar has three parts: done, failed, and what is left. */
export function BatchProgress({ batch }: { readonly batch: Batch }) {
  const { total, completed, failed } = batch.request_counts;
  const share = (count: number): string => `${total === 0 ? 0 : (100 * count) / total}%`;
  return (
    <div class="planned-progress">
      <div class="planned-bar" aria-hidden="true">
        <span class="planned-done" style={{ width: share(completed) }} />
        <span class="planned-failed" style={{ width: share(failed) }} />
      </div>
      <span>{words.progress(completed, total)}</span>
      {failed > 0 && <span class="planned-faults">{words.failed(failed)}</span>}
      <span class="hint">{batch.errors?.data[0]?.message}</span>
    </div>
  );
}

/** Opens the batch of what failed. */
async function retry(id: string): Promise<void> {
  const batch = await lehr.batches.retry(id);
  go({ name: 'batch', id: batch.id });
}

export function BatchActions({ batch }: { readonly batch: Batch }) {
  const { id, output_file_id, request_counts } = batch;
  if (!hasEnded(batch))
    return (
      <ActionButton ask={words.cancelAsk} act={() => lehr.batches.cancel(id)}>
        {words.cancel}
      </ActionButton>
    );
  return (
    <div class="planned-actions">
      {request_counts.failed > 0 && <ActionButton act={() => retry(id)}>{words.retry}</ActionButton>}
      {output_file_id !== null && (
        <a class="button button-small" href={`/v1/files/${output_file_id}/content`} download={`${id}.jsonl`}>
          {words.answers}
        </a>
      )}
      {request_counts.completed > 0 && (
        <a class="button button-small" href={`/v1/batches/${id}/results.zip`} download={`${id}.zip`}>
          {words.zip}
        </a>
      )}
    </div>
  );
}

const COLUMNS: readonly Column<Batch>[] = [
  { name: words.batch, cell: (batch) => <Name batch={batch} /> },
  { name: words.state, cell: ({ status }) => words.batchStates[status] },
  { name: words.done, cell: (batch) => <BatchProgress batch={batch} /> },
  { name: words.made, cell: ({ created_at }) => timeOf(created_at) },
  { name: words.actions, cell: (batch) => <BatchActions batch={batch} /> },
];

export const BatchTable = ({ batches }: { readonly batches: readonly Batch[] }) => (
  <Table caption={words.batches} rows={batches} idOf={({ id }) => id} columns={COLUMNS} />
);

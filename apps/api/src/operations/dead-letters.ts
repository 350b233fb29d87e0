/** Jobs that failed for good, newest failure first, and what no process could read. */
import type { DeadLetters, JobId } from '@lehr/shared';
import { type JobOutline, type RecordStore, toJobError, UnreadableList } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import { refusal } from '../base/field-problems.ts';

const MAX_SHOWN = 100;
/** As keys.failed has them. */
const ENTRY = /^\d{13} \S+$/;

export class DeadLetterView {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #records: RecordStore;

  constructor(redis: Redis, keys: Keys, records: RecordStore) {
    this.#redis = redis;
    this.#keys = keys;
    this.#records = records;
  }

  /** `cursor` is from the page before. Throws `invalid-request` for what is no cursor. */
  async page(cursor?: string): Promise<DeadLetters> {
    const { failed: index } = this.#keys;
    const after = cursor === undefined ? '+' : `(${decodeCursor(cursor)}`;
    const entries = await this.#redis.zrange(index, after, '-', 'BYLEX', 'REV', 'LIMIT', 0, MAX_SHOWN + 1);
    const shown = entries.slice(0, MAX_SHOWN);
    const { records } = await this.#records.outlines(shown.map((entry) => entry.split(' ')[1] as JobId));
    const last = entries.length > MAX_SHOWN ? shown.at(-1) : undefined;
    return {
      object: 'dead-letters',
      failed: records.flatMap((record) => (record?.state === 'failed' ? [present(record)] : [])),
      next_cursor: last === undefined ? null : Buffer.from(last).toString('base64url'),
      unreadable: await new UnreadableList(this.#redis, this.#keys).list(MAX_SHOWN),
    };
  }
}

function decodeCursor(cursor: string): string {
  const entry = Buffer.from(cursor, 'base64url').toString();
  if (ENTRY.test(entry)) return entry;
  throw refusal('invalid-request', [{ pointer: '?cursor', detail: 'is not a cursor of this list' }]);
}

/** Without the input, and without the error's detail, which may name parts of it. */
function present(record: Extract<JobOutline, { state: 'failed' }>): DeadLetters['failed'][number] {
  const { id, tenant, type, model, attempt, finished_at } = record;
  const { code, title } = toJobError(record.error);
  const failed_at = new Date(finished_at).toISOString();
  return { job: id, tenant, type, model, code, title, attempts: attempt, failed_at };
}

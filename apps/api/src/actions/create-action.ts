/** Counts what an action will come to, stores it, and shows it. */
import {
  type JobAction,
  type JobActionCount,
  type JobActionName,
  type JobActionRequest,
  type JobFilter,
  jobIdOfAction,
  LehrError,
  newJobActionId,
  type Scope,
  type TenantId,
} from '@lehr/shared';
import type { Caller } from '../access/auth/authenticator.ts';
import { QuotaError } from '../access/quotas.ts';
import { refusal } from '../base/field-problems.ts';
import { type JobPages, listFilterOf } from '../jobs/job-pages.ts';
import { priorityOf } from '../jobs/submit.ts';
import { type ActionStore, MAX_OPEN_ACTIONS, type StoredAction } from './action-store.ts';

interface CreateParts {
  readonly jobActions: ActionStore;
  readonly pages: Pick<JobPages, 'ids'>;
}

/** Counting ends after so many jobs, or so many pages of ids, each of which looks at up to 2,000 jobs. */
const MAX_COUNTED = 10_000;
const MAX_PAGES = 10;
const RETRY_S = 30;

/** What one of these jobs would need, asked for alone. */
const SCOPES: Readonly<Record<JobActionName, Scope>> = {
  cancel: 'cancel',
  retry: 'submit',
  delete: 'cancel',
  prioritize: 'submit',
};

/** Throws `forbidden`. */
export function checkMay({ scopes, tenant }: Caller, action: JobActionName, of: TenantId): void {
  const needed = SCOPES[action];
  if (!scopes.has(needed)) throw new LehrError('forbidden', `This key does not have the right to ${needed}.`);
  if (of !== tenant && !scopes.has('admin'))
    throw new LehrError('forbidden', 'Another tenant needs a key with the right to admin.');
}

/** Throws `forbidden` and `invalid-input`. Returns whose jobs it is about. */
export function checkAction(caller: Caller, request: JobActionRequest): TenantId {
  const { action, priority, filter, all, tenant } = request;
  const of = (tenant as TenantId | undefined) ?? caller.tenant;
  checkMay(caller, action, of);
  const refuse = (pointer: string, detail: string) => refusal('invalid-input', [{ pointer, detail }]);
  if (action === 'prioritize' && priority === undefined) throw refuse('/priority', 'must be given');
  if (action !== 'prioritize' && priority !== undefined) throw refuse('/priority', 'belongs to prioritize');
  if (priority !== undefined) priorityOf(priority, caller.limits);
  if (isEmpty(filter) && !all) throw refuse('/filter', 'matches every job: send "all": true with it');
  return of;
}

const isEmpty = ({ metadata = {}, ...fields }: JobFilter): boolean =>
  Object.keys(metadata).length === 0 && Object.values(fields).every((value) => value === undefined);

export async function countJobs(
  { pages }: Pick<CreateParts, 'pages'>,
  tenant: TenantId,
  filter: JobFilter,
): Promise<JobActionCount> {
  let count = 0;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && count < MAX_COUNTED; page += 1) {
    const query = { ...listFilterOf(filter), limit: MAX_COUNTED - count, cursor };
    const { shown, next } = await pages.ids(tenant, query);
    count += shown.length;
    if (next === null) return { object: 'job_action_count', count, count_is_exact: true };
    cursor = next;
  }
  return { object: 'job_action_count', count, count_is_exact: false };
}

/** Throws QuotaError when the tenant has too many that have not ended. */
export async function createAction(
  parts: CreateParts,
  { keyId: key }: Caller,
  address: string | null,
  tenant: TenantId,
  { action, priority, filter }: JobActionRequest,
): Promise<JobAction> {
  const { jobActions } = parts;
  const id = newJobActionId();
  const created_at = await jobActions.now();
  const { count, count_is_exact } = await countJobs(parts, tenant, filter);
  const facts = { id, tenant, key, step: '' };
  const made = await jobActions.change(facts, {
    set: {
      ...{ id, tenant, key, action, priority, filter, created_at, count, count_is_exact },
      ...{ status: 'running', cursor: firstCursor(id, created_at, filter), page: [], errors: [] },
    },
    audit: { action: 'jobs.action-started', address, changes: { action, priority, filter } },
  });
  if (made === 'full')
    throw new QuotaError(`A tenant may have ${MAX_OPEN_ACTIONS} actions that have not ended.`, {
      limit: MAX_OPEN_ACTIONS,
      remaining: 0,
      resetS: RETRY_S,
    });
  return presentAction(await jobActions.find(tenant, id));
}

/** Only jobs that were made before the action are found, so that it ends. */
function firstCursor(id: string, createdAt: number, { created_before }: JobFilter): string {
  const own = jobIdOfAction(id);
  if (created_before !== undefined && Date.parse(created_before) < createdAt) return '';
  return Buffer.from(own).toString('base64url');
}

export function presentAction(stored: StoredAction): JobAction {
  const { id, action, priority = null, filter, status, created_at, ended_at } = stored;
  const { count, count_is_exact, matched, done, skipped, failed, errors } = stored;
  return {
    ...{ id, object: 'job_action', action, priority, filter, status },
    created_at: iso(created_at),
    ended_at: ended_at === undefined ? null : iso(ended_at),
    ...{ count, count_is_exact, matched, done, skipped, failed, errors },
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();

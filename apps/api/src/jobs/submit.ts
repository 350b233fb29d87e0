/** Making a job: resolve, price, admit, store. Knows no HTTP. */
import { type JobId, type JobRequest, LehrError, newJobId } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { GroupQueues, WorkflowRunner } from '@lehr/shared/queue';
import type { JobRecord, NewJob, RecordStore } from '@lehr/shared/records';
import type { Caller } from '../auth/authenticator.ts';
import type { UnansweredRequests } from '../calls/unanswered-requests.ts';
import type { FleetView } from '../fleet/fleet-view.ts';
import type { Quota } from '../limits/quota.ts';
import { type Hook, hookFields } from '../webhooks/hook.ts';
import type { WebhookParts } from '../webhooks/parts.ts';
import { type AdmitParts, type Admitted, admitJob } from './admit.ts';
import type { RequestIdentity } from './identity.ts';
import { isWork, type ResolveParts, resolveWork } from './resolve.ts';
import { type ResolvedWorkflow, resolveWorkflow } from './resolve-workflow.ts';

export interface SubmitParts extends AdmitParts, ResolveParts {
  readonly store: ObjectStore;
  readonly workflows: WorkflowRunner;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly fleet: FleetView;
  readonly orphans: UnansweredRequests;
  readonly webhooks: Pick<WebhookParts, 'egress'>;
}

export interface Submission {
  readonly record: JobRecord;
  /** `new`: made for this request; `replay`: by its Idempotency-Key; `adopted`: by a request like it that got no answer. */
  readonly how: 'new' | 'replay' | 'adopted';
  /** What the key may still spend, where it has a budget and spent of it. */
  readonly quota?: Quota | undefined;
}

/**
 * `hook` is for wires that say otherwise whom to tell. Throws `model-not-found`, `invalid-input` and what admitJob throws before
 * anything is stored. When it throws `unavailable` the job may or may not have been stored: Redis went away in the middle.
 */
export async function submitJob(
  parts: SubmitParts,
  caller: Caller,
  request: JobRequest,
  identity?: RequestIdentity,
  hook: Hook | undefined = request.webhook,
): Promise<Submission> {
  const { store, workflows, queues, records, webhooks } = parts;
  const id = newJobId();
  const resolved = await resolve(parts, caller, id, request);
  const told = hookFields(webhooks.egress, caller.tenant, hook);
  const { priority, deadline_s, metadata } = request;
  const deadlineMs = deadline_s === undefined ? undefined : deadline_s * 1000;
  const { type, model, queue, cost, input, workflow, entries } = resolved;
  const asking = { id, queue, model, priority, cost, deadlineMs, identity, entries };
  const { admission, quota } = await admitJob(parts, caller, asking);
  if (admission.code !== 'admitted') {
    const known = await knownJob(parts, caller, admission, identity);
    return known ?? submitJob(parts, caller, request, identity, hook);
  }
  const job: NewJob = {
    id: admission.id,
    tenant: caller.tenant,
    type,
    model,
    queue,
    priority,
    // Of itself; the nodes of a workflow have theirs.
    cost: workflow ? 0 : cost,
    input,
    workflow,
    metadata,
    // By Redis's clock, which every process measures deadlines with.
    deadline_at: deadlineMs === undefined ? undefined : Math.round(admission.now + deadlineMs),
    rank: admission.rank,
    fair_tag: admission.startTag,
    admitted_at: admission.now,
    ...told,
  };
  try {
    await Promise.all(
      resolved.attachments.map(({ key, bytes, contentType }) => store.put(key, bytes, { contentType })),
    );
  } catch (error) {
    // Its place in line is free again when the janitor has looked.
    await parts.quotas.giveBack(caller, cost);
    throw error;
  }
  const created = workflow
    ? await workflows.create(job)
    : await records.create(job, () => queues.of(queue).add(job, admission.rank));
  const record = created.record ?? (await records.read(job.id));
  if (!record) throw new LehrError('internal', `Job ${job.id} was stored and is not there.`);
  // It may exist by our own doing: a create whose reply was lost is sent again.
  if (created.code !== 'exists' || record.admitted_at === admission.now) return { record, how: 'new', quota };
  // We were so long about it that another request with this key made the job in our place, and pays for it.
  await parts.quotas.giveBack(caller, cost);
  return { record, how: 'replay' };
}

type Resolved = Omit<ResolvedWorkflow, 'workflow' | 'entries'> &
  Partial<Pick<ResolvedWorkflow, 'workflow' | 'entries'>>;

async function resolve(
  parts: SubmitParts,
  { tenant, limits }: Caller,
  job: JobId,
  request: JobRequest,
): Promise<Resolved> {
  const place = { tenant, job, name: 'audio', fleet: await parts.fleet.workers() };
  if (!isWork(request)) return resolveWorkflow(parts, place, request, limits.weight);
  const { attached, ...work } = await resolveWork(parts, place, request);
  return { ...work, attachments: attached ? [attached] : [] };
}

/** Undefined when there is nothing to adopt after all. Throws `gone` for a key whose job is not kept any more. */
async function knownJob(
  { records, orphans }: SubmitParts,
  caller: Caller,
  { code: how, id }: Exclude<Admitted['admission'], { code: 'admitted' }>,
  identity: RequestIdentity | undefined,
): Promise<Submission | undefined> {
  const record = await records.read(id);
  if (how === 'adopted' && identity?.twin) await orphans.adopted(identity.twin, id);
  if (record && record.tenant === caller.tenant) return { record, how };
  if (how === 'adopted') return undefined;
  throw new LehrError('gone', 'The job of this Idempotency-Key is not kept any more.');
}

/** Makes a job: resolve, price, admit, store. */
import {
  type Durability,
  type JobId,
  type JobRequest,
  type KeyLimits,
  LehrError,
  MAX_DELAY_S,
  newJobId,
  PRIORITY_CLASSES,
  type PriorityClass,
} from '@lehr/shared';
import { admittedJob, type GroupQueues, type PricedJob, type WorkflowRunner } from '@lehr/shared/queue';
import type { JobRecord, RecordStore } from '@lehr/shared/records';
import { inPart, type Span } from '@lehr/shared/tracing';
import type { Caller } from '../access/auth/authenticator.ts';
import { payerOf, type Quota } from '../access/quotas.ts';
import { refusal } from '../base/field-problems.ts';
import type { FleetView } from '../fleet/fleet-view.ts';
import type { PauseStore } from '../fleet/pause-store.ts';
import type { RolloutStore } from '../rollouts/rollout-store.ts';
import { type Hook, hookFields } from '../webhooks/hook.ts';
import type { WebhookParts } from '../webhooks/parts.ts';
import { type AdmitParts, type Admitted, admitJob } from './admit.ts';
import { type DirectCalls, type DirectJob, mayBeDirect } from './direct-calls.ts';
import type { Unanswered } from './find.ts';
import type { RequestIdentity } from './identity.ts';
import type { Attachment, MediaContext } from './media-input.ts';
import { type Resolution, type ResolveParts, resolveWork } from './resolve.ts';
import { resolveWorkflow } from './resolve-workflow.ts';
import { type RetryRequest, resolveRetry } from './retry.ts';
import { type AttachmentParts, checkSpace, movedTo, storeAttachments } from './store-attachments.ts';

export interface SubmitParts extends AdmitParts, ResolveParts, AttachmentParts {
  readonly workflows: WorkflowRunner;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly fleet: FleetView;
  readonly rollouts: Pick<RolloutStore, 'recent'>;
  readonly pauses: Pick<PauseStore, 'checkOpen'>;
  /** Learns that a request took over the job of an unanswered one. */
  readonly unanswered: Unanswered;
  readonly webhooks: Pick<WebhookParts, 'egress'>;
  readonly direct: DirectCalls;
  /** How long the store keeps what came with a request. */
  readonly outputTtlMs: number;
}

/** What is known of a request besides its body. */
interface SubmitOptions {
  /** Of a job that was asked for before, and may be there: then this one is it. */
  readonly id?: JobId;
  /** See the field of the record. */
  readonly batch?: string;
  /** Of dialects that describe webhooks differently; absent: the webhook of the request. */
  readonly hook?: Hook | undefined;
  /** The process that holds the request and gets the end of its job; absent when it is not held, or must read the job. */
  readonly heldBy?: string | undefined;
  /** The caller asks for no record, where the request allows it. */
  readonly durability?: Durability | undefined;
  readonly inlineAudio?: MediaContext['inlineAudio'];
  /** When the request is traced. */
  readonly span?: Span | undefined;
}

export interface Submission {
  readonly record: JobRecord;
  /** `new`: made for this request; `replay`: found by its Idempotency-Key; `adopted`: of an equal request without an answer. */
  readonly how: 'new' | 'replay' | 'adopted';
  /** In its queue, when it was added; undefined for a job that is not new, that waits in no queue, or that was claimed meanwhile. */
  readonly position?: number | undefined;
  /** What is left of the key's budget, if it has one and the job is new. */
  readonly quota?: Quota | undefined;
  /** The job has no record: its end comes only here. `record` is what it is now. */
  readonly direct?: DirectJob | undefined;
}

/**
 * Throws `model-not-found`, `invalid-input`, `unavailable` for a paused model, and what admitJob throws before anything is stored. After `unavailable` the job may or
 * may not be stored: the connection to Redis broke on the way.
 */
export async function submitJob(
  parts: SubmitParts,
  caller: Caller,
  request: JobRequest | RetryRequest,
  identity: RequestIdentity = {},
  options: SubmitOptions = {},
): Promise<Submission> {
  const { workflows, queues, records } = parts;
  const { span } = options;
  const { job: priced, attachments } = await priceJob(parts, caller, request, options);
  const { id, queue, cost, workflow } = priced;
  const isDirect = options.durability === 'none' && mayBeDirect(priced, attachments, identity);
  // Most jobs are stored by the command that admits them.
  const isStorable = !workflow && attachments.length === 0 && !isDirect;
  await checkSpace(parts, caller, attachments, identity);
  const { admission, quota } = await inPart(span, 'admit', () =>
    admitJob(parts, caller, priced, identity, isStorable),
  );
  if (admission.stored) return { how: 'new', quota, ...admission.stored };
  if (admission.code !== 'admitted') {
    const existing = await existingJob(parts, caller, admission);
    // The job was stored by this request: the command was sent again, because its reply was lost.
    if (existing && admission.code === 'replay' && admission.id === id)
      return { ...existing, how: 'new', quota };
    return existing ?? submitJob(parts, caller, request, identity, options);
  }
  const own = admission.id === id ? { job: priced, attachments } : movedTo(admission.id, priced, attachments);
  const job = admittedJob(own.job, admission);
  const direct = isDirect ? await inPart(span, 'send', () => parts.direct.send(caller, job)) : undefined;
  if (direct) return { record: direct.record, how: 'new', quota, direct };
  try {
    await storeAttachments(parts, caller, job.id, own.attachments);
  } catch (error) {
    // The janitor frees the reserved place.
    await parts.quotas.refund(caller, cost);
    throw error;
  }
  const created = await inPart(span, 'store', () =>
    workflow
      ? workflows.create(job)
      : records.create(job, async () =>
          job.run_at === undefined ? queues.of(queue).add(job, admission.score) : undefined,
        ),
  );
  const record = created.record ?? (await records.read(job.id));
  if (!record) throw new LehrError('internal', `Job ${job.id} was stored but cannot be read.`);
  // An existing record with the admission time of this request is its own: the create was repeated after a lost reply.
  if (created.code !== 'exists' || record.admitted_at === admission.now) {
    return { record, how: 'new', position: created.enqueued, quota };
  }
  // This request was so slow that another with the same key made the job in its place, and was charged for it.
  await parts.quotas.refund(caller, cost);
  return { record, how: 'replay' };
}

export interface ModelCost {
  /** `name@version` */
  readonly model: string;
  /** Estimated device ms. */
  readonly cost: number;
}

/** What the job of a request would cost, by the speeds of the fleet now. Throws as submitJob for a request that names what is not there. */
export async function costsOf(
  parts: SubmitParts,
  caller: Caller,
  request: JobRequest,
): Promise<readonly ModelCost[]> {
  const job = await resolve(parts, caller, newJobId(), request, undefined);
  return job.workflow?.nodes ?? [job];
}

/** The request with every field resolved, and what must be stored before it. */
async function priceJob(
  parts: SubmitParts,
  caller: Caller,
  request: JobRequest | RetryRequest,
  { id = newJobId(), batch, hook = request.webhook, heldBy, inlineAudio, span }: SubmitOptions,
): Promise<{ readonly job: PricedJob; readonly attachments: readonly Attachment[] }> {
  const { tenant, limits } = caller;
  const { deadline_s, metadata } = request;
  const priority = priorityOf(request.priority, limits);
  const later = laterOf(parts.clock.now(), request);
  const { attachments, ...resolved } = await resolve(parts, caller, id, request, inlineAudio);
  if (later && attachments.length > 0) checkKept(parts, later);
  // A pause says nothing about the time at which a later job runs.
  if (!later)
    await parts.pauses.checkOpen(
      tenant,
      (resolved.workflow?.nodes ?? [resolved]).map(({ model }) => model),
    );
  const job = {
    id,
    tenant,
    priority,
    payer: payerOf(caller),
    metadata,
    deadlineMs: deadline_s === undefined ? undefined : deadline_s * 1000,
    later: later?.when,
    held_by: heldBy,
    batch,
    ...(request.type !== 'workflow' &&
      request.type !== 'speech-to-image' && { concurrency: request.concurrency }),
    trace: span?.traceparent,
    ...hookFields(parts.webhooks.egress, tenant, hook),
    ...resolved,
  };
  return { job, attachments };
}

async function resolve(
  parts: SubmitParts,
  { tenant, keyId, limits }: Caller,
  job: JobId,
  request: JobRequest | RetryRequest,
  inlineAudio: MediaContext['inlineAudio'],
): Promise<Resolution> {
  if (request.type === 'retry') return resolveRetry(parts, job, request, limits.safety);
  const rollouts = await parts.rollouts.recent();
  const fleet = await parts.fleet.workers();
  const { safety } = limits;
  const context = { tenant, keyId, safety, job, name: 'audio', inlineAudio, fleet, rollouts };
  return request.type === 'workflow' || request.type === 'speech-to-image'
    ? resolveWorkflow(parts, context, request)
    : resolveWork(parts, context, request);
}

/** The job of the Idempotency-Key, for a request that fails: what it names may be gone since it made its job. */
export async function replayOf(
  parts: SubmitParts,
  caller: Caller,
  { idempotency }: RequestIdentity,
): Promise<Submission | undefined> {
  const id = idempotency && (await parts.admitter.replay(idempotency));
  return id && existingJob(parts, caller, { code: 'replay', id });
}

/** Undefined when the job to adopt was deleted. Throws `gone` when the job of the Idempotency-Key was. */
async function existingJob(
  { records, unanswered }: SubmitParts,
  caller: Caller,
  { code: how, id }: Exclude<Admitted['admission'], { code: 'admitted' }>,
): Promise<Submission | undefined> {
  if (how === 'adopted') await unanswered.adopt(caller.tenant, id);
  const record = await records.read(id);
  if (record && record.tenant === caller.tenant) return { record, how };
  if (how === 'adopted') return undefined;
  throw new LehrError('gone', 'The job of this Idempotency-Key no longer exists.');
}

interface Later {
  readonly when: NonNullable<PricedJob['later']>;
  readonly pointer: string;
  /** About, by the clock of this process. */
  readonly delayMs: number;
}

/** Throws `invalid-input` for a request with two times, or one that is too far ahead. */
function laterOf(now: number, { run_at, delay_s }: JobRequest | RetryRequest): Later | undefined {
  if (run_at === undefined) {
    if (delay_s === undefined) return undefined;
    return { when: { inMs: delay_s * 1000 }, pointer: '/delay_s', delayMs: delay_s * 1000 };
  }
  if (delay_s !== undefined)
    throw refusal('invalid-input', [{ pointer: '/delay_s', detail: 'cannot be given together with run_at' }]);
  const at = Date.parse(run_at);
  if (at - now <= MAX_DELAY_S * 1000) return { when: { at }, pointer: '/run_at', delayMs: at - now };
  throw refusal('invalid-input', [
    { pointer: '/run_at', detail: `must be at most ${MAX_DELAY_S / DAY_S} days from now` },
  ]);
}

const DAY_S = 24 * 3600;
const HOUR_MS = 3_600_000;

/** What came with a request must still be there when its job runs, also when that has to wait. */
function checkKept({ outputTtlMs }: Pick<SubmitParts, 'outputTtlMs'>, { pointer, delayMs }: Later): void {
  if (delayMs <= outputTtlMs / 2) return;
  const hours = outputTtlMs / HOUR_MS;
  throw refusal('invalid-input', [
    {
      pointer,
      detail: `must be at most ${hours / 2} hours from now: what is sent inside a request is kept for ${hours} hours`,
    },
  ]);
}

/** Dialects have no field for it, so their jobs and all others that name no class get this one. */
const DEFAULT_CLASS: PriorityClass = 'standard';

/** Throws `invalid-input` for a class above the limit. Without a class the job gets the default, or the limit if that is lower. */
export function priorityOf(
  requested: PriorityClass | undefined,
  { max_priority }: Pick<KeyLimits, 'max_priority'>,
): PriorityClass {
  const allowed = PRIORITY_CLASSES.slice(PRIORITY_CLASSES.indexOf(max_priority));
  if (requested === undefined) return allowed.includes(DEFAULT_CLASS) ? DEFAULT_CLASS : max_priority;
  if (allowed.includes(requested)) return requested;
  throw refusal('invalid-input', [
    { pointer: '/priority', detail: `must be one of: ${allowed.join(', ')}, which this key allows` },
  ]);
}

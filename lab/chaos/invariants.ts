/**
 * Judges a history after the faults are over: every accepted job has reached exactly one end, with one set of outputs and one
 * webhook per event, and nothing is left over. The numbers I1 to I7 are those of lab/faults.md.
 */
import { createHash } from 'node:crypto';
import { vi } from 'vitest';
import { type Job, WebhookBodySchema } from '../../packages/shared/src/index.ts';
import type { Received, WebhookReceiver } from '../../test/support/webhook-receiver.ts';
import type { ChaosWorld } from './chaos-world.ts';
import { type History, isEnded, type Sighting } from './history.ts';
import type { RecordedClient } from './recorded-client.ts';
import { mayBeRemoved, type Period } from './removed-jobs.ts';

export interface JudgeOptions {
  /** For the rest of the queue to be done. */
  readonly drainMs?: number;
  /** Jobs whose loss the fault allows, such as those inside the replication lag. */
  readonly mayBeLost?: (id: string) => boolean;
  /** When Redis was full: jobs that had ended a minute before may have been removed. */
  readonly fullPeriods?: readonly Period[];
  /** Whether a submission without an answer may have made a job. Nobody waits for that job, but it has to end as well. */
  readonly hasUnanswered?: boolean;
  /** Whether the ended jobs are deleted, to see that nothing of them stays in Redis; default true. */
  readonly deletes?: boolean;
  /** For the last webhooks to arrive. */
  readonly settleMs?: number;
  /** Where webhooks went; default: the receiver of the world. */
  readonly receivers?: readonly JudgedWorld['receiver'][];
  /** The callers of other tenants, by the jobs that only they can read. */
  readonly readers?: ReadonlyMap<string, RecordedClient>;
}

export interface Verdict {
  readonly accepted: number;
  readonly succeeded: number;
  /** Gone, and not removed as docs/operating.md says. */
  readonly lost: number;
  /** Removed by the API after their end, because Redis was full. */
  readonly removed: number;
  /** Attempts beyond the first one, of all jobs. */
  readonly repeatedAttempts: number;
  /** What the promise does not allow; empty when all is well. */
  readonly violations: readonly string[];
}

/** What is asked about a world, wherever it runs. */
export interface JudgedWorld
  extends Pick<ChaosWorld, 'history' | 'client' | 'storedObjects' | 'storedOutputs' | 'redisKeys'> {
  readonly receiver: Pick<WebhookReceiver, 'received'>;
}

const SETTLE = { timeout: 120_000, interval: 100 };

export async function judge(world: JudgedWorld, options: JudgeOptions = {}): Promise<Verdict> {
  const { drainMs = 180_000, mayBeLost = () => false, deletes = true, hasUnanswered = false } = options;
  const { receivers = [world.receiver], readers, settleMs = SETTLE.timeout, fullPeriods = [] } = options;
  const { history } = world;
  const clientOf = (id: string): RecordedClient => readers?.get(id) ?? world.client;
  const received = (): Received[] => receivers.flatMap((each) => each.received);
  const violations: string[] = [];
  const jobs: Job[] = [];
  const gone: string[] = [];
  const accepted = new Set(history.accepted);
  const ids = new Set([...accepted, ...(hasUnanswered ? await world.client.list() : [])]);
  for (const id of history.deleted) ids.delete(id);
  await eachOf([...ids], 16, async (id) => {
    try {
      const job = await clientOf(id).ended(id, drainMs);
      if (!job) {
        gone.push(id);
        return;
      }
      jobs.push(job);
      // At once, because links expire.
      await readable(job, violations);
    } catch (error) {
      violations.push(`I1: ${(error as Error).message}`);
    }
  });
  const noted = new Set<Received>();
  noteWebhooks(history, received(), noted);
  const delivered = new Set(eventsIn(received()).map((event) => event.split(' ')[1]));
  const isRemoved = mayBeRemoved(history, fullPeriods, delivered);
  const lost = gone.filter((id) => !isRemoved(id));
  violations.push(
    ...lost.filter((id) => !mayBeLost(id)).map((id) => `I1: the accepted job ${id} is lost`),
    ...doubledJobs(world, jobs),
  );
  const withWebhook = new Set(history.submissions.filter((each) => each.hasWebhook).map(({ id }) => id));
  const events = jobs.filter(({ id }) => withWebhook.has(id)).map(({ id, status }) => `job.${status} ${id}`);
  violations.push(...(await undelivered(received, events, settleMs)));
  noteWebhooks(history, received(), noted);
  violations.push(...severalEnds(history.sightings), ...severalWebhookIds(received()));
  await onlyVisibleOutputs(world, { jobs, lost, timeout: settleMs }, violations);
  violations.push(...overdue(history.sightings));
  if (deletes) await nothingStays(world, { jobs, lost, clientOf }, violations);
  return {
    accepted: accepted.size,
    succeeded: jobs.filter(({ id, status }) => accepted.has(id) && status === 'succeeded').length,
    lost: lost.length,
    removed: gone.length - lost.length,
    repeatedAttempts: jobs.reduce((sum, { attempt }) => sum + Math.max(0, attempt - 1), 0),
    violations,
  };
}

/** Notes what webhooks said that are not noted yet. */
function noteWebhooks(history: History, received: readonly Received[], noted: Set<Received>): void {
  for (const each of received) {
    if (!noted.has(each)) history.saw(jobOfWebhook(each.body), 'webhook');
    noted.add(each);
  }
}

async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const run = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: atOnce }, run));
}

/** I1: an Idempotency-Key that was posted several times made one job. */
function doubledJobs({ history }: JudgedWorld, jobs: readonly Job[]): string[] {
  const existing = new Set(jobs.map(({ id }) => id));
  const ids = new Map<string, Set<string>>();
  for (const { key, id } of history.submissions) {
    if (id !== undefined && existing.has(id)) ids.set(key, (ids.get(key) ?? new Set()).add(id));
  }
  return [...ids.values()].flatMap((each) =>
    each.size > 1 ? [`I1: one Idempotency-Key made the jobs ${[...each].join(', ')}`] : [],
  );
}

/** I2 and I3: a job was seen in two ends, or with two sets of outputs. */
function severalEnds(sightings: readonly Sighting[]): string[] {
  const ends = new Map<string, Set<string>>();
  for (const { job } of sightings) {
    if (!isEnded(job)) continue;
    const digests = imagesOf(job).map(({ sha256 }) => sha256);
    const end = [job.status, ...digests, job.output?.text ?? ''].join(' ');
    ends.set(job.id, (ends.get(job.id) ?? new Set()).add(end));
  }
  return [...ends].flatMap(([id, seen]) =>
    seen.size > 1 ? [`I2/I3: the job ${id} was seen as ${[...seen].join(' and as ')}`] : [],
  );
}

/** The pictures of a job, and of the nodes of a workflow. */
const imagesOf = ({ output, nodes = [] }: Job) =>
  [output, ...nodes.map((node) => node.output)].flatMap((each) => each?.images ?? []);

/** I3: each output can be read and has the promised bytes. */
async function readable(job: Job, violations: string[]): Promise<void> {
  for (const { url, sha256 } of imagesOf(job)) {
    const response = await fetch(url);
    const digest = createHash('sha256')
      .update(Buffer.from(await response.arrayBuffer()))
      .digest('hex');
    if (response.status !== 200 || digest !== sha256)
      violations.push(`I3: an output of ${job.id} is not readable as promised (${response.status})`);
  }
}

const jobOfWebhook = (body: string): Job => WebhookBodySchema.parse(JSON.parse(body)).data;

/** I4: an event has one webhook id, however often it was sent. */
function severalWebhookIds(received: readonly Received[]): string[] {
  const ids = new Map<string, Set<string>>();
  for (const { id, body } of received) {
    const event = `${JSON.parse(body).type} of ${jobOfWebhook(body).id}`;
    ids.set(event, (ids.get(event) ?? new Set()).add(id));
  }
  return [...ids].flatMap(([event, each]) =>
    each.size > 1 ? [`I4: the event ${event} has ${each.size} webhook ids`] : [],
  );
}

const isAccepted = ({ answer }: Received): boolean => {
  const status = typeof answer === 'object' ? answer.status : answer;
  return typeof status === 'number' && status >= 200 && status < 300;
};

/** The events that were accepted by their receiver, as `<type> <job id>`. */
const eventsIn = (received: readonly Received[]): string[] => received.filter(isAccepted).map(eventOf);

const knownEvents = new WeakMap<Received, string>();
function eventOf(received: Received): string {
  let event = knownEvents.get(received);
  if (event === undefined) {
    const { type, data } = JSON.parse(received.body);
    event = `${type} ${data.id}`;
    knownEvents.set(received, event);
  }
  return event;
}

/** I4: the ends of the jobs were delivered. */
async function undelivered(
  received: () => readonly Received[],
  events: readonly string[],
  timeout: number,
): Promise<string[]> {
  let missing: readonly string[] = events;
  await vi
    .waitFor(
      () => {
        const arrived = new Set(eventsIn(received()));
        missing = missing.filter((event) => !arrived.has(event));
        if (missing.length > 0) throw new Error('not yet');
      },
      { ...SETTLE, timeout },
    )
    .catch(() => {});
  return missing.map((event) => `I4: the webhook ${event} was not delivered`);
}

/**
 * I5: the store holds the outputs that the jobs show, and no other. Those of lost jobs stay until retention removes them; those of
 * removed jobs go when no link to them is valid.
 */
async function onlyVisibleOutputs(
  world: JudgedWorld,
  { jobs, lost, timeout }: { jobs: readonly Job[]; lost: readonly string[]; timeout: number },
  violations: string[],
): Promise<void> {
  const visible = [...new Set(jobs.flatMap((job) => imagesOf(job).map(({ url }) => keyOfLink(url))))].sort();
  let stored: string[] = [];
  await vi
    .waitFor(
      async () => {
        const all = await world.storedOutputs();
        stored = all.filter((key) => !lost.some((id) => key.includes(id))).sort();
        if (stored.join() !== visible.join()) throw new Error('not yet');
      },
      { ...SETTLE, timeout },
    )
    .catch(() => {
      const extra = stored.filter((key) => !visible.includes(key));
      violations.push(
        `I5: ${stored.length} outputs are stored, ${visible.length} are visible; extra: ${extra}`,
      );
    });
}

const keyOfLink = (url: string): string =>
  decodeURIComponent(/\/(out\/[^?]+)/.exec(new URL(url).pathname)?.[1] ?? url);

/** I6: no job was seen unfinished long after its deadline. */
const OVERDUE_MS = 30_000;
const overdue = (sightings: readonly Sighting[]): string[] =>
  sightings.flatMap(({ at, via, job }) =>
    via === 'answer' &&
    !isEnded(job) &&
    job.deadline_at !== null &&
    at > Date.parse(job.deadline_at) + OVERDUE_MS
      ? [`I6: the job ${job.id} is ${job.status} ${at - Date.parse(job.deadline_at)} ms after its deadline`]
      : [],
  );

interface EndedJobs {
  readonly jobs: readonly Job[];
  readonly lost: readonly string[];
  readonly clientOf: (id: string) => RecordedClient;
}

/** The object that identifies the store is named so. */
const STORE_ID = 'lehr-store/';

/**
 * I7: after the jobs are deleted, no key of Redis names one of them, or a node of one, and the store is empty: it has neither their
 * files nor those of requests that made no job. Those of lost jobs stay until they expire.
 */
async function nothingStays(
  world: JudgedWorld,
  { jobs, lost, clientOf }: EndedJobs,
  violations: string[],
): Promise<void> {
  await eachOf(jobs, 8, ({ id }) => clientOf(id).remove(id));
  const nodes = jobs.flatMap((job) => job.nodes ?? []).map(({ job }) => job);
  const ids = new Set([...world.history.deleted, ...jobs.map(({ id }) => id), ...nodes]);
  let left: string[] = [];
  await vi
    .waitFor(async () => {
      const keys = await world.redisKeys();
      const objects = await world.storedObjects();
      left = [
        ...keys.filter((key) => key.match(/job_[0-9a-z]{26}/g)?.some((id) => ids.has(id))),
        ...objects.filter((key) => !key.startsWith(STORE_ID) && !lost.some((id) => key.includes(id))),
      ];
      if (left.length > 0) throw new Error('not yet');
    }, SETTLE)
    .catch(() =>
      violations.push(`I7: after all jobs were deleted there is still: ${left.slice(0, 5).join(', ')}`),
    );
}

import { Queue } from 'bullmq';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  type JobId,
  newJobId,
  newLeaseToken,
  silentLog,
  systemClock,
} from '../../packages/shared/src/index.ts';
import {
  firstScore,
  Janitor,
  requeueLost,
  WORKFLOW_QUEUE,
  WorkflowRunner,
} from '../../packages/shared/src/queue/index.ts';
import type { ReadyNode } from '../../packages/shared/src/queue/workflow/next.ts';
import type { JobRecord, Move } from '../../packages/shared/src/records/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const SPEECH_QUEUE = 'whisper.ears@1';
const PICTURE_QUEUE = 'diffusion.brush@1.64x64';
const METRICS = {
  queue_ms: 1,
  run_ms: 1,
  total_ms: 2,
  batch_size: 1,
  worker: 'w',
  timings: { queued: 1, fetch: 0, decode: 0, transcribe: 1, store: 0 },
};
const ERROR = { code: 'numeric-error', title: 'x', detail: 'black', retryable: false };

const transcribe = (id: string, after: string[] = []): ReadyNode => ({
  id,
  job: newJobId(),
  type: 'speech-to-text',
  model: 'ears@1',
  queue: SPEECH_QUEUE,
  cost: 1,
  input: { prompt: after.map((each) => `{{${each}.text}}`).join(' ') },
  after,
});
const draw = (id: string, after: string[] = []): ReadyNode => ({
  ...transcribe(id, after),
  type: 'text-to-image',
  model: 'brush@1',
  queue: PICTURE_QUEUE,
});

interface WorkflowWorld extends QueueWorld {
  readonly runner: WorkflowRunner;
  create(nodes: ReadyNode[]): Promise<JobId>;
  /** Claims and starts the next job of a queue, as a worker does. */
  begin(
    queue: string,
  ): Promise<{ record: JobRecord; end(move: Move['move'], fields?: Move['fields']): Promise<void> }>;
  transcriptOf(text: string): Move['fields'];
  imageOf(key: string): Move['fields'];
}

async function workflowWorld(): Promise<WorkflowWorld> {
  const world = await queueWorld(server.url);
  const runner = new WorkflowRunner(world);
  return {
    ...world,
    runner,
    create: async (nodes) => {
      const job = newJob({
        type: 'workflow',
        model: 'workflow@1',
        queue: WORKFLOW_QUEUE,
        input: { nodes },
        workflow: { nodes },
      });
      await runner.create(job);
      return job.id;
    },
    begin: async (queue) => {
      const [claim] = await world.claim(queue, 1);
      const lease = { id: claim.jobId, lease: claim.token };
      const [outcome] = await world.records.apply([
        { move: 'start', ...lease, fields: { worker: world.worker } },
      ]);
      const record = outcome.record as JobRecord;
      if (record.parent) await runner.begin(record.parent);
      return {
        record,
        end: async (move, fields) => {
          await world.records.apply([{ move, ...lease, fields }]);
          if (record.parent) await runner.advance(record.parent);
          const group = world.queues.of(queue);
          await (move === 'succeed' ? group.complete(claim) : group.fail(claim, move));
        },
      };
    },
    transcriptOf: (text) => {
      const transcript = { text, language: 'en', duration: 1, task: 'transcribe', segments: [] };
      return { output: { transcript }, metrics: METRICS };
    },
    imageOf: (key) => {
      const image = { key, content_type: 'image/png', width: 1, height: 1, bytes: 1, sha256: 'x', seed: 1 };
      return { output: { images: [image] }, metrics: METRICS };
    },
  };
}

test('A two-node workflow runs each node in the queue of its model, the second with the transcript of the first', async () => {
  const world = await workflowWorld();
  const id = await world.create([transcribe('listen'), draw('draw', ['listen'])]);
  expect(await world.claim(PICTURE_QUEUE, 1)).toEqual([]);
  expect(await world.records.read(id)).toMatchObject({ state: 'queued' });

  const listening = await world.begin(SPEECH_QUEUE);
  expect(await world.records.read(id)).toMatchObject({ state: 'running' });
  await listening.end('succeed', world.transcriptOf(' A red circle. '));
  const drawing = await world.begin(PICTURE_QUEUE);
  expect(drawing.record).toMatchObject({ input: { prompt: 'A red circle.' }, parent: id, node: 'draw' });
  await drawing.end('succeed', world.imageOf('out/a.png'));

  expect(await world.records.read(id)).toMatchObject({
    state: 'succeeded',
    output: { images: [{ key: 'out/a.png' }], transcript: { text: ' A red circle. ' } },
    metrics: { timings: { queued: expect.any(Number), nodes: expect.any(Number) } },
  });
});

test('Independent nodes run at the same time, and a node that refers to two others waits for both', async () => {
  const world = await workflowWorld();
  const id = await world.create([
    transcribe('a'),
    transcribe('b'),
    draw('both', ['a', 'b']),
    draw('one', ['a']),
  ]);
  const [first, second] = [await world.begin(SPEECH_QUEUE), await world.begin(SPEECH_QUEUE)];
  await first.end('succeed', world.transcriptOf('left'));
  const one = await world.begin(PICTURE_QUEUE);
  expect(one.record.node).toBe('one');
  expect(await world.claim(PICTURE_QUEUE, 1)).toEqual([]);
  await second.end('succeed', world.transcriptOf('right'));
  const both = await world.begin(PICTURE_QUEUE);
  expect(both.record.input).toEqual({ prompt: 'left right' });
  await both.end('succeed', world.imageOf('both.png'));
  expect((await world.records.read(id))?.state).toBe('running');
  await one.end('succeed', world.imageOf('one.png'));
  const record = await world.records.read(id);
  expect(record?.state === 'succeeded' && record.output.images.map(({ key }) => key)).toEqual([
    'both.png',
    'one.png',
  ]);
});

test('A failed node fails the workflow with its error and stops the other nodes; finished outputs stay readable', async () => {
  const world = await workflowWorld();
  const nodes = [transcribe('a'), transcribe('b'), transcribe('c'), draw('d', ['b'])];
  const id = await world.create(nodes);
  const [a, b] = [await world.begin(SPEECH_QUEUE), await world.begin(SPEECH_QUEUE)];
  await a.end('succeed', world.transcriptOf('kept'));
  await b.end('fail', { error: ERROR });
  expect(await world.records.read(id)).toMatchObject({
    state: 'failed',
    error: { code: 'node-failed', detail: 'Node b failed (numeric-error): black', retryable: false },
  });
  expect(await world.records.read(nodes[0].job)).toMatchObject({
    state: 'succeeded',
    output: { transcript: { text: 'kept' } },
  });
  expect(await world.records.read(nodes[2].job)).toMatchObject({ state: 'canceled' });
  expect(await world.records.read(nodes[3].job)).toBeUndefined();
  expect(await world.claim(SPEECH_QUEUE, 1)).toEqual([]);
});

test('Cancelling a workflow cancels its waiting nodes and asks the workers of running ones', async () => {
  const world = await workflowWorld();
  const nodes = [transcribe('a'), transcribe('b'), draw('c', ['a'])];
  const id = await world.create(nodes);
  const running = await world.begin(SPEECH_QUEUE);
  expect(await world.records.apply([{ move: 'cancel', id }])).toMatchObject([
    { code: 'ok', state: 'canceled' },
  ]);
  await world.runner.advance(id);
  expect(await world.records.read(nodes[1].job)).toMatchObject({ state: 'canceled' });
  expect(await world.records.read(running.record.id)).toMatchObject({
    state: 'running',
    cancel_requested: '1',
  });
  await running.end('cancel');
  expect(await world.records.read(nodes[2].job)).toBeUndefined();
});

test('A workflow is a flow in BullMQ, and the flow is closed when the last node has ended', async () => {
  const world = await workflowWorld();
  const flows = new Queue(WORKFLOW_QUEUE, { connection: world.redis, prefix: world.keys.prefix });
  onTestFinished(() => flows.close());
  const good = await world.create([transcribe('a'), draw('b', ['a'])]);
  expect(await flows.getJobCounts('waiting-children', 'prioritized')).toMatchObject({
    'waiting-children': 1,
  });
  await (await world.begin(SPEECH_QUEUE)).end('succeed', world.transcriptOf('x'));
  expect(await flows.getJobCounts('waiting-children')).toEqual({ 'waiting-children': 1 });
  await (await world.begin(PICTURE_QUEUE)).end('succeed', world.imageOf('x'));
  const bad = await world.create([transcribe('a')]);
  await (await world.begin(SPEECH_QUEUE)).end('fail', { error: ERROR });
  await world.runner.sweep();
  expect(await flows.getJobState(good)).toBe('completed');
  expect(await flows.getJobState(bad)).toBe('failed');
});

test('A workflow whose worker died right after a node continues at the next round of the janitor', async () => {
  const world = await workflowWorld();
  const id = await world.create([transcribe('a'), draw('b', ['a'])]);
  const [claim] = await world.claim(SPEECH_QUEUE, 1);
  const lease = newLeaseToken(world.worker);
  await world.records.apply([
    { move: 'start', id: claim.jobId, lease, fields: { worker: 'w' } },
    { move: 'succeed', id: claim.jobId, lease, fields: world.transcriptOf('late') },
  ]);
  // The worker is killed here, before it advances the workflow.
  const options = { everyMs: 60_000, reconcileEveryMs: 60_000, clock: systemClock, log: silentLog };
  await new Janitor({ ...world, ...options }).round();
  const drawing = await world.begin(PICTURE_QUEUE);
  expect(drawing.record).toMatchObject({ parent: id, input: { prompt: 'late' } });
});

test('The reconciler advances a workflow that was not marked as due, and requeues a node that is missing from its queue', async () => {
  const world = await workflowWorld();
  const nodes = [transcribe('a')];
  const id = await world.create(nodes);
  await world.redis.del(world.keys.workflows);
  const [claim] = await world.claim(SPEECH_QUEUE, 1);
  await world.queues.of(SPEECH_QUEUE).handBack(claim, firstScore('standard'));
  await world.queues.of(SPEECH_QUEUE).remove(nodes[0].job);
  const later = (await redisNow(world.redis)) + 60_000;
  expect(await requeueLost(world.redis, world.keys, world.queues, world.records, later)).toEqual([
    nodes[0].job,
  ]);
  await world.runner.sweep();
  await (await world.begin(SPEECH_QUEUE)).end('succeed', world.transcriptOf('found'));
  expect(await world.records.read(id)).toMatchObject({ state: 'succeeded' });
});

test('Every node is made once, even if many processes advance the workflow at once', async () => {
  const world = await workflowWorld();
  const id = await world.create([transcribe('a'), draw('b', ['a'])]);
  await (await world.begin(SPEECH_QUEUE)).end('succeed', world.transcriptOf('x'));
  await Promise.all(Array.from({ length: 20 }, () => world.runner.advance(id)));
  expect(await world.claim(PICTURE_QUEUE, 5)).toHaveLength(1);
});

test('A workflow can be cancelled, and can end, while its flow is being closed', async () => {
  const world = await workflowWorld();
  const ids: JobId[] = [];
  for (const _ of ['cancelled', 'done']) {
    const id = await world.create([transcribe('a')]);
    await world.runner.begin(id);
    ids.push(id);
    // A janitor holds the lease on its flow.
    await world.redis.set(`${world.keys.prefix}:${WORKFLOW_QUEUE}:${id}:lock`, 'a janitor');
  }
  const [cancelled, done] = ids;
  expect(await world.records.apply([{ move: 'cancel', id: cancelled }])).toMatchObject([
    { code: 'ok', state: 'canceled' },
  ]);
  const [claim] = (await world.claim(SPEECH_QUEUE, 2)).slice(-1);
  const lease = { id: claim.jobId, lease: claim.token };
  await world.records.apply([
    { move: 'start', ...lease, fields: { worker: world.worker } },
    { move: 'succeed', ...lease, fields: world.transcriptOf('x') },
  ]);
  await world.runner.advance(done);
  expect(await world.records.read(done)).toMatchObject({ state: 'succeeded' });
});

test('The nodes of a workflow whose API died right after cancelling it are stopped at the next round of the janitor', async () => {
  const world = await workflowWorld();
  const nodes = [transcribe('a'), transcribe('b')];
  const id = await world.create(nodes);
  await world.runner.sweep();
  // The API is killed here, before it advances the workflow.
  await world.records.apply([{ move: 'cancel', id }]);
  await world.runner.sweep();
  expect(await world.records.readMany(nodes.map(({ job }) => job))).toMatchObject([
    { state: 'canceled' },
    { state: 'canceled' },
  ]);
});

test('A node that is started while its workflow is cancelled is stopped again', async () => {
  const world = await workflowWorld();
  const nodes = [transcribe('a'), draw('b', ['a'])];
  const id = await world.create(nodes);
  const listening = await world.begin(SPEECH_QUEUE);
  await world.records.apply([
    {
      move: 'succeed',
      id: listening.record.id,
      lease: listening.record.state === 'running' ? listening.record.lease : undefined,
      fields: world.transcriptOf('x'),
    },
  ]);
  // `advance` reads an unfinished workflow, and starts the node after the workflow was cancelled.
  const readMany = world.records.readMany.bind(world.records);
  world.records.readMany = async (ids) => {
    world.records.readMany = readMany;
    const read = await readMany(ids);
    await world.records.apply([{ move: 'cancel', id }]);
    await world.runner.advance(id);
    return read;
  };
  await world.runner.advance(id);
  expect(await world.records.read(nodes[1].job)).toMatchObject({ state: 'canceled' });
  expect(await world.redis.zcard(world.keys.liveOf(listening.record.tenant))).toBe(0);
});

test.each(['succeed', 'fail', 'expire', 'requeue'] as const)(
  'A node whose workflow has ended is canceled, also when its worker reports that it did %s',
  async (move) => {
    const world = await workflowWorld();
    const id = await world.create([transcribe('a')]);
    const { record } = await world.begin(SPEECH_QUEUE);
    await world.records.apply([{ move: 'cancel', id }]);
    const fields = move === 'fail' ? { error: ERROR } : world.transcriptOf('too late');
    const lease = record.state === 'running' ? record.lease : undefined;
    const [outcome] = await world.records.apply([{ move, id: record.id, lease, fields }]);
    expect(outcome).toMatchObject({ code: 'overtaken', state: 'canceled' });
    const node = await world.records.read(record.id);
    expect(node).toMatchObject({ state: 'canceled' });
    expect(node).not.toHaveProperty('output');
  },
);

test('The record of a node that ended early is kept as long as the record of its workflow', async () => {
  const world = await workflowWorld();
  const nodes = [transcribe('a'), transcribe('b', ['a'])];
  const id = await world.create(nodes);
  await (await world.begin(SPEECH_QUEUE)).end('succeed', world.transcriptOf('early'));
  const { redis, keys } = world;
  // As if the first node had ended long before the second one.
  await redis.pexpire(keys.record(nodes[0].job), 5000);
  await (await world.begin(SPEECH_QUEUE)).end('succeed', world.transcriptOf('late'));
  const [ofNode, ofWorkflow] = await Promise.all([
    redis.pttl(keys.record(nodes[0].job)),
    redis.pttl(keys.record(id)),
  ]);
  expect(ofNode).toBeGreaterThan(ofWorkflow - 1000);
});

test('Nothing stays in the queue of a workflow whose record was deleted before its flow was closed', async () => {
  const world = await workflowWorld();
  const { redis, keys, records, runner } = world;
  const id = await world.create([transcribe('a')]);
  await records.apply([{ move: 'cancel', id }]);
  await runner.advance(id);
  expect(await redis.exists(`${keys.prefix}:${WORKFLOW_QUEUE}:${id}`)).toBe(1);
  await redis.del(keys.record(id));
  await runner.sweep();
  expect(await redis.keys(`*${id}*`)).toEqual([]);
});

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
  Janitor,
  requeueLost,
  WORKFLOW_QUEUE,
  WorkflowRunner,
} from '../../packages/shared/src/queue/index.ts';
import type { JobRecord, Move, WorkflowState } from '../../packages/shared/src/records/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const EARS = 'whisper.ears@1';
const BRUSH = 'diffusion.brush@1.64x64';
const METRICS = {
  queue_ms: 1,
  run_ms: 1,
  total_ms: 2,
  batch_size: 1,
  worker: 'w',
  timings: { queued: 1, fetch: 0, decode: 0, transcribe: 1, store: 0 },
};
const ERROR = { code: 'numeric-error', title: 'x', detail: 'black', retryable: false };

const hear = (id: string, after: string[] = []): WorkflowState['nodes'][number] => ({
  id,
  job: newJobId(),
  type: 'speech-to-text',
  model: 'ears@1',
  queue: EARS,
  cost: 1,
  input: { prompt: after.map((each) => `{{${each}.text}}`).join(' ') },
  after,
});
const draw = (id: string, after: string[] = []): WorkflowState['nodes'][number] => ({
  ...hear(id, after),
  type: 'text-to-image',
  model: 'brush@1',
  queue: BRUSH,
});

interface WorkflowWorld extends QueueWorld {
  readonly runner: WorkflowRunner;
  create(nodes: WorkflowState['nodes']): Promise<JobId>;
  /** Claims and starts the next job of a queue, as a worker does. */
  begin(
    queue: string,
  ): Promise<{ record: JobRecord; end(move: Move['move'], fields?: Move['fields']): Promise<void> }>;
  said(text: string): Move['fields'];
  drawn(key: string): Move['fields'];
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
        workflow: { weight: 1, nodes },
      });
      await runner.create(job);
      return job.id;
    },
    begin: async (queue) => {
      const [claim] = await world.claimer.claim(queue, 1);
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
    said: (text) => {
      const transcript = { text, language: 'en', duration: 1, task: 'transcribe', segments: [] };
      return { output: { transcript }, metrics: METRICS };
    },
    drawn: (key) => {
      const image = { key, content_type: 'image/png', width: 1, height: 1, bytes: 1, sha256: 'x', seed: 1 };
      return { output: { images: [image] }, metrics: METRICS };
    },
  };
}

test('words become a picture: each node runs in the queue of its model, the second with what the first heard', async () => {
  const world = await workflowWorld();
  const id = await world.create([hear('listen'), draw('draw', ['listen'])]);
  expect(await world.claimer.claim(BRUSH, 1)).toEqual([]);
  expect(await world.records.read(id)).toMatchObject({ state: 'queued' });

  const listening = await world.begin(EARS);
  expect(await world.records.read(id)).toMatchObject({ state: 'running' });
  await listening.end('succeed', world.said(' A red circle. '));
  const drawing = await world.begin(BRUSH);
  expect(drawing.record).toMatchObject({ input: { prompt: 'A red circle.' }, parent: id, node: 'draw' });
  await drawing.end('succeed', world.drawn('out/a.png'));

  expect(await world.records.read(id)).toMatchObject({
    state: 'succeeded',
    output: { images: [{ key: 'out/a.png' }], transcript: { text: ' A red circle. ' } },
    metrics: { timings: { queued: expect.any(Number), nodes: expect.any(Number) } },
  });
});

test('nodes that need nothing from one another run side by side, a node that needs two waits for both', async () => {
  const world = await workflowWorld();
  const id = await world.create([hear('a'), hear('b'), draw('both', ['a', 'b']), draw('one', ['a'])]);
  const [first, second] = [await world.begin(EARS), await world.begin(EARS)];
  await first.end('succeed', world.said('left'));
  const one = await world.begin(BRUSH);
  expect(one.record.node).toBe('one');
  expect(await world.claimer.claim(BRUSH, 1)).toEqual([]);
  await second.end('succeed', world.said('right'));
  const both = await world.begin(BRUSH);
  expect(both.record.input).toEqual({ prompt: 'left right' });
  await both.end('succeed', world.drawn('both.png'));
  expect((await world.records.read(id))?.state).toBe('running');
  await one.end('succeed', world.drawn('one.png'));
  const record = await world.records.read(id);
  expect(record?.state === 'succeeded' && record.output.images.map(({ key }) => key)).toEqual([
    'both.png',
    'one.png',
  ]);
});

test('a node that fails ends the whole with its error, stops the others, and leaves what was done readable', async () => {
  const world = await workflowWorld();
  const nodes = [hear('a'), hear('b'), hear('c'), draw('d', ['b'])];
  const id = await world.create(nodes);
  const [a, b] = [await world.begin(EARS), await world.begin(EARS)];
  await a.end('succeed', world.said('kept'));
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
  expect(await world.claimer.claim(EARS, 1)).toEqual([]);
});

test('cancelling the whole cancels waiting nodes and asks the workers of running ones', async () => {
  const world = await workflowWorld();
  const nodes = [hear('a'), hear('b'), draw('c', ['a'])];
  const id = await world.create(nodes);
  const running = await world.begin(EARS);
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

test('in BullMQ the whole is a flow, and it is closed there when its last node is', async () => {
  const world = await workflowWorld();
  const flows = new Queue(WORKFLOW_QUEUE, { connection: world.redis, prefix: world.keys.prefix });
  onTestFinished(() => flows.close());
  const good = await world.create([hear('a'), draw('b', ['a'])]);
  expect(await flows.getJobCounts('waiting-children', 'prioritized')).toMatchObject({
    'waiting-children': 1,
  });
  await (await world.begin(EARS)).end('succeed', world.said('x'));
  expect(await flows.getJobCounts('waiting-children')).toEqual({ 'waiting-children': 1 });
  await (await world.begin(BRUSH)).end('succeed', world.drawn('x'));
  const bad = await world.create([hear('a')]);
  await (await world.begin(EARS)).end('fail', { error: ERROR });
  await world.runner.sweep();
  expect(await flows.getJobState(good)).toBe('completed');
  expect(await flows.getJobState(bad)).toBe('failed');
});

test('a workflow whose worker died right after a node goes on at the next round of the janitor', async () => {
  const world = await workflowWorld();
  const id = await world.create([hear('a'), draw('b', ['a'])]);
  const [claim] = await world.claimer.claim(EARS, 1);
  const lease = newLeaseToken(world.worker);
  await world.records.apply([
    { move: 'start', id: claim.jobId, lease, fields: { worker: 'w' } },
    { move: 'succeed', id: claim.jobId, lease, fields: world.said('late') },
  ]);
  // The worker is killed here: nobody advances the workflow.
  const options = { everyMs: 60_000, reconcileEveryMs: 60_000, clock: systemClock, log: silentLog };
  await new Janitor({ ...world, ...options }).round();
  const drawing = await world.begin(BRUSH);
  expect(drawing.record).toMatchObject({ parent: id, input: { prompt: 'late' } });
});

test('a workflow that nobody was told of is found by the reconciler, and a node that fell out of its queue comes back', async () => {
  const world = await workflowWorld();
  const nodes = [hear('a')];
  const id = await world.create(nodes);
  await world.redis.del(world.keys.workflows);
  const [claim] = await world.claimer.claim(EARS, 1);
  await world.queues.of(EARS).handBack(claim);
  await world.queues.of(EARS).remove(nodes[0].job);
  const later = (await redisNow(world.redis)) + 60_000;
  expect(await requeueLost(world.redis, world.keys, world.queues, world.records, later)).toEqual([
    nodes[0].job,
  ]);
  await world.runner.sweep();
  await (await world.begin(EARS)).end('succeed', world.said('found'));
  expect(await world.records.read(id)).toMatchObject({ state: 'succeeded' });
});

test('however many advance a workflow at once, every node is made once', async () => {
  const world = await workflowWorld();
  const id = await world.create([hear('a'), draw('b', ['a'])]);
  await (await world.begin(EARS)).end('succeed', world.said('x'));
  await Promise.all(Array.from({ length: 20 }, () => world.runner.advance(id)));
  expect(await world.claimer.claim(BRUSH, 5)).toHaveLength(1);
});

test('a workflow can be called off, and can end, in the moment in which its flow is being closed', async () => {
  const world = await workflowWorld();
  const held: JobId[] = [];
  for (const _ of ['called off', 'done']) {
    const id = await world.create([hear('a')]);
    await world.runner.begin(id);
    held.push(id);
    // Its flow is in the hands of a janitor.
    await world.redis.set(`${world.keys.prefix}:${WORKFLOW_QUEUE}:${id}:lock`, 'a janitor');
  }
  const [calledOff, done] = held;
  expect(await world.records.apply([{ move: 'cancel', id: calledOff }])).toMatchObject([
    { code: 'ok', state: 'canceled' },
  ]);
  const [claim] = (await world.claimer.claim(EARS, 2)).slice(-1);
  const lease = { id: claim.jobId, lease: claim.token };
  await world.records.apply([
    { move: 'start', ...lease, fields: { worker: world.worker } },
    { move: 'succeed', ...lease, fields: world.said('x') },
  ]);
  await world.runner.advance(done);
  expect(await world.records.read(done)).toMatchObject({ state: 'succeeded' });
});

test('the nodes of a workflow whose API died right after it was called off are stopped at the next round', async () => {
  const world = await workflowWorld();
  const nodes = [hear('a'), hear('b')];
  const id = await world.create(nodes);
  await world.runner.sweep();
  // The API is killed here: nobody advances the workflow.
  await world.records.apply([{ move: 'cancel', id }]);
  await world.runner.sweep();
  expect(await world.records.readMany(nodes.map(({ job }) => job))).toMatchObject([
    { state: 'canceled' },
    { state: 'canceled' },
  ]);
});

test('a node that is started while its workflow is called off is stopped again', async () => {
  const world = await workflowWorld();
  const nodes = [hear('a'), draw('b', ['a'])];
  const id = await world.create(nodes);
  const listening = await world.begin(EARS);
  await world.records.apply([
    {
      move: 'succeed',
      id: listening.record.id,
      lease: listening.record.state === 'running' ? listening.record.lease : undefined,
      fields: world.said('x'),
    },
  ]);
  // It has read that the workflow goes on, and starts the node after somebody has called the workflow off.
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

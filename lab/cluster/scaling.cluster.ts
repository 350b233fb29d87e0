/**
 * A load wave on a control plane with KEDA and Karpenter: a real Lehr API and Redis, worker processes that start and end as the cluster
 * decides, and nodes that come and go with them. At its height one node is interrupted, as by the notice of a spot instance.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { NewApiKeySchema, ScaleSchema } from '../../packages/shared/src/index.ts';
import { simulatedWorker } from '../../test/support/start-simulated-worker.ts';
import { tempFolder } from '../../test/support/tiny-models.ts';
import { type ChaosWorld, chaosWorld, LONG_LEASE, SLOW_STEPS } from '../chaos/chaos-world.ts';
import { judge } from '../chaos/invariants.ts';
import { Bridge } from './bridge.ts';
import { clusterProxy } from './cluster-proxy.ts';
import { ControlPlane } from './control-plane.ts';
import { NODE_CLAIMS, type NodeClaim, onKwok, startKarpenter } from './karpenter.ts';
import { startKeda } from './keda.ts';
import type { KubeItem, Watch } from './kube.ts';
import { nodes } from './nodes.ts';
import {
  applyDefinitions,
  example,
  install,
  karpenterNodes,
  makeNamespace,
  NAMESPACE,
  type Pod,
  pathOf,
  serves,
} from './objects.ts';
import { record } from './results.ts';
import { setting } from './settings.ts';
import { BRIDGED_POOL, stages } from './stages.ts';
import { TimelineRecord } from './timeline.ts';
import { figuresOf } from './timeline-figures.ts';

const WORKERS = 4;
const SERVICE = 'lehr-api.lehr.svc:8080';
/** Shorter times than those of the example, so that a run takes minutes. */
const POOLS = `pools:
  - name: ${BRIDGED_POOL}
    tasks: [diffusion]
    max: ${WORKERS}
    target_wait_s: { interactive: 1, standard: 1, bulk: 1 }
    start_s: 5
    shrink_after_s: 20
    zero_after_s: 30
  - name: t4-speech
    tasks: [whisper, text]
    max: 4
`;
/** Shorter than a job of the interruption takes, so that its jobs are handed over. */
const DRAIN_MS = 4000;
const MINUTES_6 = 360_000;

const plane = new ControlPlane();
beforeAll(async () => {
  await plane.start();
  await plane.startControllers(stages(setting('CLUSTER_STAGES'), { playsWorkers: false }));
  await applyDefinitions(plane);
  await plane.apply('nodes', nodes({ gpus: 0 }));
  await startKarpenter(plane);
});
afterAll(() => plane.stop());

test('A load wave takes workers and nodes from 0 to 4 and back to 0 over a spot interruption; no job is lost, no attempt spent', async () => {
  const world = await chaosWorld({ env: { LEHR_POOLS: await poolsFile() } });
  const proxy = await clusterProxy((host) => (host === SERVICE ? world.url : undefined));
  onTestFinished(() => proxy.close());
  await startKeda(plane, proxy.url);
  const parts = await watched(world);
  await secretOfKeda(world);
  await install(plane, onKwok(`${example('aws')}\n---\n${karpenterNodes()}`));
  const { pods, claims, bridge } = parts;
  // The pods of the new Deployments come first, until KEDA has asked Lehr.
  await plane.until('KEDA asks Lehr', async () => proxy.requests() > 2);
  await pods.until('no worker without work', (all) => all.length === 0, MINUTES_6);
  await claims.until('no node without workers', (all) => all.length === 0, MINUTES_6);

  const line = new TimelineRecord(() => sampled(world, parts));
  onTestFinished(() => void line.stop());
  line.mark('load wave begins');
  const load = startWave(world);
  await pods.until('four workers serve', (all) => all.filter(serves).length === WORKERS, MINUTES_6);
  line.mark('four workers serve');

  const { webhook, client } = world;
  const long = await client.submitMany(16, () => ({ webhook, input: { steps: 500 } }));
  await client.reached(long, 'running');
  const [claim] = claims.items;
  const node = claim.status?.nodeName;
  const story = bridge.stories.find((each) => each.node === node && each.endedAt === undefined);
  expect(story, `the worker on ${node}`).toBeDefined();
  line.mark('spot interruption');
  const status = await plane.kube.send('DELETE', `${NODE_CLAIMS}/${claim.metadata.name}`, {});
  expect(status.status).toBe(200);
  await claims.until('the interrupted node is gone', (all) =>
    all.every(({ metadata }) => metadata.uid !== claim.metadata.uid),
  );
  line.mark('node gone');
  expect(story).toMatchObject({ exit: 0 });
  await pods.until('its worker is replaced', (all) => all.filter(serves).length === WORKERS, MINUTES_6);
  line.mark('worker replaced');

  await load.stop();
  line.mark('load ends');
  const verdict = await judge(world, { deletes: false });
  line.mark('last job ends');
  await pods.until('no workers', (all) => all.length === 0, MINUTES_6);
  line.mark('no workers');
  await claims.until('no nodes', (all) => all.length === 0, MINUTES_6);
  line.mark('no nodes');
  const timeline = line.stop();
  plane.check();
  const kept = { ...timeline, stories: bridge.stories, verdict };
  await writeFile(join(plane.folder, 'timeline.json'), JSON.stringify(kept));
  expect(bridge.faults).toEqual([]);
  expect(verdict).toMatchObject({ lost: 0, repeatedAttempts: 0, violations: [] });
  expect(verdict.succeeded).toBe(verdict.accepted);
  expect(bridge.counts.processes).toBe(0);
  expect(Math.max(...timeline.samples.map((each) => each.nodes))).toBeGreaterThanOrEqual(WORKERS);
  record('timeline', timeline);
  record('scaling', figuresOf(timeline, bridge.stories, { verdict, interrupted: story?.pod ?? '' }));
});

async function poolsFile(): Promise<string> {
  const path = join(await tempFolder('pools'), 'pools.yaml');
  await writeFile(path, POOLS);
  return path;
}

interface Parts {
  readonly pods: Watch<Pod>;
  readonly claims: Watch<NodeClaim>;
  readonly nodes: Watch<KubeItem>;
  readonly bridge: Bridge;
}

async function watched({ redis, namespace, home, modelsFile }: ChaosWorld): Promise<Parts> {
  const { kube } = plane;
  const query = new URLSearchParams({ labelSelector: `lehr.dev/pool=${BRIDGED_POOL}` });
  const pods = await kube.watch<Pod>(`${pathOf('pods')}?${query}`);
  const where = { redisUrl: redis.url, namespace, home, modelsFile };
  const how = { ...LONG_LEASE, latency: SLOW_STEPS, rowCap: 4, drainMs: DRAIN_MS };
  const { program, settings } = await simulatedWorker({ ...where, ...how });
  const bridge = new Bridge({ kube, pods, command: [process.execPath, program, settings] });
  onTestFinished(() => bridge.stop());
  return {
    pods,
    bridge,
    claims: await kube.watch<NodeClaim>(NODE_CLAIMS),
    nodes: await kube.watch<KubeItem>(
      `/api/v1/nodes?${new URLSearchParams({ labelSelector: 'lehr.dev/node=gpu' })}`,
    ),
  };
}

/** As docs/kubernetes.md says: a key of Lehr that can only read these numbers. */
async function secretOfKeda({ client }: ChaosWorld): Promise<void> {
  const answer = await client.ask('POST', '/v1/keys', { tenant: 'keda', name: 'KEDA', scopes: ['scale'] });
  const { key } = NewApiKeySchema.parse(await answer.json());
  await makeNamespace(plane);
  const args = ['create', 'secret', 'generic', 'lehr-scale', `--from-literal=token=${key}`];
  expect(await plane.kubectl('-n', NAMESPACE, ...args)).toMatchObject({ code: 0 });
}

interface Wave {
  stop(): Promise<void>;
}

/** Callers that have 24 jobs of about four seconds in the queue, until the wave is stopped. */
function startWave({ client, webhook }: ChaosWorld): Wave {
  let isOver = false;
  const call = async (): Promise<void> => {
    while (!isOver) {
      const id = await client.submitUntilAccepted({ webhook, input: { steps: 100 } });
      await client.ended(id, MINUTES_6);
    }
  };
  const callers = Promise.all(Array.from({ length: 24 }, call));
  callers.catch(() => {});
  return {
    stop: async () => {
      isOver = true;
      await callers;
    },
  };
}

async function sampled({ client }: ChaosWorld, { pods, nodes: all, bridge }: Parts) {
  const scale = ScaleSchema.parse(await (await client.ask('GET', `/v1/scale/${BRIDGED_POOL}`)).json());
  const queues = (await (await client.ask('GET', '/v1/queues')).json()) as { data: { waiting: number }[] };
  const kept = pods.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const { processes, serving } = bridge.counts;
  return {
    waitingJobs: queues.data.reduce((sum, { waiting }) => sum + waiting, 0),
    runningJobs: scale.running_jobs,
    desired: scale.desired_workers,
    pods: kept.length,
    readyPods: kept.filter(serves).length,
    processes,
    serving,
    nodes: all.items.length,
  };
}

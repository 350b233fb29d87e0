/** What the chart does on a real node: installed as the page says, then disturbed while jobs run. */
import { expect } from 'vitest';
import { JobSchema } from '../../packages/shared/src/index.ts';
import { blocksOf, readText } from '../../test/repo/readme.ts';
import { JOBS, PROMPT, type Scene } from '../scene.ts';
import {
  killContainer,
  kubectl,
  podsOf,
  readyAgain,
  restartsOf,
  S3,
  seconds,
  shell,
  valuesWith,
} from './kubelet-world.ts';
import { serves } from './objects.ts';
import { NEXT_TAG, NODE } from './real-node.ts';

const VALUES = /-f \S+trial\.yaml/g;
const blocks = blocksOf(readText('docs/kubernetes.md')).filter(({ language }) => language === 'sh');
const page = (label: string): string[] =>
  blocks.filter((block) => block.label === label).map(({ text }) => text);

/** The last command of the page's upgrade, with further values. */
async function upgrade(more?: Readonly<Record<string, unknown>>): Promise<void> {
  const [, command] = /\n(helm upgrade .*\n)$/.exec(page('upgrade')[0]) ?? [];
  await shell(command.replace(VALUES, valuesWith(more)).replace(/\n$/, ' --wait --timeout 10m'));
}

export async function installed(): Promise<string> {
  const began = performance.now();
  for (const text of page('install'))
    await shell(text.replaceAll('lehr-secrets.yaml', '"$TMPDIR/secrets.yaml"'));
  const pods = JSON.parse(await kubectl('get', 'pods', '-o', 'json')).items as {
    metadata: { name: string };
  }[];
  return `all Deployments are available after ${seconds(began)} s; ${pods.length} pods`;
}

/** The first two commands of the page that need containers: `helm test`, and a job through port-forward. */
export async function firstJob(): Promise<string> {
  const [test, submit] = page('running');
  const began = performance.now();
  await shell(test);
  const tested = seconds(began);
  // Whoever types the lines sees when a port is open.
  const open =
    '$1 > /dev/null &\nuntil curl --silent --output /dev/null http://127.0.0.1:$2; do sleep 0.2; done';
  const answer = await shell(submit.replaceAll(/^(kubectl .*port-forward.* (\d+)) &$/gm, open));
  return `helm test ends after ${tested} s; lehr submit: ${answer.trim().split('\n').at(-1)?.trim().replace(/\?\S+/, '')}`;
}

/** Other values for three variables of the API: its pods are replaced one by one, with the page's command for an upgrade. */
export async function configured({ client }: Scene): Promise<string> {
  const began = performance.now();
  await upgrade();
  const took = seconds(began);
  const id = await client.submitUntilAccepted({ input: { prompt: PROMPT } });
  const job = await client.ended(id);
  expect(job?.status, JSON.stringify(job?.error)).toBe('succeeded');
  // Over a connection of before, a pod with the old values may answer until it has ended.
  const link = async (): Promise<string> => (await client.read(id))?.output?.images?.[0].url ?? '';
  await expect.poll(link, { timeout: 120_000 }).toContain(S3);
  const picture = await fetch(await link());
  expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
  return `helm upgrade with other values takes ${took} s; the picture is read by its link through the Service of the S3 server`;
}

/** The users and rights that the chart promises, looked at from inside. */
export async function confined(): Promise<string> {
  const look =
    'id -u; touch /lehr/x /x 2>/dev/null && echo writable; grep -E "^(CapBnd|NoNewPrivs|Seccomp):" /proc/self/status | tr -s "\\t" " "';
  const users = { redis: 999, s3: 1000, api: 1000, worker: 1000 };
  for (const [component, user] of Object.entries(users)) {
    const [{ metadata }] = await podsOf(component);
    const said = await kubectl('exec', metadata.name, '--', 'sh', '-c', look);
    expect(said, component).toBe(`${user}\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n`);
  }
  return 'users 999 and 1000, no capability, no new privileges, a seccomp filter, read-only root file systems';
}

export const killed =
  (component: string) =>
  async (scene: Scene): Promise<string> => {
    await scene.running();
    const before = await restartsOf(component);
    await killContainer(component);
    await expect.poll(() => restartsOf(component), { timeout: 120_000 }).toBe(before + 1);
    return `the kubelet started it again; ready after ${await readyAgain()}`;
  };

export const deleted =
  (component: string) =>
  async (scene: Scene): Promise<string> => {
    await scene.running();
    const [{ metadata }] = await podsOf(component);
    const began = performance.now();
    await kubectl('delete', 'pod', metadata.name);
    await expect
      .poll(async () => (await podsOf(component)).filter(serves).length, { timeout: 600_000 })
      .toBeGreaterThan(0);
    return `gone, and another one ready after ${seconds(began)} s; Lehr ready ${await readyAgain()} later`;
  };

/** The pod of Redis is deleted while no worker runs, so all jobs wait, and is the only one that knows of them. */
export async function redisDeleted(scene: Scene): Promise<string> {
  await kubectl('scale', 'deployment/lehr-worker-cpu', '--replicas=0');
  await kubectl('wait', '--for=delete', 'pod', '-l', 'app.kubernetes.io/component=worker', '--timeout=180s');
  const ids = await scene.slowJobs(JOBS);
  const began = performance.now();
  await kubectl('delete', 'pod', 'lehr-redis-0');
  await kubectl('rollout', 'status', 'statefulset/lehr-redis', '--timeout=180s');
  const took = seconds(began);
  await expect
    .poll(async () => (await scene.client.read(ids[0]).catch(() => undefined))?.status)
    .toBe('queued');
  const states = await Promise.all(ids.map(async (id) => (await scene.client.read(id))?.status));
  expect(states).toEqual(ids.map(() => 'queued'));
  await kubectl('scale', 'deployment/lehr-worker-cpu', '--replicas=1');
  return `another Redis is ready after ${took} s and knows all ${ids.length} jobs`;
}

/** The page's upgrade, to the same images under another tag, so that all pods are replaced. */
export async function upgraded(scene: Scene): Promise<string> {
  await scene.running();
  const began = performance.now();
  const [text] = page('upgrade');
  await shell(text.replaceAll(VALUES, valuesWith({ tag: NEXT_TAG })));
  await kubectl('rollout', 'status', 'deployment/lehr-worker-cpu', '--timeout=10m');
  const took = seconds(began);
  const pods = [...(await podsOf('api')), ...(await podsOf('webhooks')), ...(await podsOf('worker'))];
  const images = pods.filter(serves).map(({ spec }) => (spec as unknown as Containers).containers[0].image);
  expect(
    images.every((image) => image.endsWith(`:${NEXT_TAG}`)),
    images.join(),
  ).toBe(true);
  return `first API and webhooks, then workers: all new after ${took} s`;
}

interface Containers {
  readonly containers: readonly { readonly image: string }[];
}

export async function drained(scene: Scene): Promise<string> {
  const { ids } = await scene.running();
  const began = performance.now();
  await kubectl('drain', NODE, '--delete-emptydir-data', '--timeout=10m');
  const took = seconds(began);
  await kubectl('uncordon', NODE);
  const ready = await readyAgain();
  const jobs = await Promise.all(ids.map((id) => scene.client.read(id)));
  return `all pods evicted within their budgets after ${took} s; ready ${ready} after uncordon; attempts of the jobs: ${jobs.map((job) => job?.attempt).join(', ')}`;
}

export async function scaled(scene: Scene): Promise<string> {
  const scale = (count: number): Promise<string> =>
    kubectl('scale', 'deployment/lehr-worker-cpu', `--replicas=${count}`);
  const count = async (): Promise<number> => (await podsOf('worker')).length;
  await scale(0);
  await expect.poll(count, { timeout: 180_000 }).toBe(0);
  const ids = await scene.slowJobs(2 * JOBS);
  expect((await scene.client.read(ids[0]))?.status).toBe('queued');
  const began = performance.now();
  await scale(2);
  await scene.client.reached(ids.slice(0, 1), 'running', 600_000);
  const started = seconds(began);
  const jobs = await Promise.all(ids.map((id) => scene.client.ended(id, 900_000)));
  await scale(0);
  await expect.poll(count, { timeout: 180_000 }).toBe(0);
  await scale(1);
  const workers = new Set(jobs.map((job) => job?.metrics?.worker)).size;
  return `from 0 to 2 workers: the first job runs after ${started} s, ${ids.length} jobs were shared by ${workers} workers; then to 0`;
}

/** Version 2 is the same model in the same folder: a canary of half the callers, which is promoted. */
export async function canary({ client }: Scene): Promise<string> {
  const models = JSON.parse(await shell('helm get values lehr --namespace lehr --all --output json'))
    .models as string;
  const versionOne = /versions: \[(\{ version: "1", path: (\S+demo-diffusion) \})\]/;
  const both = models.replace(versionOne, 'versions: [$1, { version: "2", path: $2, weight: 0 }]');
  expect(both).not.toBe(models);
  await upgrade({ models: both });
  // Each shell has the addresses and the key of the page.
  const lehr = (args: string): Promise<string> =>
    shell(`export LEHR_URL=http://lehr-api.lehr.svc.cluster.local:8080
export LEHR_API_KEY=$(kubectl -n lehr get secret lehr-api -o jsonpath='{.data.LEHR_API_KEY}' | base64 -d)
npx lehr models ${args}`);
  const began = performance.now();
  // The kubelet updates files of a ConfigMap after about a minute.
  await expect
    .poll(
      () =>
        lehr('deploy demo-diffusion@2 --canary 50% --sticky-by job --reason lab').then(
          () => true,
          () => false,
        ),
      {
        timeout: 300_000,
        interval: 3000,
      },
    )
    .toBe(true);
  const known = seconds(began);
  const versions = (count: number): Promise<string[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const fields = { input: { prompt: PROMPT, seed: i } };
        const id = await client.submitUntilAccepted(fields);
        return JobSchema.parse(await client.ended(id)).model;
      }),
    );
  const half = await versions(12);
  await lehr('promote demo-diffusion');
  await expect
    .poll(async () => new Set(await versions(4)).size === 1 && (await versions(1))[0])
    .toBe('demo-diffusion@2');
  await lehr('forget demo-diffusion');
  return `the new models.yaml is in use ${known} s after helm upgrade; of 12 jobs the canary drew ${half.filter((each) => each.endsWith('@2')).length}; after promote it drew all`;
}

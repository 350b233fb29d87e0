/** Lehr as the chart installs it on a real node, and what the scenes do to it. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { expect } from 'vitest';
import type { Received } from '../../test/support/webhook-receiver.ts';
import { run } from '../containers/compose.ts';
import { delivery, type Scene, sceneOn } from '../scene.ts';
import { ControlPlane } from './control-plane.ts';
import { NAMESPACE, type Pod, pathOf, serves } from './objects.ts';
import { ctr, startNode } from './real-node.ts';
import { setting } from './settings.ts';

const API = `http://lehr-api.${NAMESPACE}.svc.cluster.local:8080`;
export const S3 = `http://lehr-s3.${NAMESPACE}.svc.cluster.local:8333`;
const OPERATIONS = `http://lehr-api-operations.${NAMESPACE}.svc.cluster.local:9465`;
const WAIT_MS = 600_000;

export const plane = new ControlPlane(0);
const received: Received[] = [];
let hook = '';

/** As a shell of the operator: kubectl and Helm with the cluster. */
const env = (): NodeJS.ProcessEnv => ({
  KUBECONFIG: plane.kubeconfig,
  PATH: `${setting('CLUSTER_PROGRAMS')}${delimiter}${process.env.PATH}`,
});
/** Runs text of the page. What it leaves in the background, such as port-forward, ends with it. */
export const shell = (text: string): Promise<string> =>
  run('bash', ['-e', '-c', `trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n${text}`], env());
export const kubectl = (...args: string[]): Promise<string> =>
  run('kubectl', ['--namespace', NAMESPACE, ...args], env());

export async function startCluster(): Promise<void> {
  await plane.start();
  await plane.startControllers();
  await startNode(plane);
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push(delivery(request.headers as Record<string, string>, body));
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, setting('NODE_ADDRESS'), resolve));
  server.unref();
  hook = `http://${setting('NODE_ADDRESS')}:${(server.address() as AddressInfo).port}/hook`;
}

/** Added to the values of the page: addresses inside of the cluster, in place of those of port-forward, which ends with its pod. */
const values: Record<string, unknown> = {
  env: { LEHR_PUBLIC_URL: API, LEHR_S3_PUBLIC_ENDPOINT: S3, LEHR_EGRESS_ALLOW: '*' },
};

/** The options of the page for Helm with those of the scenes, which stay for later ones. */
export function valuesWith(more: Readonly<Record<string, unknown>> = {}): string {
  const file = join(setting('CLUSTER_FOLDER'), 'values.yaml');
  writeFileSync(file, JSON.stringify(Object.assign(values, more)));
  return `-f infra/helm/lehr/examples/trial.yaml -f ${file}`;
}

export async function newScene(): Promise<Scene> {
  const secret = async (name: string, key: string): Promise<string> =>
    Buffer.from(await kubectl('get', 'secret', name, '-o', `jsonpath={.data.${key}}`), 'base64').toString();
  const password = await secret('lehr-redis', 'REDIS_OPERATOR_PASSWORD');
  const login = ['--user', 'operator', '--pass', password, '--no-auth-warning'];
  return sceneOn({
    api: API,
    key: await secret('lehr-api', 'LEHR_API_KEY'),
    s3: {
      endpoint: S3,
      id: await secret('lehr-store', 'AWS_ACCESS_KEY_ID'),
      secret: await secret('lehr-store', 'AWS_SECRET_ACCESS_KEY'),
    },
    hook,
    received,
    redisKeys: async () =>
      (await kubectl('exec', 'lehr-redis-0', '--', 'redis-cli', ...login, '--scan'))
        .split('\n')
        .filter(Boolean),
  });
}

export async function podsOf(component: string): Promise<Pod[]> {
  const query = new URLSearchParams({ labelSelector: `app.kubernetes.io/component=${component}` });
  return (await plane.kube.get<{ items: Pod[] }>(`${pathOf('pods')}?${query}`)).items;
}

/** SIGKILL for the first process of the only container of a pod, as when memory is short. */
export async function killContainer(component: string): Promise<void> {
  const [{ metadata }] = (await podsOf(component)).filter(serves);
  const id = await kubectl(
    'get',
    'pod',
    metadata.name,
    '-o',
    'jsonpath={.status.containerStatuses[0].containerID}',
  );
  await ctr(plane, 'tasks', 'kill', '--signal', 'SIGKILL', id.replace('containerd://', ''));
}

/** How often the kubelet has started the container of a pod again. */
export const restartsOf = async (component: string): Promise<number> => {
  const [{ metadata }] = await podsOf(component);
  const path = 'jsonpath={.status.containerStatuses[0].restartCount}';
  return Number(await kubectl('get', 'pod', metadata.name, '-o', path));
};

/** Seconds until the API says that it can take jobs and a worker can run them. */
export async function readyAgain(): Promise<string> {
  const began = performance.now();
  const ready = (): Promise<boolean> =>
    fetch(`${OPERATIONS}/readyz`, { signal: AbortSignal.timeout(5000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(ready, { timeout: WAIT_MS }).toBe(true);
  return `${seconds(began)} s`;
}

export const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(1);

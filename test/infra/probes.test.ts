/** The paths that Kubernetes and Prometheus ask for are answered by the programs. */
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { serveHealth } from '../../apps/worker/src/health.ts';
import { openApiDocument } from '../../infra/local/openapi-document.ts';
import { kustomization } from './kustomizations.ts';
import { ofKind, type Workload, workloads } from './pod-facts.ts';

const { objects } = kustomization('infra/k8s/overlays/aws-g4dn');

function pathsOf(component: string): string[] {
  const found = workloads(objects).filter(
    ({ labels }: Workload) => labels['app.kubernetes.io/component'] === component,
  );
  const probes = found.flatMap(({ pod }) =>
    pod.containers.flatMap(({ startupProbe, livenessProbe, readinessProbe }) => [
      startupProbe,
      livenessProbe,
      readinessProbe,
    ]),
  );
  return [...new Set(probes.flatMap((probe) => probe?.httpGet?.path ?? []))];
}
const metricsPaths = ofKind<{ podMetricsEndpoints: { path: string }[] }>(objects, 'PodMonitor').map(
  ({ spec }) => spec.podMetricsEndpoints[0].path,
);

test('The API has the routes of its probes', async () => {
  const { paths = {} } = (await openApiDocument()) as { paths?: object };
  expect(pathsOf('api')).toEqual(['/healthz', '/readyz']);
  for (const path of [...pathsOf('api'), ...pathsOf('webhooks')]) expect(Object.keys(paths)).toContain(path);
});

test('A worker answers its probes and Prometheus', async () => {
  const server = await serveHealth(0, '127.0.0.1', {
    unreadyReason: async () => undefined,
    metrics: async () => ({ contentType: 'text/plain', text: '' }),
  });
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(pathsOf('worker')).toEqual(['/healthz', '/readyz']);
  for (const path of [...pathsOf('worker'), ...metricsPaths])
    expect((await fetch(`http://127.0.0.1:${port}${path}`)).status, path).toBe(200);
});

/** KEDA's operator and its metrics adapter as processes of a control plane. */
import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/ports.ts';
import { Authority } from './certificates.ts';
import type { ControlPlane } from './control-plane.ts';
import { documents } from './nodes.ts';

const HOST = '127.0.0.1';
const NAMESPACE = 'keda';
const SERVICE = 'keda-metrics-apiserver';

/** `proxy`: the HTTP proxy by which KEDA reaches the Services of the cluster. Resolves when the HPA can read KEDA's metrics. */
export async function startKeda(plane: ControlPlane, proxy: string): Promise<void> {
  const folder = join(plane.folder, 'keda');
  mkdirSync(folder);
  const authority = new Authority(folder, 'ca');
  const { certificate, key } = authority.issue('keda', ['localhost', `${SERVICE}.${NAMESPACE}.svc`]);
  renameSync(certificate, join(folder, 'tls.crt'));
  renameSync(key, join(folder, 'tls.key'));
  const [metrics, port] = [await freePort(), await freePort()];
  const { kubeconfig } = plane;
  const env = {
    KUBECONFIG: kubeconfig,
    POD_NAMESPACE: NAMESPACE,
    KEDA_CLUSTER_OBJECT_NAMESPACE: NAMESPACE,
    // All of them.
    WATCH_NAMESPACE: '',
  };
  await plane.kubectl('create', 'namespace', NAMESPACE);
  plane.run(
    'keda-operator',
    {
      'metrics-bind-address': '0',
      'health-probe-bind-address': '0',
      'metrics-service-bind-address': `${HOST}:${metrics}`,
      'cert-dir': folder,
    },
    { ...env, HTTP_PROXY: proxy },
  );
  plane.run(
    'keda-adapter',
    {
      'metrics-service-address': `${HOST}:${metrics}`,
      'bind-address': HOST,
      'secure-port': port,
      port: await freePort(),
      'cert-dir': folder,
      'tls-cert-file': join(folder, 'tls.crt'),
      'tls-private-key-file': join(folder, 'tls.key'),
      'lister-kubeconfig': kubeconfig,
      'authentication-kubeconfig': kubeconfig,
      'authorization-kubeconfig': kubeconfig,
    },
    env,
  );
  await plane.apply('keda', apiService(port, readFileSync(authority.certificate)));
  await plane.until('the metrics of KEDA', () => isAvailable(plane));
}

interface ApiService {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function isAvailable(plane: ControlPlane): Promise<boolean> {
  const path = '/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.external.metrics.k8s.io';
  const { status } = await plane.kube.get<ApiService>(path);
  return status?.conditions?.some((each) => each.type === 'Available' && each.status === 'True') === true;
}

/** A Service by name leads to the process on the loopback address. */
const apiService = (port: number, authority: Buffer): string =>
  documents([
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: SERVICE, namespace: NAMESPACE },
      spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1beta1.external.metrics.k8s.io' },
      spec: {
        service: { name: SERVICE, namespace: NAMESPACE, port },
        group: 'external.metrics.k8s.io',
        version: 'v1beta1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        caBundle: authority.toString('base64'),
      },
    },
  ]);

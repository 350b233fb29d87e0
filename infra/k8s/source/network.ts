/** Which connections pods may make: none but these. The network plugin of the cluster must enforce NetworkPolicies. */
import { type Component, PORTS, selectorOf } from './names.ts';
import type { KubeObject } from './setting.ts';

const METADATA_SERVICE = '169.254.169.254/32';
/** Namespaces of what observes Lehr have this label: they may read metrics, and Lehr may read their Prometheus and send them traces. */
export const METRICS_LABEL = 'lehr.dev/metrics';

const from = (...components: Component[]): object[] =>
  components.map((component) => ({ podSelector: { matchLabels: selectorOf(component) } }));
const tcp = (...ports: number[]): object[] => ports.map((port) => ({ protocol: 'TCP', port }));
const anyAddress = { ipBlock: { cidr: '0.0.0.0/0', except: [METADATA_SERVICE] } };

interface Rules {
  readonly ingress?: readonly object[];
  readonly egress?: readonly object[];
}

const policy = (component: Component, rules: Rules): KubeObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: `lehr-${component}` },
  spec: { podSelector: { matchLabels: selectorOf(component) }, policyTypes: ['Ingress', 'Egress'], ...rules },
});

const toRedis = { to: from('redis'), ports: tcp(PORTS.redis) };
const toS3 = { to: from('s3'), ports: tcp(PORTS.s3) };
/** A Redis outside the cluster, S3, hubs and the roles of AWS; not the metadata service of the node. */
const toOutside = { to: [anyAddress], ports: tcp(443, PORTS.redis) };
const observers = { namespaceSelector: { matchLabels: { [METRICS_LABEL]: 'true' } } };
const fromMetrics = (port: number): object => ({ from: [observers], ports: tcp(port) });
const toObservers = { to: [observers], ports: tcp(PORTS.prometheus, PORTS.traces) };

export const networkObjects = (): readonly KubeObject[] => [
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'lehr-names' },
    spec: {
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'lehr' } },
      policyTypes: ['Egress'],
      egress: [
        {
          to: [{ namespaceSelector: {}, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }],
          ports: [...tcp(53), { protocol: 'UDP', port: 53 }],
        },
      ],
    },
  },
  policy('api', {
    // Callers come through the load balancer, KEDA from its own namespace; every request needs a key or a signed link.
    ingress: [{ ports: tcp(PORTS.http) }, fromMetrics(PORTS.operations)],
    // Inputs by URL may have any public address; Lehr itself refuses private ones.
    egress: [toRedis, toS3, toObservers, { ...toOutside, ports: tcp(443, 80, PORTS.redis) }],
  }),
  policy('webhooks', {
    ingress: [fromMetrics(PORTS.operations)],
    // Receivers choose their ports.
    egress: [toRedis, toS3, toObservers, { to: [anyAddress] }],
  }),
  policy('worker', {
    ingress: [fromMetrics(PORTS.metrics)],
    egress: [toRedis, toS3, toObservers, { ...toOutside, ports: tcp(443, 80, PORTS.redis) }],
  }),
];

export const redisPolicy = (): KubeObject =>
  policy('redis', {
    ingress: [{ from: from('api', 'webhooks', 'worker'), ports: tcp(PORTS.redis) }],
    egress: [],
  });

/** Pictures are read from it through signed links, so callers reach it too. */
export const s3Policy = (): KubeObject => policy('s3', { ingress: [{ ports: tcp(PORTS.s3) }], egress: [] });

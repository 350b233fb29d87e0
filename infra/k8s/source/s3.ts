/** An S3 server for clusters without one: the same as in compose.yaml. */
import { PORTS, SECRETS, selectorOf } from './names.ts';
import { CONTAINER_SECURITY, POD_BASICS, podSecurity, USERS } from './pods.ts';
import type { KubeObject } from './setting.ts';

const IMAGE = 'chrislusf/seaweedfs:4.47';
const DISK = '50Gi';

const credential = (key: string): object => ({
  name: key,
  valueFrom: { secretKeyRef: { name: SECRETS.store.name, key } },
});

export const s3Objects = (): readonly KubeObject[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'lehr-s3', labels: selectorOf('s3') },
    spec: { selector: selectorOf('s3'), ports: [{ name: 's3', port: PORTS.s3, targetPort: 's3' }] },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'lehr-s3', labels: selectorOf('s3') },
    spec: {
      serviceName: 'lehr-s3',
      replicas: 1,
      selector: { matchLabels: selectorOf('s3') },
      template: {
        metadata: { labels: selectorOf('s3') },
        spec: {
          ...POD_BASICS,
          priorityClassName: 'lehr-data',
          securityContext: podSecurity(USERS.node),
          containers: [container],
          volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '1Gi' } }],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: DISK } } },
        },
      ],
    },
  },
];

const container = {
  name: 's3',
  image: IMAGE,
  // The program itself, because the image's start script expects to be root.
  command: ['weed'],
  args: [
    'server',
    '-dir=/data',
    '-volume.max=0',
    '-master.volumeSizeLimitMB=1024',
    // Only S3 asks for credentials, so the other parts listen on loopback. It makes the bucket at the first write.
    '-ip=127.0.0.1',
    '-ip.bind=127.0.0.1',
    '-s3',
    '-s3.ip.bind=0.0.0.0',
    '-s3.port.iceberg=0',
    '-master.telemetry=false',
  ],
  env: [credential('AWS_ACCESS_KEY_ID'), credential('AWS_SECRET_ACCESS_KEY')],
  ports: [{ name: 's3', containerPort: PORTS.s3 }],
  resources: { requests: { cpu: '250m', memory: '512Mi' }, limits: { memory: '2Gi' } },
  securityContext: CONTAINER_SECURITY,
  readinessProbe: { httpGet: { path: '/healthz', port: 's3' }, periodSeconds: 5, timeoutSeconds: 3 },
  volumeMounts: [
    { name: 'data', mountPath: '/data' },
    { name: 'tmp', mountPath: '/tmp' },
  ],
} as const;

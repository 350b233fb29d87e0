/** One Redis with its log on a volume, configured by the files that compose.yaml uses too. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PORTS, SECRETS, secretVariables, selectorOf } from './names.ts';
import { CONTAINER_SECURITY, POD_BASICS, podSecurity, USERS } from './pods.ts';
import type { KubeObject } from './setting.ts';
import { SETTINGS } from './settings.ts';

const INFRA = join(import.meta.dirname, '../..');
const CONFIG = 'lehr-redis';
const textOf = (path: string): string => readFileSync(join(INFRA, path), 'utf8');

const probe = {
  command: ['sh', '-c', 'redis-cli --user health --pass none --no-auth-warning ping | grep -q PONG'],
};

export const redisObjects = (): readonly KubeObject[] => [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: CONFIG, labels: selectorOf('redis') },
    data: {
      'redis.conf': textOf('redis.conf'),
      'users.acl': textOf('redis/users.acl'),
      'start.sh': textOf('redis/start.sh'),
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'lehr-redis', labels: selectorOf('redis') },
    spec: {
      clusterIP: 'None',
      selector: selectorOf('redis'),
      ports: [{ name: 'redis', port: PORTS.redis, targetPort: 'redis' }],
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'lehr-redis', labels: selectorOf('redis') },
    spec: {
      serviceName: 'lehr-redis',
      replicas: 1,
      selector: { matchLabels: selectorOf('redis') },
      template: {
        metadata: { labels: selectorOf('redis') },
        spec: {
          ...POD_BASICS,
          priorityClassName: 'lehr-data',
          terminationGracePeriodSeconds: 60,
          securityContext: podSecurity(USERS.redis),
          containers: [redisContainer()],
          volumes: [
            { name: 'config', configMap: { name: CONFIG } },
            { name: 'run', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
          ],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            resources: { requests: { storage: SETTINGS.redisDisk.setting } },
          },
        },
      ],
    },
  },
];

const redisContainer = (): object => ({
  name: SECRETS.redis.name,
  image: SETTINGS.redisImage.setting,
  command: ['sh', '/etc/lehr/start.sh', '/etc/lehr/users.acl', '/run/lehr/users.acl', '/etc/lehr/redis.conf'],
  args: ['--dir', '/data', '--maxmemory', SETTINGS.redisMemory.setting],
  env: secretVariables('redis'),
  ports: [{ name: 'redis', containerPort: PORTS.redis }],
  resources: SETTINGS.redisResources.setting,
  securityContext: CONTAINER_SECURITY,
  // Reading a log of some gigabytes takes a minute.
  startupProbe: { exec: probe, periodSeconds: 2, failureThreshold: 150, timeoutSeconds: 3 },
  livenessProbe: { exec: probe, periodSeconds: 10, failureThreshold: 6, timeoutSeconds: 3 },
  readinessProbe: { exec: probe, periodSeconds: 5, failureThreshold: 2, timeoutSeconds: 3 },
  volumeMounts: [
    { name: 'config', mountPath: '/etc/lehr', readOnly: true },
    { name: 'run', mountPath: '/run/lehr' },
    { name: 'data', mountPath: '/data' },
  ],
});

/** Karpenter with its own provider for KWOK: it makes and removes nodes that KWOK plays. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { freePort } from '../../test/support/ports.ts';
import type { ControlPlane } from './control-plane.ts';
import type { KubeItem } from './kube.ts';
import { documents } from './nodes.ts';

/** How long a node takes until it is registered; EC2 takes longer. */
const REGISTRATION = '5s';
/** Instead of two minutes, so that the suite ends sooner. */
const CONSOLIDATE_AFTER = '20s';
const ZONES = ['eu-central-1a', 'eu-central-1b', 'eu-central-1c'];
const GPU = 'nvidia.com/gpu';

export interface NodeClaim extends KubeItem {
  readonly status?: {
    readonly nodeName?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}
export const NODE_CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';

export async function startKarpenter(plane: ControlPlane): Promise<void> {
  const types = join(plane.folder, 'instance-types.json');
  writeFileSync(
    types,
    JSON.stringify([instanceType('g4dn.xlarge', 0.526), instanceType('g4dn.2xlarge', 0.752)]),
  );
  plane.run(
    'karpenter',
    {
      'instance-types-file-path': types,
      'disable-leader-election': true,
      'metrics-port': await freePort(),
      'health-probe-port': await freePort(),
    },
    {
      KUBECONFIG: plane.kubeconfig,
      SYSTEM_NAMESPACE: 'kube-system',
      KUBERNETES_MIN_VERSION: '1.30.0-0',
      KARPENTER_SERVICE: 'karpenter',
    },
  );
  await plane.apply(
    'node-class',
    documents([
      {
        apiVersion: 'karpenter.kwok.sh/v1alpha1',
        kind: 'KWOKNodeClass',
        metadata: { name: 'lehr-gpu' },
        spec: { nodeRegistrationDelay: REGISTRATION },
      },
    ]),
  );
}

interface NodePool {
  readonly kind: string;
  readonly spec?: {
    readonly template: { readonly spec: { nodeClassRef: object } };
    readonly disruption: { consolidateAfter: string };
  };
}

/** The objects with their NodePool on KWOK's provider, and with a shorter wait before an empty node goes. */
export function onKwok(objects: string): string {
  // Templates that a condition leaves out are empty documents.
  const all = parseAllDocuments(objects).flatMap((each) => (each.toJS() as NodePool | null) ?? []);
  for (const { kind, spec } of all) {
    if (kind !== 'NodePool' || !spec) continue;
    spec.template.spec.nodeClassRef = { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'lehr-gpu' };
    spec.disruption.consolidateAfter = CONSOLIDATE_AFTER;
  }
  return documents(all);
}

/** The provider takes 100m of CPU and 10Mi of memory off: a g4dn.xlarge leaves 3920m and 14481Mi to pods. */
function instanceType(name: string, price: number): object {
  const size = name === 'g4dn.xlarge' ? 1 : 2;
  const offerings = ZONES.flatMap((zone) =>
    [
      ['spot', price * 0.4],
      ['on-demand', price],
    ].map(([capacity, hourly]) => ({
      Price: hourly,
      Available: true,
      Requirements: [
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacity] },
        { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
      ],
    })),
  );
  return {
    name,
    offerings,
    architecture: 'amd64',
    operatingSystems: ['linux'],
    resources: {
      cpu: `${3920 * size + 100}m`,
      memory: `${14481 * size + 10}Mi`,
      'ephemeral-storage': '110Gi',
      pods: '29',
      [GPU]: '1',
    },
  };
}

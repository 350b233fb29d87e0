/** Nodes and volumes as manifests: KWOK plays the nodes. */

/** What a g4dn.xlarge of EKS leaves to pods; its models are on the local NVMe disk. */
const G4DN = {
  cpu: '3920m',
  memory: '14481Mi',
  pods: '29',
  'ephemeral-storage': '110Gi',
  'nvidia.com/gpu': '1',
} as const;

const GENERAL = { cpu: '7910m', memory: '28Gi', pods: '58', 'ephemeral-storage': '110Gi' } as const;
const ZONES = ['eu-central-1a', 'eu-central-1b', 'eu-central-1c'];

interface NodeFields {
  readonly name: string;
  readonly zone: string;
  readonly room: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly object[];
}

/** Three nodes for everything, one in each zone, and so many g4dn.xlarge nodes. */
export function nodes({ gpus }: { readonly gpus: number }): string {
  const general = ZONES.map((zone, i) => node({ name: `general-${i}`, zone, room: GENERAL }));
  const cards = Array.from({ length: gpus }, (_, i) =>
    node({
      name: `g4dn-${i}`,
      zone: ZONES[i % ZONES.length],
      room: G4DN,
      labels: { 'lehr.dev/node': 'gpu', 'node.kubernetes.io/instance-type': 'g4dn.xlarge' },
      taints: [{ key: 'nvidia.com/gpu', effect: 'NoSchedule' }],
    }),
  );
  return documents([...general, ...cards]);
}

/** Volumes without a class, for the claims of the StatefulSets. */
export const volumes = (): string =>
  documents(
    ['a', 'b', 'c'].map((name) => ({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `volume-${name}` },
      spec: {
        capacity: { storage: '1Ti' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: `/volumes/${name}` },
      },
    })),
  );

function node({ name, zone, room, labels = {}, taints = [] }: NodeFields): object {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'topology.kubernetes.io/zone': zone,
        'topology.kubernetes.io/region': 'eu-central-1',
        ...labels,
      },
    },
    spec: { taints },
    status: { allocatable: room, capacity: room },
  };
}

/** JSON is YAML. */
export const documents = (objects: readonly object[]): string =>
  objects.map((each) => JSON.stringify(each)).join('\n---\n');

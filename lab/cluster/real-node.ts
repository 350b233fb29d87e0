/** One real node of a control plane: containerd, the kubelet, kube-proxy and the DNS of the cluster. It runs in the namespaces of inside.sh. */
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from '../containers/compose.ts';
import type { ControlPlane } from './control-plane.ts';
import { documents } from './nodes.ts';
import { setting } from './settings.ts';

export const NODE = 'node-1';
const PODS = '10.244.0.0/24';
/** Every pod has a container with it, which only waits. */
const PAUSE = 'docker.io/library/lehr-pause:1';
/** As docs/kubernetes.md names the registry. The second tag stands for a newer version. */
const REGISTRY = 'registry.example.com/team';
export const NEXT_TAG = 'next';

/** Resolves when the node is ready and has the images. */
export async function startNode(plane: ControlPlane): Promise<void> {
  const socket = await startContainerd(plane);
  await importImages(plane);
  const address = setting('NODE_ADDRESS');
  const { kubeconfig } = plane;
  plane.run('kubelet', {
    kubeconfig,
    config: configOfKubelet(plane.folder, socket),
    'hostname-override': NODE,
    'node-ip': address,
  });
  plane.run('kube-proxy', {
    kubeconfig,
    'hostname-override': NODE,
    'proxy-mode': 'iptables',
    'cluster-cidr': PODS,
    // Limits of the whole machine.
    'conntrack-max-per-core': 0,
    'conntrack-tcp-timeout-established': '0s',
    'conntrack-tcp-timeout-close-wait': '0s',
  });
  const zones = join(plane.folder, 'Corefile');
  writeFileSync(
    zones,
    `.:53 {\n errors\n kubernetes cluster.local {\n kubeconfig ${kubeconfig}\n }\n cache 2\n}\n`,
  );
  plane.run('coredns', { conf: zones });
  await plane.apply('volumes', localVolumes(plane.folder));
  await plane.until('the node', async () => {
    const { out } = await plane.kubectl(
      'get',
      'node',
      NODE,
      '-o',
      'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
    );
    return out === 'True';
  });
}

/** `ctr` on the images and containers of the node. */
export const ctr = (plane: ControlPlane, ...args: string[]): Promise<string> =>
  run('ctr', ['--address', join(plane.folder, 'containerd.sock'), '--namespace', 'k8s.io', ...args]);

async function startContainerd(plane: ControlPlane): Promise<string> {
  const { folder } = plane;
  const networks = join(folder, 'cni');
  mkdirSync(networks);
  const bridge = {
    type: 'bridge',
    bridge: 'pods',
    isGateway: true,
    hairpinMode: true,
    ipam: { type: 'host-local', ranges: [[{ subnet: PODS }]], routes: [{ dst: '0.0.0.0/0' }] },
  };
  writeFileSync(
    join(networks, 'pods.conflist'),
    JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [bridge] }),
  );
  const config = join(folder, 'containerd.toml');
  const socket = join(folder, 'containerd.sock');
  writeFileSync(
    config,
    `version = 2
root = "${root()}"
state = "/run/containerd-node"
[grpc]
address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${PAUSE}"
# Root of a container or a virtual machine may not have the right to make the kernel spare a process.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "${networks}"
`,
  );
  plane.run('/usr/bin/containerd', { config });
  await plane.until('containerd', () =>
    ctr(plane, 'version').then(
      () => true,
      () => false,
    ),
  );
  return `unix://${socket}`;
}

/** Beside the images, so that a later run finds them unpacked. */
const root = (): string => join(dirname(setting('CLUSTER_IMAGES')), 'containerd');

async function importImages(plane: ControlPlane): Promise<void> {
  const left = (await ctr(plane, 'containers', 'ls', '--quiet')).split('\n').filter(Boolean);
  if (left.length > 0) await ctr(plane, 'containers', 'rm', ...left);
  const [archive, tag] = [setting('CLUSTER_IMAGES'), setting('CLUSTER_TAG')];
  const done = join(root(), 'imported');
  if (!existsSync(done) || statSync(done).mtimeMs < statSync(archive).mtimeMs)
    await ctr(plane, 'images', 'import', archive);
  writeFileSync(done, '');
  for (const name of ['lehr-api', 'lehr-worker-cpu'])
    for (const each of [tag, NEXT_TAG])
      await ctr(
        plane,
        'images',
        'tag',
        '--force',
        `docker.io/library/${name}:${tag}`,
        `${REGISTRY}/${name}:${each}`,
      );
}

function configOfKubelet(folder: string, socket: string): string {
  const path = join(folder, 'kubelet.yaml');
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: 'cgroupfs',
    containerRuntimeEndpoint: socket,
    clusterDNS: [setting('NODE_ADDRESS')],
    clusterDomain: 'cluster.local',
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    // The disk belongs to others too, and no image can be pulled again.
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageGCHighThresholdPercent: 100,
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

/** A volume of the kind hostPath would stay root's. */
function localVolumes(folder: string): string {
  return documents(
    ['a', 'b'].map((name) => {
      const path = join(folder, 'volumes', name);
      mkdirSync(path, { recursive: true });
      return {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: `volume-${name}` },
        spec: {
          capacity: { storage: '10Gi' },
          accessModes: ['ReadWriteOnce'],
          local: { path },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [NODE] }] },
              ],
            },
          },
        },
      };
    }),
  );
}

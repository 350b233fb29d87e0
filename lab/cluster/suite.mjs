/**
 * The suite `cluster`: builds the programs of Kubernetes with Go, once, and runs the chart on them. The nodes of most files are played
 * by KWOK; those of `kubelet` are real, in namespaces of their own. A scene is a part of a file name, and after `kubelet` the
 * name of a row of its table. `rendered` builds Helm only, for the tests of test/infra that look at what it makes of the chart.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { aptInstall } from '../../infra/local/apt.mjs';
import { findProgram, ROOT, runCommand } from '../../infra/local/command.mjs';
import { ensureBuilt } from '../../infra/local/modules.mjs';
import { Problem } from '../../infra/local/problem.mjs';
import { ensurePrograms } from '../../infra/local/programs.mjs';
import { makeImages } from './images.mjs';
import { Programs } from './programs.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const KUBELET = 'lab/cluster/kubelet.cluster.ts';
const RUN = [VITEST, 'run', '--config', join(ROOT, 'lab/cluster/vitest.config.ts')];
const CONTROL_PLANE = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
  'helm',
];
const NODE = ['kubelet', 'kube-proxy', 'coredns'];
const PLAYED = ['kwok', 'karpenter', 'keda-operator', 'keda-adapter'];
/** By Debian's package. */
const NODE_PACKAGES = {
  containerd: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
  iproute2: 'ip',
  gcc: 'gcc',
};
const NODE_ADDRESS = '10.223.79.1';
/** What the kubelet sets for the whole machine. */
const SYSCTLS = ['vm.overcommit_memory', 'vm.panic_on_oom', 'kernel.panic', 'kernel.panic_on_oops'];
const CGROUPS = '/sys/fs/cgroup';

/** Resolves to the exit code. */
export async function run({ names: scenes, cache, say, signal }) {
  await ensurePrograms({ say, signal });
  await ensureBuilt({ signal });
  const programs = new Programs(cache ?? join(homedir(), '.cache/lehr-cluster'));
  const folder = await mkdtemp(join(tmpdir(), 'lehr-cluster-'));
  const env = {
    CLUSTER_FOLDER: folder,
    CLUSTER_PROGRAMS: programs.folder,
    PATH: `${programs.folder}${delimiter}${process.env.PATH}`,
  };
  const options = { scenes, programs, cache: programs.cache, folder, env, say, signal };
  const parts =
    scenes[0] === 'kubelet' ? [onKubelet] : [onPlayedNodes, ...(scenes.length ? [] : [onKubelet])];
  let code = 0;
  for (const part of parts) code ||= await part(options);
  // After a failure the logs say why.
  if (code === 0) await rm(folder, { recursive: true, force: true });
  else say(`The logs of the programs are in ${folder}.`);
  return code;
}

function onPlayedNodes({ scenes, programs, env, signal }) {
  const isRendered = scenes.join() === 'rendered';
  programs.build(isRendered ? ['helm'] : [...CONTROL_PLANE, ...PLAYED]);
  const definitions = !isRendered && {
    CLUSTER_DEFINITIONS: JSON.stringify(programs.definitions()),
    CLUSTER_STAGES: programs.stages(),
  };
  const args = [...RUN, ...scenes, '--exclude', KUBELET];
  return runCommand(process.execPath, args, { signal, env: { ...env, ...definitions } });
}

async function onKubelet({ scenes, programs, cache, folder, env, say, signal }) {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version'))
    throw new Problem('The scenes of a real kubelet need Debian and root.');
  const lacking = [];
  for (const [name, file] of Object.entries(NODE_PACKAGES))
    if (!(await findProgram(file))) lacking.push(name);
  if (!existsSync('/usr/lib/cni/bridge')) lacking.push('containernetworking-plugins');
  if (lacking.length > 0 && !(await aptInstall(lacking, { say, signal })))
    throw new Problem(`apt-get cannot install ${lacking.join(', ')}.`);
  programs.build([...CONTROL_PLANE, ...NODE]);
  const tag = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
  const images = join(cache, 'images.tar');
  await makeImages(images, { tag, pause: programs.pauseSource(), say, signal });
  const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const inside = ['sh', join(import.meta.dirname, 'inside.sh'), folder, process.execPath, ...RUN, KUBELET];
  const before = SYSCTLS.map(
    (name) => `${name}=${execFileSync('sysctl', ['-n', name], { encoding: 'utf8' }).trim()}`,
  );
  try {
    return await runCommand('unshare', [...namespaces, ...inside], {
      signal,
      env: {
        ...env,
        CLUSTER_IMAGES: images,
        CLUSTER_TAG: tag,
        LAB_SCENES: scenes.slice(1).join(),
        NODE_ADDRESS,
        TMPDIR: folder,
      },
    });
  } finally {
    execFileSync('sysctl', ['-qw', ...before]);
    for (const controller of readdirSync(CGROUPS)) removeGroup(join(CGROUPS, controller, 'kubepods'));
  }
}

/** A control group without processes goes by rmdir, the innermost first. */
function removeGroup(folder) {
  if (!existsSync(folder)) return;
  for (const each of readdirSync(folder, { withFileTypes: true }))
    if (each.isDirectory()) removeGroup(join(folder, each.name));
  rmdirSync(folder);
}

/**
 * The programs of Kubernetes, built with Go from the modules in the folder programs. They are kept in a cache
 * outside the repository; a program that is there is not built again. Building all of them takes about an hour.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Name of the program, folder of its module, package. */
const PROGRAMS = [
  ['etcd', 'etcd', 'go.etcd.io/etcd/server/v3'],
  ['kube-apiserver', 'kubernetes', 'k8s.io/kubernetes/cmd/kube-apiserver'],
  ['kube-controller-manager', 'kubernetes', 'k8s.io/kubernetes/cmd/kube-controller-manager'],
  ['kube-scheduler', 'kubernetes', 'k8s.io/kubernetes/cmd/kube-scheduler'],
  ['kubectl', 'kubernetes', 'k8s.io/kubernetes/cmd/kubectl'],
  ['kubelet', 'kubernetes', 'k8s.io/kubernetes/cmd/kubelet'],
  ['kube-proxy', 'kubernetes', 'k8s.io/kubernetes/cmd/kube-proxy'],
  ['coredns', 'coredns', '.'],
  ['kwok', 'kwok', 'sigs.k8s.io/kwok/cmd/kwok'],
  ['karpenter', 'karpenter', 'sigs.k8s.io/karpenter/kwok'],
  ['helm', 'helm', 'helm.sh/helm/v3/cmd/helm'],
  ['keda-operator', 'keda', 'github.com/kedacore/keda/v2/cmd/operator'],
  ['keda-adapter', 'keda', 'github.com/kedacore/keda/v2/cmd/adapter'],
];

/** Without it the API server says that it is v0.0.0-master+$Format:%H$, which kubectl cannot read. */
const VERSION = '-X k8s.io/component-base/version.gitVersion=v1.36.3';

/** Folders with the definitions of custom resources: module of a program, or a module with its version; folder inside. */
const DEFINITIONS = [
  ['keda', 'github.com/kedacore/keda/v2', 'config/crd/bases'],
  ['karpenter', 'sigs.k8s.io/karpenter', 'pkg/apis/crds'],
  ['karpenter', 'sigs.k8s.io/karpenter', 'kwok/apis/crds'],
  [undefined, 'github.com/aws/karpenter-provider-aws@v1.14.0', 'pkg/apis/crds'],
  [
    undefined,
    'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    'example/prometheus-operator-crd',
  ],
];

export class Programs {
  constructor(cache) {
    this.cache = cache;
    mkdirSync(this.folder, { recursive: true });
  }

  /** Where the programs are. */
  get folder() {
    return join(this.cache, 'bin');
  }

  /** Builds those of these programs that are not there. */
  build(names) {
    for (const [name, folder, source] of PROGRAMS.filter(([each]) => names.includes(each))) {
      const path = join(this.folder, name);
      if (existsSync(path)) continue;
      console.log(`Building ${name}.`);
      this.#go(folder, ['build', '-p=1', '-trimpath', `-ldflags=-s -w ${VERSION}`, '-o', path, source]);
    }
  }

  /** The source of the program that keeps a pod. */
  pauseSource() {
    this.#go('kubernetes', ['mod', 'download', 'k8s.io/kubernetes']);
    const folder = this.#go('kubernetes', ['list', '-m', '-f', '{{.Dir}}', 'k8s.io/kubernetes']).trim();
    return join(folder, 'build/pause/linux/pause.c');
  }

  /** The folder of the stages that KWOK ships: what its nodes and pods go through. */
  stages() {
    this.#go('kwok', ['mod', 'download', 'sigs.k8s.io/kwok']);
    const folder = this.#go('kwok', ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/kwok']).trim();
    return join(folder, 'kustomize/stage');
  }

  /** Folders with the definitions of the custom resources that Lehr's objects use. */
  definitions() {
    return DEFINITIONS.map(([folder, module, inside]) => {
      const args = folder ? ['list', '-m', '-f', '{{.Dir}}', module] : ['mod', 'download', '-json', module];
      if (folder) this.#go(folder, ['mod', 'download', module]);
      const answer = this.#go(folder ?? 'etcd', args);
      return join(folder ? answer.trim() : JSON.parse(answer).Dir, inside);
    });
  }

  #go(folder, args) {
    return execFileSync('go', args, {
      cwd: join(import.meta.dirname, 'programs', folder),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        CGO_ENABLED: '0',
        GOFLAGS: '-mod=mod',
        GOMODCACHE: join(this.cache, 'gomod'),
        GOCACHE: join(this.cache, 'go-build'),
      },
    });
  }
}

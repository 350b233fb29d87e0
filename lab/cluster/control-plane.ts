/**
 * The programs of Kubernetes as plain processes on free loopback ports, with all data in one folder: etcd, kube-apiserver, and on request
 * the controllers, the scheduler and KWOK, which plays nodes and the pods on them.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/ports.ts';
import { Authority, privateKey } from './certificates.ts';
import { Keeper } from './keeper.ts';
import { Kube } from './kube.ts';
import { programPath, setting } from './settings.ts';

const HOST = '127.0.0.1';
const READY_MS = 180_000;
const LOOK_EVERY_MS = 500;
const OUTPUT_BYTES = 2 ** 26;

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

type Options = Readonly<Record<string, string | number | boolean>>;

export class ControlPlane {
  readonly folder = mkdtempSync(join(setting('CLUSTER_FOLDER'), 'plane-'));
  readonly kubeconfig = join(this.folder, 'kubeconfig');
  readonly #keeper = new Keeper();
  readonly #nice: number;
  #kube: Kube | undefined;

  /** The programs work all the time, so they give way to others; not where containers are their children. */
  constructor(nice = 10) {
    this.#nice = nice;
  }

  /** Reads and watches objects. */
  get kube(): Kube {
    if (!this.#kube) throw new Error('the control plane has not started');
    return this.#kube;
  }

  /** Resolves when the API server is ready. Throws after three minutes, or when a process ends before. */
  async start(): Promise<void> {
    const { folder } = this;
    const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
    const etcd = `http://${HOST}:${client}`;
    this.run('etcd', {
      'data-dir': join(folder, 'etcd'),
      'listen-client-urls': etcd,
      'advertise-client-urls': etcd,
      'listen-peer-urls': `http://${HOST}:${peer}`,
      'unsafe-no-fsync': true,
    });
    this.run('kube-apiserver', {
      'etcd-servers': etcd,
      'secure-port': port,
      ...serverOptions(folder),
    });
    writeFileSync(this.kubeconfig, kubeconfig(port), { mode: 0o600 });
    await this.until(
      'the API server',
      async () => (await this.kubectl('get', '--raw', '/readyz')).out === 'ok',
    );
    // Asked for only now: another program could take a port that waits until the API server is ready.
    const proxy = await freePort();
    this.#start('kubectl', ['proxy', `--kubeconfig=${this.kubeconfig}`, `--port=${proxy}`]);
    this.#kube = new Kube(`http://${HOST}:${proxy}`);
    await this.until('kubectl proxy', () => this.kube.answers());
  }

  /** Starts the controllers and the scheduler, and KWOK with these stages; without stages nothing plays nodes and pods. */
  async startControllers(stages?: string): Promise<void> {
    const { folder, kubeconfig } = this;
    const common = { kubeconfig, 'bind-address': HOST, 'leader-elect': false };
    this.run('kube-controller-manager', {
      ...common,
      'secure-port': await freePort(),
      'cert-dir': join(folder, 'controllers'),
      'service-account-private-key-file': join(folder, 'accounts.key'),
      // The heartbeats of KWOK come late on a busy machine.
      'node-monitor-grace-period': '5m',
    });
    this.run('kube-scheduler', {
      ...common,
      'secure-port': await freePort(),
      'cert-dir': join(folder, 'scheduler'),
    });
    if (stages === undefined) return;
    const config = join(folder, 'stages.yaml');
    writeFileSync(config, stages);
    this.run('kwok', {
      kubeconfig,
      config,
      'manage-all-nodes': true,
      'node-ip': HOST,
      'node-lease-duration-seconds': 240,
    });
  }

  /** Starts another program with these options as a part of the control plane. */
  run(name: string, options: Options, env: Readonly<Record<string, string>> = {}): void {
    const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
    this.#start(name, args, env);
  }

  /** Resolves when `check` does so with true. Throws after three minutes, or when a program ends before. */
  async until(what: string, check: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + READY_MS;
    while (!(await check())) {
      this.#keeper.check();
      if (performance.now() > end) throw new Error(`${what} is not ready; the logs are in ${this.folder}`);
      await delay(LOOK_EVERY_MS);
    }
  }

  /** Throws when one of the programs has ended. */
  check(): void {
    this.#keeper.check();
  }

  kubectl(...args: string[]): Promise<CommandResult> {
    const options = { encoding: 'utf8', maxBuffer: OUTPUT_BYTES } as const;
    return new Promise((resolve) => {
      execFile(
        programPath('kubectl'),
        [`--kubeconfig=${this.kubeconfig}`, ...args],
        options,
        (error, out, errors) => resolve({ code: error ? Number(error.code ?? 1) : 0, out, errors }),
      );
    });
  }

  /** Writes objects to a file and applies it. Throws when one of them is refused. Returns the names of what was applied. */
  async apply(name: string, objects: string, ...options: string[]): Promise<string[]> {
    const path = join(this.folder, `${name}.yaml`);
    writeFileSync(path, objects, { mode: 0o600 });
    const { code, out, errors } = await this.kubectl('apply', '--server-side', '-f', path, ...options);
    if (code !== 0) throw new Error(`${name}: ${errors}`);
    return out.trim().split('\n');
  }

  stop(): Promise<void> {
    this.#kube?.stop();
    return this.#keeper.stop();
  }

  #start(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
    const log = join(this.folder, `${basename(name)}.log`);
    this.#keeper.start({ name, program: programPath(name), args, log, env, nice: this.#nice });
  }
}

/** Accounts, and the aggregation of other API servers such as KEDA's. */
function serverOptions(folder: string): Options {
  const key = privateKey(folder, 'accounts');
  const tokens = join(folder, 'tokens.csv');
  writeFileSync(tokens, 'admin,admin,admin,"system:masters"\n', { mode: 0o600 });
  const authority = new Authority(folder, 'front-proxy');
  const proxy = authority.issue('aggregator');
  return {
    'bind-address': HOST,
    'cert-dir': join(folder, 'certificates'),
    'service-account-key-file': key,
    'service-account-signing-key-file': key,
    'service-account-issuer': 'https://kubernetes.default',
    'token-auth-file': tokens,
    'authorization-mode': 'Node,RBAC',
    // A node has no name in any DNS.
    'kubelet-preferred-address-types': 'InternalIP',
    'service-cluster-ip-range': '10.96.0.0/16',
    'requestheader-client-ca-file': authority.certificate,
    'requestheader-allowed-names': 'aggregator',
    'requestheader-username-headers': 'X-Remote-User',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'proxy-client-cert-file': proxy.certificate,
    'proxy-client-key-file': proxy.key,
  };
}

/** The API server makes its certificate itself, so it is not verified; everything is on the loopback address. */
function kubeconfig(port: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'plane',
    clusters: [
      { name: 'plane', cluster: { server: `https://${HOST}:${port}`, 'insecure-skip-tls-verify': true } },
    ],
    users: [{ name: 'admin', user: { token: 'admin' } }],
    contexts: [{ name: 'plane', context: { cluster: 'plane', user: 'admin' } }],
  });
}

/** etcd and kube-apiserver as plain processes on free loopback ports, with all data in one folder. No controller, no node. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { anyFreePort } from '../local/ports.mjs';

const HOST = '127.0.0.1';
const READY_MS = 120_000;

export class ControlPlane {
  #programs;
  #folder;
  #children = [];
  #port = 0;

  constructor(programs, folder) {
    this.#programs = programs;
    this.#folder = folder;
  }

  /** Resolves when the API server is ready. Throws after two minutes, or when a process ends before. */
  async start() {
    const [client, peer] = [await anyFreePort(HOST), await anyFreePort(HOST)];
    const etcd = `http://${HOST}:${client}`;
    const key = join(this.#folder, 'accounts.key');
    const tokens = join(this.#folder, 'tokens.csv');
    execFileSync('openssl', ['genrsa', '-out', key, '2048'], { stdio: 'ignore' });
    writeFileSync(tokens, 'admin,admin,admin,"system:masters"\n', { mode: 0o600 });
    this.#spawn('etcd', {
      'data-dir': join(this.#folder, 'etcd'),
      'listen-client-urls': etcd,
      'advertise-client-urls': etcd,
      'listen-peer-urls': `http://${HOST}:${peer}`,
    });
    this.#port = await anyFreePort(HOST);
    this.#spawn('kube-apiserver', {
      'etcd-servers': etcd,
      'bind-address': HOST,
      'secure-port': this.#port,
      'cert-dir': join(this.#folder, 'certificates'),
      'service-account-key-file': key,
      'service-account-signing-key-file': key,
      'service-account-issuer': 'https://kubernetes.default',
      'token-auth-file': tokens,
      'authorization-mode': 'Node,RBAC',
      'service-cluster-ip-range': '10.96.0.0/16',
    });
    await this.#ready();
  }

  /** Runs kubectl. Resolves to its exit code and both outputs. */
  async kubectl(...args) {
    const where = [
      '--server',
      `https://${HOST}:${this.#port}`,
      '--token',
      'admin',
      '--insecure-skip-tls-verify',
    ];
    const child = spawn(this.#programs.path('kubectl'), [...where, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [out, errors] = [child.stdout, child.stderr].map((stream) => stream.setEncoding('utf8').toArray());
    const [code] = await once(child, 'close');
    return { code, out: (await out).join(''), errors: (await errors).join('') };
  }

  async stop() {
    for (const child of this.#children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await ended;
      clearTimeout(timer);
    }
  }

  async #ready() {
    const end = Date.now() + READY_MS;
    for (;;) {
      const { out, errors } = await this.kubectl('get', '--raw', '/readyz');
      if (out === 'ok') return;
      const ended = this.#children.find(({ exitCode }) => exitCode !== null);
      if (ended || Date.now() > end)
        throw new Error(`the control plane is not ready: ${errors.trim()}; its logs are in ${this.#folder}`);
      await delay(500);
    }
  }

  #spawn(name, options) {
    const log = openSync(join(this.#folder, `${name}.log`), 'a');
    const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
    this.#children.push(spawn(this.#programs.path(name), args, { stdio: ['ignore', log, log] }));
  }
}

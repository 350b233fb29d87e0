/** Programs that run on the files of an image as in a container: see contained.sh. They use this machine's network. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const SCRIPT = join(import.meta.dirname, 'contained.sh');
const STOP_MS = 60_000;

export class Container {
  #parts;
  #child;
  #over;
  output = '';

  /** `parts`: root, home, user, config (of the image), env (added to that of the image). */
  constructor(parts) {
    this.#parts = parts;
  }

  /** Starts the CMD of the image as process 1. */
  start() {
    this.#child = this.#spawn(this.#parts.config.Cmd);
    this.#over = this.#ended(this.#child);
    return this;
  }

  /** Runs another command beside it and resolves to its exit code and output. */
  async run(command) {
    const child = this.#spawn(command);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    const [code] = await once(child, 'close');
    return { code, output };
  }

  /** Runs the health check of the image, as the engine of a container would. */
  health() {
    const [kind, ...command] = this.#parts.config.Healthcheck.Test;
    return this.run(kind === 'CMD-SHELL' ? ['/bin/sh', '-c', ...command] : command);
  }

  /** Sends SIGTERM to process 1 and resolves to its exit code; undefined when it had to be killed. */
  async stop() {
    const timer = setTimeout(() => this.kill(), STOP_MS);
    const [first] = childrenOf(this.#child.pid);
    if (first !== undefined) process.kill(first, 'SIGTERM');
    const code = await this.#over;
    clearTimeout(timer);
    return code;
  }

  kill() {
    if (this.#child?.exitCode === null) this.#child.kill('SIGKILL');
  }

  get over() {
    return this.#over;
  }

  async #ended(child) {
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (this.output += chunk));
    const [code] = await once(child, 'close');
    return code ?? undefined;
  }

  #spawn(command) {
    const { root, home, user, config, env } = this.#parts;
    const variables = [...config.Env, ...Object.entries(env).map(([key, value]) => `${key}=${value}`)];
    const unshare = ['--mount', '--pid', '--fork', '--kill-child'];
    const args = [...unshare, 'sh', SCRIPT, root, home, user, config.WorkingDir, ...variables, ...command];
    return spawn('unshare', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  }
}

/** Processes whose parent is this one. */
function childrenOf(pid) {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

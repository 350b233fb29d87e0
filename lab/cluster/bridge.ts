/**
 * Plays the kubelet for the pods of workers with real processes. A pod that is placed on a node gets a worker process, is ready when the
 * worker serves, and is gone when the worker has ended: its process gets SIGTERM when the pod shall end, and SIGKILL after the grace
 * period.
 */
import { WorkerProcess } from '../../apps/worker/src/programs/local-fleet/worker-process.ts';
import { type BridgedProcess, planBridge } from './bridge-plan.ts';
import type { Kube, Watch } from './kube.ts';
import { type Pod, pathOf } from './objects.ts';

export interface BridgeOptions {
  readonly kube: Kube;
  /** The pods that it plays. */
  readonly pods: Watch<Pod>;
  /** The program of a worker and its arguments. */
  readonly command: readonly string[];
}

export interface WorkerStory {
  readonly pod: string;
  readonly node: string;
  readonly startedAt: number;
  servedAt?: number;
  /** When it got SIGTERM. */
  drainedAt?: number;
  endedAt?: number;
  exit?: number | string | null;
}

interface Played extends BridgedProcess {
  readonly worker: WorkerProcess;
  readonly story: WorkerStory;
}

/** Looks for pods past their grace period. */
const LOOK_EVERY_MS = 1000;
const STRATEGIC = 'application/strategic-merge-patch+json';

export class Bridge {
  readonly stories: WorkerStory[] = [];
  /** What did not go as it should: processes that ended by themselves or had to be killed. */
  readonly faults: string[] = [];
  readonly #options: BridgeOptions;
  readonly #processes = new Map<string, Played>();
  readonly #removing = new Set<string>();
  readonly #endWatch: () => void;
  readonly #timer: NodeJS.Timeout;
  #isStopped = false;

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.#endWatch = options.pods.onChange(() => this.#follow());
    this.#timer = setInterval(() => this.#follow(), LOOK_EVERY_MS);
  }

  /** How many processes there are, and how many of them serve. */
  get counts(): { readonly processes: number; readonly serving: number } {
    const all = [...this.#processes.values()];
    return { processes: all.length, serving: all.filter(({ worker }) => worker.state === 'serving').length };
  }

  /** Kills what still runs. */
  stop(): void {
    this.#isStopped = true;
    this.#endWatch();
    clearInterval(this.#timer);
    for (const { worker } of this.#processes.values()) worker.kill();
  }

  #follow(): void {
    if (this.#isStopped) return;
    const plan = planBridge(this.#options.pods.items, [...this.#processes.values()], Date.now());
    for (const pod of plan.start) this.#start(pod);
    for (const { worker, story } of plan.drain) {
      story.drainedAt = performance.now();
      worker.drain();
    }
    for (const { worker, story } of plan.kill) {
      if (story.exit === undefined) this.faults.push(`the process of ${story.pod} had to be killed`);
      story.exit = 'SIGKILL';
      worker.kill();
    }
    for (const pod of plan.remove) void this.#remove(pod);
  }

  #start({ metadata, spec }: Pod): void {
    const { uid, name } = metadata;
    const story: WorkerStory = {
      pod: name,
      node: spec.nodeName ?? '',
      startedAt: performance.now(),
    };
    this.stories.push(story);
    const worker = new WorkerProcess({
      slot: 0,
      generation: 0,
      order: this.stories.length,
      command: this.#options.command,
      env: process.env,
      onLine: () => {},
      onChange: ({ state }) => {
        if (state !== 'serving' || story.servedAt !== undefined) return;
        story.servedAt = performance.now();
        void this.#setReady(name);
      },
      onEnded: (_worker, { code, signal }) => {
        story.endedAt = performance.now();
        story.exit ??= signal ?? code;
        if (story.drainedAt === undefined && !this.#isStopped)
          this.faults.push(`the process of ${name} ended by itself (${story.exit})`);
        else if (story.exit !== 0 && !this.#isStopped) this.faults.push(`${name} ended with ${story.exit}`);
        this.#processes.delete(uid);
        this.#follow();
      },
    });
    this.#processes.set(uid, {
      uid,
      worker,
      story,
      get state() {
        return worker.state;
      },
    });
  }

  async #setReady(name: string): Promise<void> {
    const conditions = ['Initialized', 'ContainersReady', 'Ready'].map((type) => ({ type, status: 'True' }));
    const body = { status: { phase: 'Running', startTime: new Date().toISOString(), conditions } };
    const path = `${pathOf('pods')}/${name}/status`;
    const { status, text } = await this.#options.kube.send('PATCH', path, body, STRATEGIC);
    // 404: the pod was removed in the meantime.
    if (status >= 300 && status !== 404) this.faults.push(`the status of ${name}: ${status} ${text}`);
  }

  async #remove({ metadata: { name, uid } }: Pod): Promise<void> {
    if (this.#removing.has(uid)) return;
    this.#removing.add(uid);
    const body = { gracePeriodSeconds: 0, preconditions: { uid } };
    const { status, text } = await this.#options.kube.send('DELETE', `${pathOf('pods')}/${name}`, body);
    if (status >= 300 && status !== 404) this.faults.push(`removing ${name}: ${status} ${text}`);
  }
}

/** Plays the kubelet for the pods of the API with real API processes: each is reached by the address of its pod. */
import type { LehrProcess } from '../../test/support/lehr-process.ts';
import { startLehr } from '../../test/support/lehr-process.ts';
import { freePort } from '../../test/support/ports.ts';
import type { Watch } from './kube.ts';
import type { Pod } from './objects.ts';

interface Played {
  readonly address: string;
  readonly url: string;
  readonly operations: string;
  readonly process: LehrProcess;
  serves: boolean;
}

export class ApiPods {
  readonly #env: Readonly<Record<string, string>>;
  readonly #pods: Watch<Pod>;
  readonly #played = new Map<string, Played | 'starting'>();
  /** Why a process or its start failed. */
  readonly faults: string[] = [];

  /** `env`: the variables that all processes share. */
  constructor(pods: Watch<Pod>, env: Readonly<Record<string, string>>) {
    this.#env = env;
    this.#pods = pods;
    pods.onChange(() => this.#follow());
    this.#follow();
  }

  /** Where the metrics of a pod are, by the address of the pod. */
  operationsOf(address: string): string | undefined {
    return this.#all().find((each) => each.address === address && each.serves)?.operations;
  }

  /** The URLs of the processes that answer requests. */
  get serving(): readonly string[] {
    return this.#all()
      .filter(({ serves }) => serves)
      .map(({ url }) => url);
  }

  #all(): Played[] {
    return [...this.#played.values()].filter((each) => each !== 'starting');
  }

  #follow(): void {
    const present = new Set<string>();
    for (const { metadata, status } of this.#pods.items) {
      if (metadata.deletionTimestamp !== undefined || status.podIP === undefined) continue;
      present.add(metadata.uid);
      if (this.#played.has(metadata.uid)) continue;
      this.#played.set(metadata.uid, 'starting');
      this.#start(metadata.uid, status.podIP).catch((error: Error) => this.faults.push(error.message));
    }
    for (const [uid, played] of this.#played) {
      if (present.has(uid) || played === 'starting') continue;
      this.#played.delete(uid);
      void this.#stop(played);
    }
  }

  async #start(uid: string, address: string): Promise<void> {
    const [port, operationsPort] = [await freePort(), await freePort()];
    const process = startLehr('api', {
      ...this.#env,
      LEHR_PORT: `${port}`,
      LEHR_OPERATIONS_PORT: `${operationsPort}`,
    });
    const [url, operations] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${operationsPort}`];
    const played: Played = { address, url, operations, process, serves: false };
    this.#played.set(uid, played);
    await process.logged('API is listening');
    played.serves = true;
    // The pod may have ended in the meantime.
    this.#follow();
  }

  async #stop({ process, address }: Played): Promise<void> {
    process.signal('SIGTERM');
    const exit = await process.exited();
    if (exit !== 0) this.faults.push(`the process of ${address} ended with ${exit}`);
  }
}

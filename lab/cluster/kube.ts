/**
 * Reads, changes and watches objects over `kubectl proxy`, which does TLS and authentication. A client library would bring its own
 * HTTP stack for these few requests.
 */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

export interface KubeItem {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

interface List<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

export class Kube {
  readonly #url: string;
  readonly #stop = new AbortController();

  constructor(url: string) {
    this.#url = url;
  }

  /** Ends all watches. */
  stop(): void {
    this.#stop.abort();
  }

  async answers(): Promise<boolean> {
    const response = await fetch(`${this.#url}/readyz`).catch(() => undefined);
    return response?.ok === true;
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.#url}${path}`);
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** The status and the text of the answer, also when the server refuses. */
  async send(
    method: string,
    path: string,
    body: object,
    type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  ): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { 'content-type': type },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  }

  async patch(path: string, body: object): Promise<void> {
    const { status, text } = await this.send('PATCH', path, body);
    if (status >= 300) throw new Error(`PATCH ${path}: ${status} ${text}`);
  }

  /** Follows all objects of a path. Resolves with their state now. */
  async watch<T extends KubeItem>(path: string): Promise<Watch<T>> {
    const watch = new Watch<T>();
    const version = await this.#list(path, watch);
    void this.#follow(path, watch, version);
    return watch;
  }

  async #list<T extends KubeItem>(path: string, watch: Watch<T>): Promise<string> {
    const { items, metadata } = await this.get<List<T>>(path);
    watch.replace(items);
    return metadata.resourceVersion;
  }

  /** A stream that ends, or whose version is too old, is begun again with a list. */
  async #follow<T extends KubeItem>(path: string, watch: Watch<T>, from: string): Promise<void> {
    const { signal } = this.#stop;
    const query = path.includes('?') ? '&' : '?';
    for (let version = from; !signal.aborted; ) {
      try {
        const url = `${this.#url}${path}${query}watch=1&resourceVersion=${version}`;
        const { body } = await fetch(url, { signal });
        if (body) await readEvents(Readable.fromWeb(body as ReadableStream), watch);
        version = await this.#list(path, watch);
      } catch (error) {
        if (!signal.aborted) watch.fail(error);
        return;
      }
    }
  }
}

async function readEvents<T extends KubeItem>(stream: Readable, watch: Watch<T>): Promise<void> {
  for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
    const { type, object } = JSON.parse(line) as WatchEvent<T>;
    if (type === 'ERROR') return;
    if (type === 'DELETED') watch.removed(object);
    else if (type !== 'BOOKMARK') watch.changed(object);
  }
}

/** The objects of a path as the server last said they are. */
export class Watch<T extends KubeItem> {
  readonly #items = new Map<string, T>();
  readonly #listeners = new Set<() => void>();
  #failure: unknown;

  get items(): T[] {
    return [...this.#items.values()];
  }

  /** Calls `listener` now and after each change. Returns what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    listener();
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when `isSo` is true of the items. Rejects after the limit, with the last items. */
  until(what: string, isSo: (items: readonly T[]) => boolean, limitMs = 180_000): Promise<void> {
    return new Promise((resolve, reject) => {
      let end = (): void => {};
      const timer = setTimeout(() => {
        end();
        reject(new Error(`not in ${limitMs} ms: ${what}; now: ${JSON.stringify(this.items).slice(0, 4000)}`));
      }, limitMs);
      const look = (): void => {
        if (this.#failure === undefined && !isSo(this.items)) return;
        clearTimeout(timer);
        queueMicrotask(() => end());
        if (this.#failure === undefined) resolve();
        else reject(new Error(`the watch has ended: ${what}`, { cause: this.#failure }));
      };
      end = this.onChange(look);
    });
  }

  replace(items: readonly T[]): void {
    this.#items.clear();
    for (const item of items) this.#items.set(item.metadata.uid, item);
    this.#tell();
  }

  changed(item: T): void {
    this.#items.set(item.metadata.uid, item);
    this.#tell();
  }

  removed({ metadata }: T): void {
    this.#items.delete(metadata.uid);
    this.#tell();
  }

  fail(error: unknown): void {
    this.#failure = error;
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/**
 * Fetches the models that models.yaml names by a source and that are not in the cache, one after the other, while the worker
 * serves those that it has. The engine opens each when its folder appears. A model that cannot be fetched is tried again with
 * a growing pause.
 */
import {
  type Backoff,
  backoffMs,
  type Clock,
  type Log,
  type Registry,
  type Task,
  toLehrError,
  versionsOf,
  WakeUp,
} from '@lehr/shared';
import {
  type CacheSettings,
  cachedFolder,
  type DownloadTimes,
  evict,
  type FetchEvent,
  fetchModel,
  markUsed,
  namesInCache,
  partsToFetch,
  readManifest,
  type SourceFields,
  sourceOf,
} from '@lehr/shared/model-cache';

export interface ModelFetcherOptions {
  readonly registry: Registry;
  readonly tasks: readonly Task[];
  readonly settings: CacheSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** A model was fetched, in so many ms; also when another process fetched it meanwhile. */
  readonly onFetched?: (ref: string, ms: number) => void;
  readonly times?: FetcherTimes;
}

export interface FetcherTimes extends Backoff {
  readonly download?: DownloadTimes;
}

/** A model that is fetched now, or that will be. */
interface MissingModel {
  readonly model: WantedModel;
  failures: number;
  /** On the monotonic clock. */
  notBefore: number;
}

interface WantedModel {
  /** `name@version`; of a part, such as an adapter, its label. */
  readonly ref: string;
  readonly fields: SourceFields;
  readonly folder: string;
}

const TIMES: FetcherTimes = { firstMs: 5_000, maxMs: 600_000 };
/** The pause of a loop that has nothing to do until it is woken. */
const LONG_MS = 86_400_000;
const LOG_PROGRESS_EVERY_MS = 10_000;
/** Far more often than the cache's eviction needs. */
const MARK_USED_EVERY_MS = 600_000;

export class ModelFetcher {
  readonly #options: ModelFetcherOptions;
  readonly #times: FetcherTimes;
  #wanted: readonly WantedModel[] = [];
  readonly #missing: MissingModel[] = [];
  readonly #stop = new AbortController();
  readonly #wakeUp: WakeUp;
  /** What is being fetched. Aborted when no model is wanted from this folder any more. */
  #fetching: { readonly folder: string; readonly abort: AbortController } | undefined;
  /** The last call of readRegistry. */
  #reading: Promise<void> = Promise.resolve();
  /** Why a model is not here, by ref. */
  readonly #problems = new Map<string, string>();
  readonly #oneIsHere: Promise<void>;
  #reportOneIsHere: () => void = () => {};

  constructor(options: ModelFetcherOptions) {
    this.#options = options;
    this.#oneIsHere = new Promise((resolve) => {
      this.#reportOneIsHere = resolve;
    });
    this.#times = options.times ?? TIMES;
    this.#wakeUp = new WakeUp(options.clock);
  }

  /** Why this model is not here; undefined when it is. */
  problemOf(ref: string): string | undefined {
    return this.#problems.get(ref);
  }

  /** All problems in one sentence; undefined when every model is here. */
  get problem(): string | undefined {
    const problems = [...this.#problems].map(([ref, problem]) => `${ref} ${problem}`);
    return problems.length === 0 ? undefined : problems.join('; ');
  }

  /** Begins to fetch. Resolves when at least one model is here, so that an engine can open it. */
  async start(): Promise<void> {
    await this.readRegistry();
    void this.#fetchAll();
    void this.#markUsed();
    await this.#oneIsHere;
  }

  /**
   * Takes what the registry names now: fetches what is new and not here, and no longer what has gone. One call after the other,
   * because an earlier one that ends last would bring back its older list.
   */
  readRegistry(): Promise<void> {
    const read = this.#reading.then(() => this.#readRegistry());
    this.#reading = read.catch(() => {});
    return read;
  }

  async #readRegistry(): Promise<void> {
    const { registry, tasks, settings } = this.#options;
    const offered = versionsOf(registry, tasks);
    const hasOwnFolders = offered.some(({ version }) => version.source === undefined);
    const place = (ref: string, fields: SourceFields): WantedModel => ({
      ref,
      fields,
      folder: cachedFolder(settings.cache, fields),
    });
    const versions = offered.flatMap(({ version, ref }) => {
      const fields = sourceOf(version);
      return fields ? [place(ref, fields)] : [];
    });
    // After the models, which serve without them.
    const parts = [...new Set(offered.map(({ model }) => model))]
      .flatMap(partsToFetch)
      .map(({ label, fields }) => place(label, fields));
    const wanted = [...versions, ...parts];
    const missing: WantedModel[] = [];
    for (const model of wanted) {
      if (!(await readManifest(model.folder))) missing.push(model);
    }
    this.#wanted = wanted;
    this.#replaceMissing(missing);
    const fetching = this.#fetching;
    if (fetching && !wanted.some(({ folder }) => folder === fetching.folder)) fetching.abort.abort();
    if (hasOwnFolders || versions.some((model) => !missing.includes(model))) this.#reportOneIsHere();
  }

  #replaceMissing(missing: readonly WantedModel[]): void {
    const earlier = this.#missing.splice(0);
    for (const model of missing) {
      const same = earlier.find((each) => each.model.ref === model.ref && each.model.folder === model.folder);
      this.#missing.push(same ?? { model, failures: 0, notBefore: 0 });
      if (!same) this.#problems.set(model.ref, 'waits to be fetched');
    }
    for (const ref of this.#problems.keys()) {
      if (!missing.some((each) => each.ref === ref)) this.#problems.delete(ref);
    }
    this.#wakeUp.wake();
  }

  /** What was fetched of a model stays, for the next start. */
  stop(): void {
    this.#stop.abort();
    this.#wakeUp.wake();
  }

  /** A separate loop for each model would share the bandwidth, and all would be late. */
  async #fetchAll(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#stop.signal.aborted) {
      const [next] = [...this.#missing].sort((a, b) => a.notBefore - b.notBefore);
      const pauseMs = next ? next.notBefore - clock.monotonic() : LONG_MS;
      if (pauseMs > 0) await this.#wakeUp.wait(pauseMs);
      else await this.#fetchNext(next);
    }
  }

  async #fetchNext(next: MissingModel): Promise<void> {
    const pauseMs = backoffMs(this.#times, next.failures + 1);
    const fetching = { folder: next.model.folder, abort: new AbortController() };
    this.#fetching = fetching;
    const isHere = await this.#fetch(next.model, pauseMs, fetching.abort.signal);
    this.#fetching = undefined;
    if (isHere) {
      // By its folder: the list may have been made again meanwhile.
      const at = this.#missing.findIndex(({ model }) => model.folder === next.model.folder);
      for (const { model } of at >= 0 ? this.#missing.splice(at, 1) : []) this.#problems.delete(model.ref);
    } else {
      next.failures += 1;
      next.notBefore = this.#options.clock.monotonic() + pauseMs;
    }
  }

  /** Returns whether it succeeded. `unwanted` ends it without a report. */
  async #fetch({ ref, fields }: WantedModel, retryInMs: number, unwanted: AbortSignal): Promise<boolean> {
    const { settings, log, clock } = this.#options;
    const signal = AbortSignal.any([this.#stop.signal, unwanted]);
    const startedAt = clock.monotonic();
    try {
      const { folder, manifest } = await fetchModel(fields, {
        ...settings,
        signal,
        onEvent: this.#reporter(ref, signal),
        ...(this.#times.download && { times: this.#times.download }),
      });
      log.info({ model: ref, source: fields.source, revision: manifest.revision, folder }, 'model fetched');
      if (fields.part === undefined) {
        this.#options.onFetched?.(ref, clock.monotonic() - startedAt);
        this.#reportOneIsHere();
      }
      await this.#evict();
      return true;
    } catch (error) {
      if (unwanted.aborted) log.info({ model: ref }, 'model is no longer wanted and not fetched any further');
      if (signal.aborted) return false;
      const failure = toLehrError(error);
      this.#problems.set(ref, `cannot be fetched: ${failure.message}`);
      log.error(
        { model: ref, source: fields.source, error: failure, retryInMs },
        'model cannot be fetched; it is tried again',
      );
      return false;
    }
  }

  #reporter(ref: string, signal: AbortSignal): (event: FetchEvent) => void {
    const { clock, log } = this.#options;
    let loggedAt = Number.NEGATIVE_INFINITY;
    return (event) => {
      if (signal.aborted) return;
      switch (event.type) {
        case 'waiting':
          this.#problems.set(ref, 'is being fetched by another process');
          log.info({ model: ref }, 'another process fetches this model');
          return;
        case 'retry':
          log.warn({ model: ref, reason: event.message, retryInMs: event.pauseMs }, 'a download is retried');
          return;
        case 'progress': {
          const { doneBytes, totalBytes } = event;
          const percent = Math.floor((100 * doneBytes) / Math.max(1, totalBytes));
          this.#problems.set(ref, `is being fetched: ${percent} %`);
          if (clock.monotonic() - loggedAt < LOG_PROGRESS_EVERY_MS) return;
          loggedAt = clock.monotonic();
          log.info({ model: ref, percent, doneBytes, totalBytes }, 'model is being fetched');
        }
      }
    };
  }

  async #evict(): Promise<void> {
    const { registry, settings, log } = this.#options;
    if (settings.maxBytes === undefined) return;
    const removed = await evict(settings.cache, settings.maxBytes, namesInCache(registry)).catch((error) => {
      log.warn({ error }, 'the cache of models could not be made smaller');
      return [];
    });
    for (const { name, bytes } of removed) log.info({ name, bytes }, 'model removed from the cache');
  }

  async #markUsed(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      for (const { folder } of this.#wanted) await markUsed(folder).catch(() => {});
      await this.#options.clock.sleep(MARK_USED_EVERY_MS, signal);
    }
  }
}

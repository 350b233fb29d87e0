/** The adapters of one model: opens their files, adds them to its graphs, and knows which of them can be used. */
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LehrError } from '@lehr/shared';
import type { OpenedPart } from '../../protocol/messages.ts';
import { readGraph, rewrittenSource } from '../../runtime/external-data.ts';
import type { GraphSource } from '../../runtime/runtime.ts';
import { refusedFile } from '../weights/weights-file.ts';
import type { AdapterPart } from './adapter-names.ts';
import { AdapterValuesError, addAdapters } from './add-adapters.ts';
import { type AdapterPlan, type NamedAdapter, planAdapters } from './plan-adapters.ts';
import { readAdapter } from './read-adapter.ts';

interface AdaptedGraph {
  readonly source: GraphSource;
  /** The adapters that change it, in the order of a row's scales. */
  readonly columns: readonly string[];
}

/** Adds the adapters to a graph. */
export type Adapt = (source: GraphSource) => AdaptedGraph;

/** Of all adapters of a version together: each row computes with all of them. */
export const MAX_RANKS = 512;
/** Of the matrices of one graph, which are in one message of protobuf with it. */
const MAX_BYTES = 1_900_000_000;
const MAX_UNUSED = 10;
/** Of a file, read at once. */
const PIECE_BYTES = 4 * 1024 * 1024;

export const withoutAdapters: Adapt = (source) => ({ source, columns: [] });

export class ModelAdapters {
  readonly #names: readonly string[];
  readonly #adapters: readonly NamedAdapter[];
  readonly #problems = new Map<string, string>();
  /** `part/module` of those that a graph has, by the adapter. */
  readonly #used = new Map<string, Set<string>>();
  #digests: ReadonlyMap<string, string> = new Map();

  /** `layersPerBlock` is that of the UNet. Never throws: a file that cannot be used is a problem of its adapter. */
  constructor(files: readonly { readonly name: string; readonly path: string }[], layersPerBlock: number) {
    const adapters: NamedAdapter[] = [];
    let ranks = 0;
    for (const { name, path } of files) {
      try {
        const adapter = readAdapter(path, layersPerBlock);
        adapters.push({ ...adapter, name });
        if (ranks + adapter.rank <= MAX_RANKS) ranks += adapter.rank;
        else this.#refuse(name, path, tooManyRanks(adapter.rank, ranks));
      } catch (error) {
        this.#problems.set(name, messageOf(error, path));
      }
    }
    this.#names = files.map(({ name }) => name);
    this.#adapters = adapters;
  }

  /** Opens a graph with the adapters that change it. Where that fails, opens it without them, and they cannot be used. */
  async open<Opened>(part: AdapterPart, open: (adapt: Adapt) => Promise<Opened>): Promise<Opened> {
    let columns: readonly string[] = [];
    let graph = '';
    // The same adapters each time: another form of the graph gets the same scales, whatever became of them meanwhile.
    const adapt: Adapt = (source) => {
      const adapted = this.#adapted(part, source, columns);
      columns = adapted.columns;
      graph = source.path;
      return adapted;
    };
    try {
      return await open(adapt);
    } catch (error) {
      if (columns.length === 0) throw error;
      const opened = await open(withoutAdapters);
      for (const name of columns)
        this.#problems.set(name, `The ${part} does not run with adapters: ${withoutFolder(error, graph)}`);
      return opened;
    }
  }

  #adapted(part: AdapterPart, source: GraphSource, before: readonly string[]): AdaptedGraph {
    for (;;) {
      const isUsable = ({ name }: NamedAdapter): boolean =>
        before.length > 0 ? before.includes(name) : !this.#problems.has(name);
      const usable = this.#adapters.filter(isUsable);
      if (!usable.some(({ modules }) => modules.some((each) => each.part === part)))
        return withoutAdapters(source);
      const stored = readGraph(source);
      const plan = planAdapters(stored, part, usable);
      for (const { name, path } of usable) {
        const problem = plan.problems.get(name);
        if (problem !== undefined) this.#refuse(name, path, problem);
      }
      if (plan.columns.length === 0) return withoutAdapters(source);
      const added = addAdapters(stored, plan);
      const bytes = added.reduce((sum, each) => sum + each.bytes, 0);
      try {
        const last = plan.columns[plan.columns.length - 1];
        if (bytes > MAX_BYTES) throw new AdapterValuesError(last, new Error(tooManyBytes(bytes)));
        const adapted = rewrittenSource(source, stored, added);
        this.#note(part, plan);
        return { source: adapted, columns: plan.columns };
      } catch (error) {
        if (!(error instanceof AdapterValuesError) || before.length > 0) throw error;
        const refused = usable.find(({ name }) => name === error.adapter);
        this.#refuse(error.adapter, refused?.path ?? '', error.message);
      }
    }
  }

  #note(part: AdapterPart, { modules }: AdapterPlan): void {
    for (const { shares } of modules)
      for (const { adapter, lowRank } of shares) {
        const used = this.#used.get(adapter.name) ?? new Set();
        this.#used.set(adapter.name, used.add(`${part}/${lowRank.module}`));
      }
  }

  #refuse(name: string, path: string, predicate: string): void {
    this.#problems.set(name, refusedFile(path, predicate).message);
  }

  /** After all graphs are open: what became of each adapter. */
  get opened(): OpenedPart[] {
    return this.#names.map((name) => {
      const problem = this.problemOf(name);
      if (problem !== undefined) return { name, problem };
      const unused = this.#unusedOf(name);
      return unused.length === 0 ? { name } : { name, unused: unused.slice(0, MAX_UNUSED) };
    });
  }

  /** Why this adapter cannot be used; undefined for one that can. */
  problemOf(name: string): string | undefined {
    const problem = this.#problems.get(name);
    const adapter = this.#adapters.find((each) => each.name === name);
    if (problem !== undefined || !adapter || this.#used.has(name)) return problem;
    return refusedFile(adapter.path, 'has no layer that this model has').message;
  }

  #unusedOf(name: string): string[] {
    const { modules = [], unknown = [] } = this.#adapters.find((each) => each.name === name) ?? {};
    const used = this.#used.get(name);
    const unplaced = modules.filter(({ part, module }) => !used?.has(`${part}/${module}`));
    return [...unplaced.map(({ down }) => down.name), ...unknown];
  }

  /** Reads all files, for `digestOf`: as they were opened, whatever is at their paths now. */
  async readDigests(): Promise<void> {
    const digests = new Map<string, string>();
    for (const { name, source, modules } of this.#adapters) {
      const hash = createHash('sha256').update(JSON.stringify(modules.map(({ factor }) => factor)));
      const piece = new Uint8Array(Math.min(PIECE_BYTES, source.length));
      for (let at = 0; at < source.length; at += piece.length) {
        const part = piece.subarray(0, source.length - at);
        source.readInto(part, at);
        hash.update(part);
        await nextTurn();
      }
      digests.set(name, hash.digest('hex'));
    }
    this.#digests = digests;
  }

  /** Of the values of this adapter, and of how strongly they act, which another file may say. */
  digestOf(name: string): string {
    return this.#digests.get(name) ?? '';
  }

  /** Throws LehrError `invalid-input` for an adapter that this model has not, or that cannot be used. */
  check(used: readonly { readonly name: string }[]): void {
    for (const [index, { name }] of used.entries()) {
      const problem = this.#names.includes(name) ? this.problemOf(name) : `The model has none of this name.`;
      if (problem === undefined) continue;
      const pointer = `/input/adapters/${index}/name`;
      const detail = `${JSON.stringify(name)} cannot be used: ${problem}`;
      throw new LehrError('invalid-input', `${pointer} ${detail}`, { problems: [{ pointer, detail }] });
    }
  }

  close(): void {
    for (const { close } of this.#adapters) close();
  }
}

export const tooManyRanks = (rank: number, before: number): string =>
  `has rank ${rank}, and the adapters before it have ${before} together; a version can have ${MAX_RANKS}`;

const tooManyBytes = (bytes: number): string =>
  `is too large beside the other adapters: together they have ${bytes} bytes in one graph, which can have ${MAX_BYTES}`;

/** Callers read it: of this machine it names no folder, as errors of the file system do. */
function messageOf(error: unknown, path: string): string {
  if (error instanceof LehrError) return error.message;
  const { code = 'no reason' } = error as NodeJS.ErrnoException;
  return refusedFile(path, `cannot be read (${code})`).message;
}

const withoutFolder = (error: unknown, graph: string): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(`${dirname(graph)}/`, '');

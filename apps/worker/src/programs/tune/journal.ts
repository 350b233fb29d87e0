/**
 * What a search has measured, one JSON line each, so that it continues after a kill. The first line says what was searched; a journal
 * of something else is begun anew. A last line that is not complete is left out.
 */
import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface JournalEntry<Value> {
  readonly key: string;
  readonly value: Value;
}

export class Journal<Value> {
  readonly #path: string;
  readonly #known: Map<string, Value>;

  private constructor(path: string, known: Map<string, Value>) {
    this.#path = path;
    this.#known = known;
  }

  /** `subject`: everything that the measurements depend on. Only what `keep` accepts is not measured again. */
  static async open<Value>(
    path: string,
    subject: string,
    keep: (value: Value) => boolean = () => true,
  ): Promise<Journal<Value>> {
    const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n');
    const [head, ...entries] = lines.flatMap((line) => parsed(line));
    const isSame = (head as { subject?: unknown } | undefined)?.subject === subject;
    const known = ((isSame ? entries : []) as JournalEntry<Value>[]).filter(({ value }) => keep(value));
    await mkdir(dirname(path), { recursive: true });
    // Written again as a whole: a line after an incomplete one would be lost with it.
    const text = [{ subject }, ...known].map((line) => `${JSON.stringify(line)}\n`).join('');
    await writeFile(`${path}.${process.pid}`, text);
    await rename(`${path}.${process.pid}`, path);
    return new Journal(path, new Map(known.map(({ key, value }) => [key, value])));
  }

  get size(): number {
    return this.#known.size;
  }

  get(key: string): Value | undefined {
    return this.#known.get(key);
  }

  async add(entries: readonly JournalEntry<Value>[]): Promise<void> {
    for (const { key, value } of entries) this.#known.set(key, value);
    await appendFile(this.#path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  }

  /** The search is over. */
  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

function parsed(line: string): unknown[] {
  try {
    return [JSON.parse(line) as unknown];
  } catch {
    return [];
  }
}

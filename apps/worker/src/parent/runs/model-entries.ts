/**
 * What models.yaml says of the models that jobs can run on. The entry of a model that leaves models.yaml is kept while the model is open: a
 * job that was claimed just before has the limits and defaults that it was accepted with.
 */
import type { ModelEntry, Registry } from '@lehr/shared';
import type { OpenedModel } from '../../engine/protocol/messages.ts';

export class ModelEntries {
  readonly #registry: Registry;
  readonly #opened: () => readonly OpenedModel[];
  #entries: ReadonlyMap<string, ModelEntry> = new Map();

  /** `opened`: all models that are open, also those that no job may be claimed for any more. */
  constructor(registry: Registry, opened: () => readonly OpenedModel[]) {
    this.#registry = registry;
    this.#opened = opened;
    this.readRegistry();
  }

  /** Takes the entries of a changed models.yaml. */
  readRegistry(): void {
    const open = new Set(this.#opened().map(({ ref }) => ref));
    const kept = [...this.#entries].filter(([ref]) => open.has(ref));
    const present = this.#registry.models.flatMap((model) =>
      model.versions.map(({ version }) => [`${model.name}@${version}`, model] as const),
    );
    this.#entries = new Map([...kept, ...present]);
  }

  /** `ref` is `name@version`. */
  find(ref: string): ModelEntry | undefined {
    return this.#entries.get(ref);
  }
}

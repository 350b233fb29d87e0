/** Notices when files of open models are written in place, which changes the weights of a running model. */
import { type FilesState, filesState, writtenInPlace } from '../files-state.ts';

export class OpenFiles {
  /** By ref. */
  readonly #before = new Map<string, FilesState>();

  /** The path of a file in the folder of an open model that was written since the first call with this ref; undefined when none was. */
  async written(ref: string, folder: string): Promise<string | undefined> {
    const before = this.#before.get(ref);
    if (before) return writtenInPlace(folder, before);
    this.#before.set(ref, await filesState(folder));
    return undefined;
  }

  forget(ref: string): void {
    this.#before.delete(ref);
  }

  clear(): void {
    this.#before.clear();
  }
}

/** When a model that could not be opened is tried again: soon after a file of its folder has changed, and every few minutes. */
import type { FilesState } from '../../engine/folder/files-state.ts';

const CHECKS_PER_RETRY = 60;

interface Folder {
  readonly state: string;
  /** The state in which it was tried last. */
  readonly tried?: string | undefined;
  /** Since then. */
  readonly checks: number;
}

export class FolderRetries {
  readonly #folders = new Map<string, Folder>();

  /** The model was tried with these files; undefined: there were none. */
  tried(ref: string, files?: FilesState): void {
    const state = textOf(files);
    this.#folders.set(ref, { state, tried: state, checks: 0 });
  }

  /** Forgets what was tried of one model, or of all. */
  forget(ref?: string): void {
    if (ref === undefined) this.#folders.clear();
    else this.#folders.delete(ref);
  }

  /** Whether a model should be tried now, of which these are the files; called at each check. */
  isDue(ref: string, files: FilesState): boolean {
    const state = textOf(files);
    const known = this.#folders.get(ref);
    const folder = { state, tried: known?.tried, checks: (known?.checks ?? 0) + 1 };
    this.#folders.set(ref, folder);
    // A folder that differs from check to check is still being written.
    return known?.state === state && (folder.tried !== state || folder.checks >= CHECKS_PER_RETRY);
  }
}

const textOf = (files: FilesState | undefined): string => [...(files ?? [])].join('\n');

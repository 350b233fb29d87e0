/** The parts of `npm run lab -- real`: a section has comparisons of Lehr with other programs, and a comparison gives rows of a table. */
import type { Environment, PythonProgram } from './python.ts';

export interface Section {
  readonly title: string;
  /** Markdown under the title: what is compared, with what, where the weights come from. */
  readonly about: string;
  readonly environments: readonly Environment[];
  readonly comparisons: readonly Comparison[];
}

export interface Comparison {
  /** Identifies it in the results: lower case with hyphens. */
  readonly name: string;
  readonly title: string;
  /** Throws when it could not compare; a target that was missed is a row with `met: false`. */
  run(bench: Bench): Promise<readonly Row[]>;
}

/** What a comparison works with. */
export interface Bench {
  /** Folder for what it downloads or builds; it stays for the next run. */
  readonly cache: string;
  /** Starts a Python program of the repository in an environment of this section (the first one by default). */
  openPython(script: string, options?: PythonOptions): Promise<PythonProgram>;
  /** Shows progress. */
  say(text: string): void;
}

export interface PythonOptions {
  readonly environment?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Numbers are rounded to three digits on the page. */
export type Cell = string | number;

export interface Row {
  /** What was compared, with the name of the other program. */
  readonly what: string;
  readonly lehr?: Cell;
  readonly other?: Cell;
  /** The result: a ratio or a difference of the two, or one figure. */
  readonly figure: Cell;
  /** Of `lehr` and `other`, or of a `figure` without these. */
  readonly unit?: string;
  /** Smallest and largest figure of the rounds. */
  readonly spread?: readonly [min: number, max: number];
  /** The target: `>= 1.5`. */
  readonly wanted?: string;
  /** Only with `wanted`. */
  readonly met?: boolean;
  /** Why a target was missed, or what limits the figure. */
  readonly note?: string;
}

/** One comparison as lab/real/results has it. */
export interface ComparisonResult {
  readonly name: string;
  readonly title: string;
  readonly date: string;
  readonly machine: string;
  /** Processes that wanted a core, averaged over the last minute, before and after. */
  readonly load: readonly [before: number, after: number];
  readonly seconds: number;
  readonly rows: readonly Row[];
}

export interface SectionResults {
  readonly title: string;
  readonly about: string;
  /** `package==version` of all environments. */
  readonly versions: readonly string[];
  readonly comparisons: readonly ComparisonResult[];
}

/** In the order of the page. */
export const SECTIONS = ['whisper', 'peers', 'diffusion', 'text', 'clients'] as const;
export type SectionName = (typeof SECTIONS)[number];

/**
 * Runs the server's program for models (apps/worker/src/programs/model-tools) and reads its JSON lines. It is another process for the
 * same reasons as the doctor's: this package contains no S3 client and no ONNX Runtime.
 */
import { runServerProgram, serverProgram } from './server-program.ts';
import type { Terminal } from './terminal.ts';

export interface ListedModel {
  readonly model: string | null;
  readonly task: string | null;
  readonly source: string | null;
  readonly folder: string;
  readonly state: string;
  readonly bytes: number;
  readonly last_used_at: string | null;
}

export interface CheckedGraph {
  readonly graph: string;
  readonly provider: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly load_ms: number;
  readonly first_run_ms: number | null;
}

interface JobFigures {
  /** Pictures or windows per second when batches are full. */
  readonly jobsPerS: number;
  /** Of one job in a full batch. */
  readonly jobMs: number;
  readonly residentBytes: number;
}

interface SettingCost {
  readonly setting: string;
  readonly value: string;
  readonly figures: JobFigures;
  /** How many times worse than the chosen value. */
  readonly cost: number;
}

interface ConvertedGraph {
  readonly graph: string;
  readonly result: string;
  /** MatMuls that compute in int8. */
  readonly matmuls: number;
  readonly bytes: number;
}

export interface PreparedGraph {
  readonly graph: string;
  readonly rewired: boolean;
  readonly optimized: boolean;
  readonly difference: number | null;
  readonly tolerance: number | null;
  readonly bytes: number;
}

interface HalvedGraph {
  readonly graph: string;
  readonly precision: 'float16' | 'float32';
  /** Why it stays in float32. */
  readonly reason: string | null;
  readonly difference: number | null;
  readonly bytes: { readonly before: number; readonly after: number };
}

/** The lines of the program, as its tool-event.ts defines them. */
export type ToolEvent =
  | { readonly type: 'waiting' }
  | { readonly type: 'progress'; readonly doneBytes: number; readonly totalBytes: number }
  | { readonly type: 'retry'; readonly message: string; readonly pauseMs: number }
  | {
      readonly type: 'pulled';
      readonly model: string;
      readonly folder: string;
      readonly bytes: number;
      readonly revision: string;
      readonly is_new: boolean;
      readonly models_file: string;
    }
  | {
      readonly type: 'list';
      readonly models: readonly ListedModel[];
      readonly cache: string;
      readonly cache_bytes: number;
    }
  | {
      readonly type: 'removed';
      readonly removed: readonly string[];
      /** Not deleted, because another process is fetching them. */
      readonly kept: readonly string[];
      readonly bytes: number;
    }
  | {
      readonly type: 'checked';
      readonly folder: string;
      readonly task: string;
      readonly batching: string;
      readonly graphs: readonly CheckedGraph[];
      readonly open_ms: number;
      readonly memory_bytes: number;
    }
  | { readonly type: 'continued'; readonly measurements: number }
  | { readonly type: 'tuning'; readonly done: number; readonly total: number }
  | {
      readonly type: 'tuned';
      readonly model: string;
      readonly task: string;
      readonly goal: string;
      readonly device: string;
      readonly settings: Readonly<Record<string, string | number>>;
      readonly chosen: { readonly figures: JobFigures };
      readonly costs: readonly SettingCost[];
      readonly failed: readonly { readonly reason: string }[];
      readonly report: string;
      readonly seconds: number;
      readonly models_file: string;
    }
  | {
      readonly type: 'prepared';
      readonly folder: string;
      readonly undone: boolean;
      readonly graphs: readonly PreparedGraph[];
    }
  | {
      readonly type: 'converted';
      readonly folder: string;
      readonly graphs: readonly ConvertedGraph[];
      /** Of the logits, as a share of the largest one. */
      readonly difference: number;
      readonly tolerance: number;
      /** Tokens that both models choose, of `tokens`. */
      readonly same: number;
      readonly tokens: number;
    }
  | {
      readonly type: 'halved';
      readonly folder: string;
      readonly graphs: readonly HalvedGraph[];
      readonly tolerance: number;
    }
  | { readonly type: 'entered'; readonly models_file: string }
  | { readonly type: 'failed'; readonly code: string; readonly message: string };

type ResultType =
  | 'pulled'
  | 'list'
  | 'removed'
  | 'checked'
  | 'tuned'
  | 'entered'
  | 'prepared'
  | 'converted'
  | 'halved';
export type ToolResult<Type extends ResultType> = Extract<ToolEvent, { type: Type }>;

/** Resolves with the line of type `wanted`. Throws CliError with the program's error, and when the server is not installed here. */
export const runModelTool = <Type extends ResultType>(
  terminal: Pick<Terminal, 'env' | 'signal'>,
  request: Readonly<Record<string, unknown>>,
  wanted: Type,
  onEvent: (event: ToolEvent) => void = () => {},
): Promise<ToolResult<Type>> =>
  runServerProgram<ToolEvent, Type>(
    serverProgram('model-tools'),
    [JSON.stringify(request)],
    terminal,
    wanted,
    onEvent,
  );

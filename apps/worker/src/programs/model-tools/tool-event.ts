/** What the model commands print, one JSON line each. `lehr models` (apps/cli) reads them. */
import type { PlainError, Task, TunedSettings } from '@lehr/shared';
import type { FetchEvent } from '@lehr/shared/model-cache';
import type { HalvedGraph } from '../../engine/models/converted/convert-diffusion.ts';
import type { ConvertedText } from '../../engine/models/converted/convert-text.ts';
import type { ConvertedWhisper } from '../../engine/models/converted/convert-whisper.ts';
import type { ImportedGraph } from '../../engine/models/imported/import-folder.ts';
import type { Fusion } from '../../engine/runtime/runtime.ts';
import type { Goal } from '../tune/goal.ts';
import type { Tuning } from '../tune/tune.ts';

export interface GraphCheck {
  /** Its path in the folder; `(rewired)` follows when Lehr changed its timestep or its rows, `(prepared)` when `lehr models prepare` had. */
  readonly graph: string;
  readonly provider: string;
  /** Such as `sample float32[batch,4,64,64]`. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly load_ms: number;
  /** Of its first run. */
  readonly first_run_ms: number | null;
  /** What became of its attentions and, on CUDA, of other parts; absent where nothing was to be fused. */
  readonly fusion?: Fusion;
}

export interface ListedModel {
  /** `name@version`; null for a folder of the cache that models.yaml does not name. */
  readonly model: string | null;
  readonly task: Task | null;
  /** Where it is fetched from; null for a folder of the installation. */
  readonly source: string | null;
  readonly folder: string;
  readonly state: 'ready' | 'incomplete' | 'missing' | 'not a folder';
  readonly bytes: number;
  readonly last_used_at: string | null;
}

/** An adapter or a ControlNet of a model. */
export interface ListedPart {
  readonly kind: 'adapter' | 'control';
  readonly name: string;
  readonly model: string;
  /** The file of an adapter, the folder of a ControlNet. */
  readonly path: string;
  readonly state: 'ready' | 'missing' | 'unusable';
  readonly bytes: number;
  /** Of an adapter: the largest of its layers. */
  readonly rank?: number;
  /** Why it is unusable. */
  readonly problem?: string;
}

type Converted<Task, Made> = {
  readonly type: 'converted';
  readonly task: Task;
  readonly folder: string;
} & Made;

interface Variant {
  /** What names the graphs: a suffix, such as `_quantized`. */
  readonly variant: string;
}

export type ToolEvent =
  | FetchEvent
  /** What the progress that follows is of. */
  | { readonly type: 'stage'; readonly verb: 'fetch' | 'import' }
  /** What an export does now. */
  | { readonly type: 'step'; readonly text: string }
  | {
      readonly type: 'exported';
      /** `name@version`, or a ControlNet and its model. */
      readonly model: string;
      readonly folder: string;
      readonly bytes: number;
      readonly models_file: string;
    }
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
      readonly type: 'imported';
      readonly model: string;
      /** The version whose graphs it has. */
      readonly like: string;
      readonly folder: string;
      readonly graphs: readonly ImportedGraph[];
      /** That were written; other files are shared with the base. */
      readonly bytes: number;
      /** Tensors of the file that are in the graphs. */
      readonly used: number;
      /** Names of its other tensors. */
      readonly unused: readonly string[];
      readonly models_file: string;
    }
  | {
      readonly type: 'merged';
      readonly model: string;
      /** The version whose graphs it has. */
      readonly like: string;
      readonly folder: string;
      readonly graphs: readonly ImportedGraph[];
      /** That were written; other files are shared with the base. */
      readonly bytes: number;
      /** `layers`: how many of the model it changes. */
      readonly merged: readonly { readonly name: string; readonly scale: number; readonly layers: number }[];
      readonly models_file: string;
    }
  | {
      readonly type: 'adapter-imported';
      readonly adapter: string;
      readonly model: string;
      readonly path: string;
      readonly bytes: number;
      /** The largest of its layers. */
      readonly rank: number;
      /** How many layers of the model it changes. */
      readonly layers: number;
      /** Names of tensors of the file that change none. */
      readonly unused: readonly string[];
      readonly trigger: readonly string[];
      readonly models_file: string;
    }
  | {
      readonly type: 'list';
      readonly models: readonly ListedModel[];
      readonly parts: readonly ListedPart[];
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
      readonly task: Task;
      readonly batching: string;
      readonly graphs: readonly GraphCheck[];
      /** Of the first model of models.yaml with this folder that has some. */
      readonly parts: readonly ListedPart[];
      readonly open_ms: number;
      readonly memory_bytes: number;
    }
  /** An interrupted search continues with so many measurements. */
  | { readonly type: 'continued'; readonly measurements: number }
  /** Rows computed so far, of about so many. */
  | { readonly type: 'tuning'; readonly done: number; readonly total: number }
  | ({
      readonly type: 'tuned';
      readonly model: string;
      readonly task: 'diffusion' | 'whisper' | 'text';
      readonly goal: Goal;
      /** The first device of a worker here. */
      readonly device: NonNullable<TunedSettings['device']>;
      /** What models.yaml would get. */
      readonly settings: TunedSettings;
      /** Path of the report. */
      readonly report: string;
      readonly seconds: number;
      readonly models_file: string;
    } & Pick<Tuning, 'chosen' | 'costs' | 'failed'>)
  | {
      readonly type: 'prepared';
      readonly folder: string;
      /** What was prepared was removed. */
      readonly undone: boolean;
      readonly graphs: readonly {
        readonly graph: string;
        readonly rewired: boolean;
        readonly optimized: boolean;
        /** From the original, as a share of its largest output; null where no optimized graph could be saved. */
        readonly difference: number | null;
        readonly tolerance: number | null;
        readonly bytes: number;
      }[];
    }
  | Converted<'diffusion', { readonly graphs: readonly HalvedGraph[]; readonly tolerance: number }>
  | Converted<'whisper', ConvertedWhisper & Variant>
  | Converted<'text', ConvertedText & Variant>
  | { readonly type: 'entered'; readonly models_file: string }
  | ({ readonly type: 'failed' } & PlainError);

/** `lehr models prepare`: keeps beside a model what a worker would compute at each start, or removes it. */
import { existsSync, statSync } from 'node:fs';
import { cp, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { LehrError, type Task } from '@lehr/shared';
import { acquireLock } from '@lehr/shared/model-cache';
import { PREPARED_FOLDER } from '../../engine/folder/prepared-manifest.ts';
import { tunedSettings } from '../../engine/lanes/model-lanes.ts';
import { convertDiffusion, HALF_TOLERANCE } from '../../engine/models/converted/convert-diffusion.ts';
import { convertText } from '../../engine/models/converted/convert-text.ts';
import { undoConversion, VARIANTS } from '../../engine/models/converted/convert-variant.ts';
import { convertWhisper } from '../../engine/models/converted/convert-whisper.ts';
import { isHalfCopy } from '../../engine/models/converted/manifest.ts';
import { type FolderOptions, optionsOfEntry, taskOfFolder } from '../../engine/models/open-folder.ts';
import { prepareFolder, unprepareFolder } from '../../engine/models/prepared/prepare-folder.ts';
import { onnxRuntime } from '../../engine/runtime/onnx.ts';
import type { ToolEvent } from './tool-event.ts';
import type { ToolSettings } from './tool-settings.ts';
import { findVersion } from './versions.ts';

export interface PrepareRequest {
  /** `name` or `name@version` of models.yaml. */
  readonly model: string;
  /** Absolute path of what may be a folder of that name. */
  readonly folder: string;
  /** Absolute path of a folder to make: a copy of the model that is prepared, while the model stays as it is. */
  readonly out?: string | undefined;
  /** Removes what was prepared. */
  readonly undo: boolean;
  readonly variant?: string | undefined;
  /** `int8` or `fp16`: writes the graphs again, beside the originals; those of a model for pictures in `out`. */
  readonly precision?: string | undefined;
}

type Precision = 'int8' | 'fp16';
/** Makes what the command shows from a folder, which is named `shown` afterwards. */
type Maker = (folder: string, options: FolderOptions, shown: string) => Promise<ToolEvent>;

/** What writes graphs in a precision. */
const CONVERSIONS: Readonly<Record<Task, Partial<Record<Precision, Maker>>>> = {
  diffusion: { fp16: halved },
  whisper: { int8: quantizedSpeech },
  text: {
    int8: (folder, options, shown) => convertedText('int8', folder, options, shown),
    fp16: (folder, options, shown) => convertedText('fp16', folder, options, shown),
  },
  transform: {},
};

export async function prepare(request: PrepareRequest, settings: ToolSettings): Promise<ToolEvent> {
  const { task, folder, options } = await find(request, settings);
  if (request.undo) {
    const wasPrepared = await locked(folder, async () => {
      const wasConverted = await undoConversion(folder);
      return (await unprepareFolder(folder)) || wasConverted;
    });
    if (!wasPrepared && (await isHalfCopy(folder))) {
      const advice = 'it has no float32 graphs to go back to. The original is as it was; delete this folder.';
      throw new LehrError('conflict', `${folder} is a copy in half precision, and ${advice}`);
    }
    return { type: 'prepared', folder, undone: wasPrepared, graphs: [] };
  }
  const { out } = request;
  const make = makerOf(request, task);
  if (out === undefined) return locked(folder, () => make(folder, options, folder));
  // One name for all runs of a copy: the next one removes what a killed run has left.
  const draft = `${out}.lehr-draft`;
  return lockedBy(`${draft}.lock`, async () => {
    if (existsSync(out))
      throw new LehrError('conflict', `${out} is already there; --out names a new folder.`);
    try {
      await copyFolder(folder, draft);
      const event = await make(draft, options, out).catch((error) => {
        throw namingOriginal(error, draft, folder);
      });
      await rename(draft, out);
      return event;
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  });
}

async function copyFolder(folder: string, copy: string): Promise<void> {
  await rm(copy, { recursive: true, force: true });
  await cp(folder, copy, {
    recursive: true,
    dereference: true,
    preserveTimestamps: true,
    filter: (path) => !basename(path).startsWith(PREPARED_FOLDER),
  });
}

/** What Lehr refuses in the copy is so in the folder that it was made from, and only that one is there afterwards. */
function namingOriginal(error: unknown, draft: string, folder: string): unknown {
  if (!(error instanceof LehrError)) return error;
  return new LehrError(error.code, error.message.replaceAll(draft, folder), { cause: error });
}

/** Throws LehrError `invalid-request` when the model cannot have the precision that is asked for. */
function makerOf({ precision, variant, out }: PrepareRequest, task: Task): Maker {
  if (precision === undefined) return (folder, options, shown) => prepared(task, folder, options, shown);
  const refused = (found: string, wanted: string): LehrError =>
    new LehrError('invalid-request', `${found}; ${wanted}`);
  if (precision !== 'int8' && precision !== 'fp16')
    throw refused(`--precision is ${precision}`, 'allowed are int8 and fp16.');
  const make = CONVERSIONS[task][precision];
  if (!make) {
    const tasks = Object.entries(CONVERSIONS).flatMap(([each, makers]) => (makers[precision] ? each : []));
    throw refused(
      `The model's task is ${task}`,
      `--precision ${precision} is for models of the tasks ${tasks.join(' and ')}.`,
    );
  }
  if (task === 'diffusion' && out === undefined) {
    const why = 'because a folder of a model for pictures has one set of graph names.';
    throw refused('--precision fp16 is without --out', `give --out NEW_FOLDER, ${why}`);
  }
  if (variant) throw refused(`--variant is ${variant}`, '--precision converts the export without a variant.');
  return make;
}

async function halved(folder: string, options: FolderOptions, shown: string): Promise<ToolEvent> {
  const graphs = await convertDiffusion(folder, onnxRuntime, options);
  return { type: 'converted', task: 'diffusion', folder: shown, graphs, tolerance: HALF_TOLERANCE };
}

async function quantizedSpeech(folder: string, options: FolderOptions, shown: string): Promise<ToolEvent> {
  const converted = await convertWhisper(folder, onnxRuntime, options);
  return { type: 'converted', task: 'whisper', folder: shown, variant: VARIANTS.int8, ...converted };
}

async function convertedText(
  precision: Precision,
  folder: string,
  options: FolderOptions,
  shown: string,
): Promise<ToolEvent> {
  const converted = await convertText(folder, onnxRuntime, options, precision);
  return { type: 'converted', task: 'text', folder: shown, variant: VARIANTS[precision], ...converted };
}

async function prepared(
  task: Task,
  folder: string,
  options: FolderOptions,
  shown: string,
): Promise<ToolEvent> {
  const { graphs } = await prepareFolder(task, folder, onnxRuntime, options);
  return {
    type: 'prepared',
    folder: shown,
    undone: false,
    graphs: graphs.map(({ graph, rewired, optimized, difference, tolerance }) => ({
      graph,
      rewired: rewired !== undefined,
      optimized: optimized !== undefined,
      difference: difference ?? null,
      tolerance: tolerance ?? null,
      bytes: [...(rewired ? [rewired] : []), ...(optimized ?? [])].reduce((sum, { bytes }) => sum + bytes, 0),
    })),
  };
}

interface Found {
  readonly task: Task;
  readonly folder: string;
  readonly options: FolderOptions;
}

/** A folder of this name comes before a model of this name. */
async function find({ model, folder, variant }: PrepareRequest, settings: ToolSettings): Promise<Found> {
  const { providers, threads } = settings;
  const engine = { providers, rowCap: 'auto', ...(threads !== undefined && { threads }) } as const;
  if (existsSync(folder) && statSync(folder).isDirectory()) {
    return {
      task: taskOfFolder(folder),
      folder,
      options: { ...engine, ...(variant && { variant: `_${variant}` }) },
    };
  }
  const {
    entry,
    version,
    folder: place,
  } = await findVersion(model, settings, 'neither a folder nor a model');
  const tuned = tunedSettings(engine, version.tuned);
  return {
    task: entry.task,
    folder: place,
    options: { ...optionsOfEntry(entry), ...tuned, ...(variant && { variant: `_${variant}` }) },
  };
}

/** Two preparations at once would remove each other's files. */
const locked = <Result>(folder: string, use: () => Promise<Result>): Promise<Result> =>
  lockedBy(join(folder, `${PREPARED_FOLDER}.lock`), use);

async function lockedBy<Result>(path: string, use: () => Promise<Result>): Promise<Result> {
  const lock = await acquireLock(path, AbortSignal.timeout(60_000), () => {});
  try {
    return await use();
  } finally {
    await lock.release();
  }
}

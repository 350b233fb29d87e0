/** `lehr models prepare --merge`: makes a version that draws as its base does with adapters, and computes no more than the base. */
import { type DiffusionModelEntry, fieldsOfModel, LehrError } from '@lehr/shared';
import { adapterPath } from '@lehr/shared/model-cache';
import { readUnetConfig } from '../../engine/models/adapters/check-adapter.ts';
import { readAdapter } from '../../engine/models/adapters/read-adapter.ts';
import { filesOfModel } from '../../engine/models/imported/import-folder.ts';
import { type AdapterToMerge, planMerge } from '../../engine/models/imported/merge-adapters.ts';
import { keptGraph } from '../../engine/models/imported/plan-import.ts';
import { ofFileSystem } from './given-file.ts';
import type { ToolEvent } from './tool-event.ts';
import { placesOf, type ToolSettings } from './tool-settings.ts';
import { findVersion, newRef } from './versions.ts';
import { importedHome, lockedHome, nameOf, writeVersion } from './write-version.ts';

export interface MergeRequest {
  /** `name` or `name@version` of models.yaml. */
  readonly model: string;
  /** `ADAPTER` or `ADAPTER:SCALE`, each of the model's. */
  readonly merge: readonly string[];
  /** `name` or `name@version`. */
  readonly as?: string | undefined;
}

export async function mergeAdapters(
  { model, merge, as }: MergeRequest,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const { entry, folder } = await findVersion(model, settings, 'not a model');
  if (entry.task !== 'diffusion')
    throw new LehrError(
      'invalid-request',
      `${entry.name} is a model of the task ${entry.task}, which has no adapters.`,
    );
  const uses = usesOf(merge, entry);
  const name = as ?? [entry.name, ...uses.map((use) => use.adapter.name)].join('-').slice(0, 64);
  const home = importedHome(settings);
  await newRef(name, home, settings);
  const { layersPerBlock } = await readUnetConfig(folder);
  const opened: AdapterToMerge[] = [];
  try {
    for (const { adapter, scale } of uses) {
      const file = readAdapter(adapterPath(adapter, placesOf(settings)), layersPerBlock);
      opened.push({ ...file, name: adapter.name, scale });
    }
    const graphs = (await filesOfModel(folder)).filter((each) => each.endsWith('.onnx'));
    const plan = planMerge(
      graphs.map((graph) => keptGraph(folder, graph)),
      opened,
      model,
    );
    await lockedHome(home, report, async () => {
      const ref = await newRef(name, home, settings);
      const base = { folder, name: model, task: entry.task };
      const fields = (text: string) => withoutMerged(fieldsOfModel(text, entry.name), uses);
      const made = await writeVersion(
        { base, plan, valuesOf: plan.valuesOf, ref, model: fields },
        settings,
        report,
      );
      const merged = uses.map(({ adapter, scale }) => ({
        name: adapter.name,
        scale,
        layers: plan.layers.get(adapter.name) ?? 0,
      }));
      report({
        type: 'merged',
        model: nameOf(ref),
        like: model,
        ...made,
        merged,
        models_file: settings.modelsFile,
      });
    });
  } catch (error) {
    throw ofFileSystem(error, home, model);
  } finally {
    for (const { close } of opened) close();
  }
}

interface Use {
  readonly adapter: DiffusionModelEntry['adapters'][number];
  readonly scale: number;
}

const MAX_SCALE = 10;

/** Throws LehrError `invalid-request`. */
function usesOf(merge: readonly string[], { name, adapters }: DiffusionModelEntry): Use[] {
  const uses = merge.map((text): Use => {
    const [wanted, scale, ...rest] = text.split(':');
    const adapter = adapters.find((each) => each.name === wanted);
    const names = adapters.map((each) => each.name).join(', ') || 'none';
    if (!adapter)
      throw new LehrError(
        'invalid-request',
        `${name} has no adapter ${JSON.stringify(wanted)}; it has: ${names}.`,
      );
    const value = scale === undefined ? adapter.scale : Number(scale || Number.NaN);
    if (rest.length > 0 || !(Math.abs(value) <= MAX_SCALE))
      throw new LehrError(
        'invalid-request',
        `--merge is ${JSON.stringify(text)}, expected ADAPTER:SCALE with a scale of -${MAX_SCALE} to ${MAX_SCALE}.`,
      );
    return { adapter, scale: value };
  });
  const twice = uses.find(({ adapter }, i) => uses.findIndex((use) => use.adapter === adapter) !== i);
  if (twice) throw new LehrError('invalid-request', `--merge names ${twice.adapter.name} twice.`);
  return uses;
}

/** A request that names a merged adapter would add it once more. */
function withoutMerged(
  { adapters, ...fields }: Readonly<Record<string, unknown>>,
  uses: readonly Use[],
): Readonly<Record<string, unknown>> {
  const merged = new Set<unknown>(uses.map(({ adapter }) => adapter.name));
  const kept = Array.isArray(adapters) ? adapters.filter(({ name }) => !merged.has(name)) : [];
  return { ...fields, ...(kept.length > 0 && { adapters: kept }) };
}

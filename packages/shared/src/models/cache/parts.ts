/** Where the files are that a model of models.yaml uses: those of its versions, its adapters and its ControlNets. */
import { basename, join } from 'node:path';
import type { DiffusionModelEntry, ModelEntry, Registry } from '../registry.ts';
import { cachedFolder, fromModelsFile, type ModelPlaces, sourceOf } from './fetch-model.ts';
import { parseTypedFile, type SourceFields } from './source.ts';

type AdapterEntry = DiffusionModelEntry['adapters'][number];

/** What to fetch; undefined for a file of the installation. */
const adapterSource = ({ source, revision }: AdapterEntry): SourceFields | undefined =>
  source === undefined ? undefined : { source, revision, part: 'adapter' };

/** Where the file of an adapter is. One with a source may not be there yet. */
export function adapterPath(adapter: AdapterEntry, { models, cache }: ModelPlaces): string {
  const fields = adapterSource(adapter);
  if (!fields) return fromModelsFile(models, adapter.path ?? '');
  return join(cachedFolder(cache, fields), parseTypedFile(fields.source, fields.revision)?.name ?? '');
}

type ControlEntry = DiffusionModelEntry['controls'][number];

/** What to fetch; undefined for a folder of the installation. */
const controlSource = ({ source, revision }: ControlEntry): SourceFields | undefined =>
  source === undefined ? undefined : { source, revision };

/** Where the folder of a ControlNet is. One with a source may not be there yet. */
export function controlFolder(control: ControlEntry, { models, cache }: ModelPlaces): string {
  const fields = controlSource(control);
  return fields ? cachedFolder(cache, fields) : fromModelsFile(models, control.path ?? '');
}

interface PartFiles {
  readonly adapters: readonly { readonly name: string; readonly path: string }[];
  readonly controls: readonly { readonly name: string; readonly folder: string }[];
}

/** Where all of them are. */
export function partFiles(model: ModelEntry, places: ModelPlaces): PartFiles {
  if (model.task !== 'diffusion') return { adapters: [], controls: [] };
  return {
    adapters: model.adapters.map((each) => ({ name: each.name, path: adapterPath(each, places) })),
    controls: model.controls.map((each) => ({ name: each.name, folder: controlFolder(each, places) })),
  };
}

interface PartToFetch {
  /** For people: `adapter NAME of MODEL`. */
  readonly label: string;
  readonly fields: SourceFields;
}

/** What a model uses beside the folders of its versions, as far as it has a source. */
export function partsToFetch(model: ModelEntry): PartToFetch[] {
  if (model.task !== 'diffusion') return [];
  const parts = [
    ...model.adapters.map((each) => ({ label: `adapter ${each.name}`, fields: adapterSource(each) })),
    ...model.controls.map((each) => ({ label: `control ${each.name}`, fields: controlSource(each) })),
  ];
  return parts.flatMap(({ label, fields }) =>
    fields ? [{ label: `${label} of ${model.name}`, fields }] : [],
  );
}

/** The names in the cache of all that models.yaml names. */
export const namesInCache = ({ models }: Registry): ReadonlySet<string> =>
  new Set(
    models.flatMap((model) =>
      [
        ...model.versions.flatMap((version) => sourceOf(version) ?? []),
        ...partsToFetch(model).map(({ fields }) => fields),
      ].map((fields) => basename(cachedFolder('', fields))),
    ),
  );

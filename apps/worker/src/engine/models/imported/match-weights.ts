/** Which weight of a file belongs at which place of a graph. */
import { type NamedWeight, shapeOf } from '../weights/layouts.ts';
import type { WeightPlace } from '../weights/weight-places.ts';

export interface FilledPlace {
  readonly place: WeightPlace;
  readonly weight: NamedWeight;
  /** The values are to be written with rows as columns. */
  readonly isTransposed: boolean;
}

export interface Matched {
  readonly filled: readonly FilledPlace[];
  /** Needed by the graph, and not in the file. */
  readonly missing: readonly string[];
  /** In the file, with another shape than the graph's. */
  readonly misshapen: readonly { readonly weight: NamedWeight; readonly wanted: readonly number[] }[];
  /** In the file, while the graph has a constant of its module and shape that may be an earlier form of it. */
  readonly unplaced: readonly NamedWeight[];
}

type ByName = ReadonlyMap<string, NamedWeight>;

export function matchWeights(places: readonly WeightPlace[], weights: ByName): Matched {
  const nameInFile = namesBetween(places, weights);
  const filled: FilledPlace[] = [];
  const open: WeightPlace[] = [];
  const missing: string[] = [];
  const misshapen: Matched['misshapen'][number][] = [];
  for (const place of places) {
    const found = place.candidates.flatMap((candidate) => {
      const weight = weightFor(nameInFile(candidate.name), weights);
      return weight
        ? [{ weight, isTransposed: candidate.isTransposed !== (weight.isTransposed ?? false) }]
        : [];
    });
    const fitting = found.find(({ weight, isTransposed }) => fits(weight, isTransposed, place.dims));
    if (fitting) filled.push({ place, ...fitting });
    else if (!place.isNeeded) open.push(place);
    else if (found.length > 0) misshapen.push({ weight: found[0].weight, wanted: place.dims });
    else missing.push(place.candidates[0].name);
  }
  const used = new Set(filled.map(({ weight }) => weight));
  const unused = [...weights.values()].filter((weight) => !used.has(weight));
  const unplaced = open.flatMap(
    (place) => unused.find((weight) => mayBelong(weight, place, nameInFile)) ?? [],
  );
  return { filled, missing, misshapen, unplaced };
}

/** A constant in the module of an unused weight, with its shape: an exporter may have folded it in a way that is not known here. */
function mayBelong(
  weight: NamedWeight,
  { dims, candidates }: WeightPlace,
  nameInFile: (name: string) => string,
) {
  const size = dims.reduce((product, each) => product * each, 1);
  const module = nameInFile(candidates[0].name).split('.').slice(0, -1).join('.');
  return size > 1 && module !== '' && weight.name.startsWith(`${module}.`) && fits(weight, false, dims);
}

/** Projections that are the transposed table of their model's tokens, and which files leave out. */
const TIED: readonly (readonly [ending: RegExp, tables: readonly string[]])[] = [
  [/(?:^|\.)proj_out\.weight$/, ['model.decoder.embed_tokens.weight', 'decoder.embed_tokens.weight']],
  [/^cls\.predictions\.decoder\.weight$/, ['bert.embeddings.word_embeddings.weight']],
  [/^cls\.predictions\.decoder\.bias$/, ['cls.predictions.bias']],
  [/^lm_head\.decoder\.weight$/, ['roberta.embeddings.word_embeddings.weight']],
  [/^lm_head\.decoder\.bias$/, ['lm_head.bias']],
  [/^vocab_projector\.weight$/, ['distilbert.embeddings.word_embeddings.weight']],
];

function weightFor(name: string, weights: ByName): NamedWeight | undefined {
  const tables = TIED.find(([ending]) => ending.test(name))?.[1] ?? [];
  return [name, ...tables].flatMap((each) => weights.get(each) ?? []).at(0);
}

/** Exporters wrap a model in modules of their own, or export a part of it: names differ by their first modules. */
function namesBetween(places: readonly WeightPlace[], weights: ByName): (name: string) => string {
  const names = places.flatMap(({ candidates }) => candidates.map(({ name }) => name));
  const known = new Set(names);
  let best = { found: -1, remove: '', add: '' };
  for (const remove of beginnings(names)) {
    for (const add of beginnings([...weights.keys()])) {
      let found = 0;
      for (const name of known) if (weights.has(renamed(name, remove, add))) found += 1;
      if (found > best.found) best = { found, remove, add };
    }
  }
  return (name) => renamed(name, best.remove, best.add);
}

const renamed = (name: string, remove: string, add: string): string =>
  `${add}${name.startsWith(remove) ? name.slice(remove.length) : name}`;

/** Nothing, and the first one and two modules of at least a tenth of the names. */
function beginnings(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) {
    const modules = name.split('.');
    for (const count of [1, 2]) {
      const beginning = `${modules.slice(0, count).join('.')}.`;
      if (modules.length > count) counts.set(beginning, (counts.get(beginning) ?? 0) + 1);
    }
  }
  return [
    '',
    ...[...counts].filter(([, count]) => count * 10 >= names.length).map(([beginning]) => beginning),
  ];
}

/** A linear layer may be a convolution of size 1, and a scale may have more dimensions: sizes of 1 do not count. */
function fits(weight: NamedWeight, isTransposed: boolean, dims: readonly number[]): boolean {
  const shape = shapeOf(weight).filter((size) => size !== 1);
  if (isTransposed && shape.length > 2) return false;
  return (isTransposed ? shape.toReversed() : shape).join() === dims.filter((size) => size !== 1).join();
}

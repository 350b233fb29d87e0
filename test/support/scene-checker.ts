/**
 * Checks whether a picture shows the scene of its prompt, with the same verdicts as train/diffusion/checker.py of the demo
 * models, and reads the prompts that the model was not trained on.
 */
import { readFileSync } from 'node:fs';
import {
  type Pixels,
  readScene,
  type Scene,
  type SceneBackground,
  type SceneObject,
} from './scene-reading.ts';

/** A field is null if the prompt does not state it. */
export interface SceneSpec {
  readonly background: {
    readonly kind: SceneBackground['kind'] | 'split';
    readonly colours: string[];
  } | null;
  readonly groups: readonly SpecGroup[];
  readonly relation: { readonly kind: string; readonly place?: readonly number[] } | null;
}

export interface SpecGroup {
  /** Null in a sentence that states no scene, only colours. */
  readonly count: number | null;
  readonly shape: string | null;
  readonly colour: string | null;
  readonly size: string | null;
}

export const MEASURES = ['background', 'colours', 'shapes', 'relation', 'sizes', 'all'] as const;
export type Measure = (typeof MEASURES)[number];
/** `all` leaves the sizes out. */
export type Verdict = Readonly<Record<Measure, boolean>>;

export interface HeldOutPrompt {
  readonly id: number;
  readonly prompt: string;
  readonly seed: number;
  readonly width: number;
  readonly height: number;
  readonly spec: SceneSpec;
}

const PROMPTS = new URL('../../packages/demo-models/train/diffusion/eval/prompts.json', import.meta.url);

/** 300 prompts about combinations that no training picture shows. */
export const heldOutPrompts: readonly HeldOutPrompt[] = JSON.parse(readFileSync(PROMPTS, 'utf8'));

export function checkScene(pixels: Pixels, spec: SceneSpec): Verdict {
  const scene = readScene(pixels);
  const background = backgroundRight(scene.background, spec.background);
  const isStated = spec.groups.every(({ count }) => count !== null);
  const rest = isStated ? checkObjects(scene, spec) : checkLoosely(scene, spec);
  return { background, ...rest, all: background && rest.colours && rest.shapes && rest.relation };
}

/** How many pictures were checked for a measure, and how many were right. Relations count only if the prompt states one. */
export type Tally = Readonly<Record<Measure, { readonly right: number; readonly asked: number }>>;

export function tallyOf(results: readonly { spec: SceneSpec; verdict: Verdict }[]): Tally {
  const entries = MEASURES.map((measure) => {
    const asked = results.filter(({ spec }) => measure !== 'relation' || spec.relation !== null);
    const right = asked.filter(({ verdict }) => verdict[measure]);
    return [measure, { right: right.length, asked: asked.length }];
  });
  return Object.fromEntries(entries);
}

function backgroundRight(found: SceneBackground | null, wanted: SceneSpec['background']): boolean {
  if (!found || !wanted) return found !== null;
  // Two tones whose direction the prompt leaves open.
  if (wanted.kind === 'split') {
    return found.kind !== 'plain' && [...found.colours].sort().join() === [...wanted.colours].sort().join();
  }
  return found.kind === wanted.kind && found.colours.join() === wanted.colours.join();
}

type ObjectVerdict = Omit<Verdict, 'background' | 'all'>;

/** For a sentence that states no scene: the picture has well-formed objects in the colours that it names. */
function checkLoosely({ objects }: Scene, { groups }: SceneSpec): ObjectVerdict {
  const wellFormed = objects.length >= 1 && objects.length <= 3 && objects.every(({ colour }) => colour);
  const colours = groups.flatMap(({ colour }) => colour ?? []);
  return {
    colours: wellFormed && colours.every((colour) => objects.some((each) => each.colour === colour)),
    shapes: wellFormed && objects.every(({ shape }) => shape),
    relation: true,
    sizes: true,
  };
}

/** A stated object and the object that was found for it. */
interface Filled {
  readonly group: number;
  readonly object: SceneObject;
}

/** Tries every assignment of found to stated objects. The best has the most right colours, then shapes, relation, sizes. */
function checkObjects(scene: Scene, { groups, relation }: SceneSpec): ObjectVerdict {
  const slots = groups.flatMap((group, index) =>
    Array.from({ length: group.count ?? 0 }, () => ({ group, index })),
  );
  let best: number[] = [];
  for (const order of scene.objects.length === slots.length ? permutations(scene.objects) : []) {
    const right = (key: 'colour' | 'shape' | 'size'): number =>
      slots.filter(({ group }, i) => order[i][key] !== null && [null, order[i][key]].includes(group[key]))
        .length;
    const filled = slots.map(({ index }, i) => ({ group: index, object: order[i] }));
    const related = relationRight(relation, filled, scene) ? 1 : 0;
    const rank = [right('colour'), right('shape'), related, right('size')];
    if (best.length === 0 || isMore(rank, best)) best = rank;
  }
  const [colours, shapes, related, sizes] = best;
  const all = slots.length;
  return { colours: colours === all, shapes: shapes === all, relation: related === 1, sizes: sizes === all };
}

function isMore(a: readonly number[], b: readonly number[]): boolean {
  const first = a.findIndex((value, i) => value !== b[i]);
  return first >= 0 && a[first] > b[first];
}

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));

function relationRight(
  relation: SceneSpec['relation'],
  filled: readonly Filled[],
  { width, height }: Scene,
): boolean {
  if (!relation) return true;
  const count = 1 + Math.max(...filled.map(({ group }) => group));
  const groups = Array.from({ length: count }, (_, index) =>
    filled.filter(({ group }) => group === index).map(({ object }) => object),
  );
  switch (relation.kind) {
    case 'at': {
      const [{ x, y }] = groups[0];
      return [third(x / width), third(y / height)].join() === relation.place?.join();
    }
    case 'left':
    case 'above': {
      const [main, cross] = relation.kind === 'left' ? (['x', 'y'] as const) : (['y', 'x'] as const);
      return groups[0].every((a) =>
        groups[1].every((b) => {
          const distance = b[main] - a[main];
          return distance > 0.05 && distance > 0.7 * Math.abs(b[cross] - a[cross]);
        }),
      );
    }
    case 'beside': {
      const apart = (key: 'x' | 'y'): number => Math.abs(mean(groups[0], key) - mean(groups[1], key));
      return apart('x') > apart('y');
    }
    case 'between': {
      const [a, b, c] = groups.flat();
      return (['x', 'y'] as const).some(
        (key) => Math.min(b[key], c[key]) < a[key] && a[key] < Math.max(b[key], c[key]),
      );
    }
    case 'row':
    case 'column': {
      const [main, cross] = relation.kind === 'row' ? (['x', 'y'] as const) : (['y', 'x'] as const);
      // Equal objects may be in any order.
      const line = groups.length === 1 ? groups[0].toSorted((a, b) => a[main] - b[main]) : groups.flat();
      return line.every((b, i) => {
        const a = line[i - 1];
        return i === 0 || b[main] - a[main] > Math.abs(b[cross] - a[cross]);
      });
    }
    default:
      throw new Error(`no relation is called ${relation.kind}`);
  }
}

const third = (place: number): number => (place < 0.38 ? -1 : place > 0.62 ? 1 : 0);

const mean = (objects: readonly SceneObject[], key: 'x' | 'y'): number =>
  objects.reduce((sum, object) => sum + object[key], 0) / objects.length;

/**
 * Finds the background and the flat objects of a picture by plain geometry. The rules and limits are those of
 * train/diffusion/checker.py of the demo models, which explains them.
 */
import { readFileSync } from 'node:fs';

const EVAL = new URL('../../packages/demo-models/train/diffusion/eval/', import.meta.url);
const readEval = <T>(name: string): T => JSON.parse(readFileSync(new URL(name, EVAL), 'utf8')) as T;

/** RGB, 8 bits, row-major, height x width x 3. */
export interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

export interface SceneBackground {
  readonly kind: 'plain' | 'rows' | 'columns';
  readonly colours: readonly string[];
}

/** Colour or shape is null if it is not in the palette or not known. The position is in units of the shorter side. */
export interface SceneObject {
  readonly colour: string | null;
  readonly shape: string | null;
  readonly size: 'small' | 'medium' | 'large' | null;
  readonly x: number;
  readonly y: number;
}

export interface Scene {
  readonly background: SceneBackground | null;
  readonly objects: readonly SceneObject[];
  /** In units of the shorter side. */
  readonly width: number;
  readonly height: number;
}

interface Template {
  readonly half_width: number;
  readonly half_height: number;
  readonly rows: readonly string[];
}

const PALETTE = Object.entries(readEval<Record<string, readonly number[]>>('palette.json'));
const TEMPLATES = Object.entries(readEval<Record<string, Template>>('templates.json'));
/** The label of a pixel that is near no palette colour. */
const UNKNOWN = PALETTE.length;
const MAX_DISTANCE = 64;
/** A share of the picture; a component with a smaller core is a fringe between two colours. */
const MIN_CORE = 0.0008;
const MIN_IOU = 0.75;
const GRID = 32;

export function readScene(pixels: Pixels): Scene {
  const { width, height } = pixels;
  const labels = labelPixels(pixels);
  const background = findBackground(labels, width, height);
  const ignored = background ? background.colours.map(labelOf) : [mostFrequent(labels).label];
  const unit = Math.min(width, height);
  const objects = components(labels, width, new Set(ignored))
    .filter((component) => coreArea(component) >= MIN_CORE * width * height)
    .map((component) => objectOf(component, unit));
  return { background, objects, width: width / unit, height: height / unit };
}

const labelOf = (colour: string): number => PALETTE.findIndex(([name]) => name === colour);

function labelPixels({ data, width, height }: Pixels): Uint8Array {
  const labels = new Uint8Array(width * height);
  for (let i = 0; i < labels.length; i++) {
    let nearest = MAX_DISTANCE ** 2 + 1;
    labels[i] = UNKNOWN;
    for (const [label, [, [red, green, blue]]] of PALETTE.entries()) {
      const distance =
        (data[3 * i] - red) ** 2 + (data[3 * i + 1] - green) ** 2 + (data[3 * i + 2] - blue) ** 2;
      if (distance >= nearest) continue;
      nearest = distance;
      labels[i] = label;
    }
  }
  return labels;
}

function mostFrequent(labels: Uint8Array): { label: number; count: number } {
  const counts = new Array<number>(UNKNOWN + 1).fill(0);
  for (const label of labels) counts[label] += 1;
  const count = Math.max(...counts);
  return { label: counts.indexOf(count), count };
}

/** Reads the background from the majority colours of eight strips along the edges, where objects never are. */
function findBackground(labels: Uint8Array, width: number, height: number): SceneBackground | null {
  const thick = Math.max(2, Math.round(0.02 * Math.min(width, height)));
  const [middleX, middleY] = [Math.floor(width / 2), Math.floor(height / 2)];
  const colour = (x0: number, x1: number, y0: number, y1: number): string | undefined => {
    const rows = Array.from({ length: y1 - y0 }, (_, i) => [
      ...labels.subarray((y0 + i) * width + x0, (y0 + i) * width + x1),
    ]);
    const strip = Uint8Array.from(rows.flat());
    const { label, count } = mostFrequent(strip);
    return label === UNKNOWN || count < 0.8 * strip.length ? undefined : PALETTE[label][0];
  };
  const [top, bottom] = [
    [0, thick],
    [height - thick, height],
  ].map(([y0, y1]) => [colour(0, middleX, y0, y1), colour(middleX, width, y0, y1)]);
  const [left, right] = [
    [0, thick],
    [width - thick, width],
  ].map(([x0, x1]) => [colour(x0, x1, 0, middleY), colour(x0, x1, middleY, height)]);
  const only = (colours: readonly (string | undefined)[]): string | undefined =>
    new Set(colours).size === 1 ? colours[0] : undefined;
  const plain = only([...top, ...bottom, ...left, ...right]);
  if (plain) return { kind: 'plain', colours: [plain] };
  const [above, below] = [only([...top, left[0], right[0]]), only([...bottom, left[1], right[1]])];
  if (above && below) return { kind: 'rows', colours: [above, below] };
  const [west, east] = [only([...left, top[0], bottom[0]]), only([...right, top[1], bottom[1]])];
  return west && east ? { kind: 'columns', colours: [west, east] } : null;
}

/** The mask is cut to the bounding box, whose corner is at x0, y0. */
interface Component {
  readonly label: number;
  readonly mask: Uint8Array;
  readonly x0: number;
  readonly y0: number;
  readonly width: number;
  readonly height: number;
}

/** Connected over the four sides of a pixel. */
function components(labels: Uint8Array, width: number, ignored: ReadonlySet<number>): Component[] {
  const seen = new Uint8Array(labels.length);
  const found: Component[] = [];
  for (let start = 0; start < labels.length; start++) {
    if (seen[start] || ignored.has(labels[start])) continue;
    const label = labels[start];
    const members = [start];
    seen[start] = 1;
    for (let next = 0; next < members.length; next++) {
      const at = members[next];
      const x = at % width;
      const neighbours = [at - width, at + width];
      if (x > 0) neighbours.push(at - 1);
      if (x < width - 1) neighbours.push(at + 1);
      for (const neighbour of neighbours) {
        if (labels[neighbour] !== label || seen[neighbour]) continue;
        seen[neighbour] = 1;
        members.push(neighbour);
      }
    }
    found.push(componentOf(label, members, width));
  }
  return found;
}

function componentOf(label: number, members: readonly number[], pictureWidth: number): Component {
  let [x0, x1, y0, y1] = [pictureWidth, 0, Number.MAX_SAFE_INTEGER, 0];
  for (const at of members) {
    const [x, y] = [at % pictureWidth, Math.floor(at / pictureWidth)];
    [x0, x1, y0, y1] = [Math.min(x0, x), Math.max(x1, x), Math.min(y0, y), Math.max(y1, y)];
  }
  const [width, height] = [x1 - x0 + 1, y1 - y0 + 1];
  const mask = new Uint8Array(width * height);
  for (const at of members) {
    mask[(Math.floor(at / pictureWidth) - y0) * width + (at % pictureWidth) - x0] = 1;
  }
  return { label, mask, x0, y0, width, height };
}

/** How many pixels have all eight neighbours in the component. */
function coreArea({ mask, width, height }: Component): number {
  const steps = [-width - 1, -width, -width + 1, -1, 0, 1, width - 1, width, width + 1];
  let area = 0;
  for (let y = 1; y < height - 1; y++) {
    for (let x = 1; x < width - 1; x++) if (steps.every((step) => mask[y * width + x + step])) area += 1;
  }
  return area;
}

function objectOf(component: Component, unit: number): SceneObject {
  const { label, x0, y0, width, height } = component;
  const match = classify(component);
  return {
    colour: label === UNKNOWN ? null : PALETTE[label][0],
    shape: match?.shape ?? null,
    size: match ? sizeOf((width / match.half_width + height / match.half_height) / 4 / unit) : null,
    x: (x0 + width / 2) / unit,
    y: (y0 + height / 2) / unit,
  };
}

const sizeOf = (radius: number): SceneObject['size'] =>
  radius < 0.1 ? 'small' : radius < 0.157 ? 'medium' : 'large';

/** The name of the template that best matches the cells of a grid over the bounding box. */
function classify({ mask, width, height }: Component): (Template & { readonly shape: string }) | undefined {
  const cell = (i: number, length: number): number => Math.floor(((i + 0.5) / GRID) * length);
  const isCovered = (x: number, y: number): boolean => mask[cell(y, height) * width + cell(x, width)] === 1;
  const ranked = TEMPLATES.map(([shape, template]) => {
    let [both, either] = [0, 0];
    for (const [y, row] of template.rows.entries()) {
      for (let x = 0; x < GRID; x++) {
        const [mine, wanted] = [isCovered(x, y), row[x] === '#'];
        if (mine && wanted) both += 1;
        if (mine || wanted) either += 1;
      }
    }
    return { ...template, shape, overlap: both / either };
  }).sort((a, b) => b.overlap - a.overlap);
  const [best] = ranked;
  const stretch = width / height / (best.half_width / best.half_height);
  return best.overlap >= MIN_IOU && stretch > 0.8 && stretch < 1.25 ? best : undefined;
}

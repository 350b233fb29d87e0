/**
 * The picture of the traffic: nodes in five columns, and lines between them with their rates. Pure: from one answer of GET /v1/traffic
 * to numbers that are drawn.
 */
import type { Traffic } from '@lehr/client';

export interface TrafficNode {
  readonly id: string;
  readonly kind: 'callers' | 'api' | 'model' | 'worker' | 'store' | 'receivers';
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface TrafficEdge {
  readonly from: string;
  readonly to: string;
  /** Per second; null while it is not known. */
  readonly rate: number | null;
  /** Per second, of what failed or was refused. */
  readonly bad: number;
  /** Mean time of one, ms; null when none was timed. */
  readonly ms: number | null;
  /** SVG path, and where its label stands. */
  readonly path: string;
  readonly label: { readonly x: number; readonly y: number };
}

export interface TrafficPicture {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly TrafficNode[];
  readonly edges: readonly TrafficEdge[];
}

const WIDTH = 1200;
const HEIGHT = 58;
const GAP = 34;
const TOP = 6;
/** Of the border of a node. */
const EDGE = 2;
const COLUMNS = {
  callers: { x: EDGE, width: 96 },
  api: { x: 212, width: 164 },
  model: { x: 492, width: 196 },
  worker: { x: 818, width: 182 },
  end: { x: 1088, width: 110 },
} as const;
/** Pixels from one label to the next one, of one line and of two. */
const LABEL = { one: 26, two: 36 };
/** Room below the columns, where the line to the receivers runs. */
const BELOW = 92;

export function trafficPicture(traffic: Traffic): TrafficPicture {
  const { apis, models, workers } = traffic;
  const rows = Math.max(1, apis.length, models.length, workers.length);
  const tall = rows * (HEIGHT + GAP) - GAP;
  const stack = (kind: 'api' | 'model' | 'worker', ids: readonly string[]): TrafficNode[] => {
    const top = TOP + (tall - (ids.length * (HEIGHT + GAP) - GAP)) / 2;
    return ids.map((id, i) => ({
      id: `${kind} ${id}`,
      kind,
      ...COLUMNS[kind],
      y: top + i * (HEIGHT + GAP),
      height: HEIGHT,
    }));
  };
  const middle = TOP + (tall - HEIGHT) / 2;
  const nodes: TrafficNode[] = [
    { id: 'callers', kind: 'callers', ...COLUMNS.callers, y: middle, height: HEIGHT },
    ...stack(
      'api',
      apis.map(({ id }) => id),
    ),
    ...stack(
      'model',
      models.map(({ model }) => model),
    ),
    ...stack(
      'worker',
      workers.map(({ id }) => id),
    ),
    { id: 'store', kind: 'store', ...COLUMNS.end, y: middle, height: HEIGHT },
    { id: 'receivers', kind: 'receivers', ...COLUMNS.end, y: TOP + tall + BELOW - HEIGHT, height: HEIGHT },
  ];
  const places = new Map(nodes.map((node) => [node.id, node]));
  const edges = edgesOf(traffic).flatMap((edge) => {
    const [from, to] = [places.get(edge.from), places.get(edge.to)];
    return from && to ? [{ ...edge, ...lineOf(from, to, labelAt(edge, traffic)) }] : [];
  });
  return { width: WIDTH, height: TOP + tall + BELOW + TOP, nodes, edges: apart(edges) };
}

/** Moves labels of one column down until none stands on another one. */
function apart(edges: readonly TrafficEdge[]): TrafficEdge[] {
  const moved = new Map<TrafficEdge, number>();
  const lowest = new Map<number, number>();
  for (const edge of edges.filter(hasLabel).sort((a, b) => a.label.y - b.label.y)) {
    const { x, y } = edge.label;
    const free = Math.max(y, lowest.get(x) ?? 0);
    moved.set(edge, free);
    lowest.set(x, free + (edge.bad > 0 ? LABEL.two : LABEL.one));
  }
  return edges.map((edge) => ({ ...edge, label: { ...edge.label, y: moved.get(edge) ?? edge.label.y } }));
}

/** Lines without traffic have none: it would say nothing. */
export const hasLabel = ({ rate, bad }: Pick<TrafficEdge, 'rate' | 'bad'>): boolean =>
  rate !== null && (rate > 0 || bad > 0);

type PlainEdge = Omit<TrafficEdge, 'path' | 'label'>;

function edgesOf({ apis, models, workers, receivers }: Traffic): PlainEdge[] {
  const [first] = apis;
  const toApis = apis.map(({ id, requests_per_s, refused_per_s, errors_per_s, mean_ms }) => ({
    from: 'callers',
    to: `api ${id}`,
    rate: requests_per_s,
    bad: (refused_per_s ?? 0) + (errors_per_s ?? 0),
    ms: mean_ms,
  }));
  // What each process accepted of each model is not known apart: the line of a model begins at the middle one of them.
  const middle = apis[Math.floor((apis.length - 1) / 2)];
  const toModels = models.map(({ model, accepted_per_s, refused_per_s }) => ({
    from: `api ${middle?.id}`,
    to: `model ${model}`,
    rate: accepted_per_s,
    bad: refused_per_s ?? 0,
    ms: null,
  }));
  const toWorkers = workers.flatMap(({ id, models: own }) =>
    own.map(({ model, claimed_per_s, failed_per_s, wait_ms }) => ({
      from: `model ${model}`,
      to: `worker ${id}`,
      rate: claimed_per_s,
      bad: failed_per_s ?? 0,
      ms: wait_ms,
    })),
  );
  const toStore = workers.map(({ id, stored_per_s, store_ms }) => ({
    from: `worker ${id}`,
    to: 'store',
    rate: stored_per_s,
    bad: 0,
    ms: store_ms,
  }));
  const toReceivers = first && {
    from: `api ${apis.at(-1)?.id}`,
    to: 'receivers',
    rate: receivers.attempts_per_s,
    bad: receivers.failed_per_s ?? 0,
    ms: receivers.mean_ms,
  };
  return [...toApis, ...toModels, ...toWorkers, ...toStore, ...(toReceivers ? [toReceivers] : [])];
}

/**
 * How far along its line a label stands, from 0 to 1: near the end that has fewer lines. The lines of a model to its workers cross,
 * so each worker has its own distance.
 */
function labelAt({ from, to }: PlainEdge, { workers }: Traffic): number {
  if (from.startsWith('worker ')) return 0.3;
  const index = workers.findIndex(({ id }) => to === `worker ${id}`);
  return index === -1 ? 0.7 : 0.26 + (0.46 * index) / Math.max(1, workers.length - 1);
}

/** Deliveries leave an API process at its lower edge and run below the other columns. */
function lineOf(from: TrafficNode, to: TrafficNode, t: number): Pick<TrafficEdge, 'path' | 'label'> {
  const [x2, y2] = [to.x, to.y + to.height / 2];
  if (to.kind === 'receivers') {
    const [x1, y1] = [from.x + from.width / 2, from.y + from.height];
    const path = `M${x1} ${y1}C${x1} ${y2} ${x1 + 40} ${y2} ${x1 + 120} ${y2}L${x2} ${y2}`;
    return { path, label: { x: (x1 + x2) / 2, y: y2 } };
  }
  const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
  const bend = (x2 - x1) / 2;
  const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  const x = (x1 + x2) / 2;
  const y = y1 + (y2 - y1) * (3 * t ** 2 - 2 * t ** 3);
  return { path, label: { x: Math.round(x), y: Math.round(y) } };
}

/** Pixels: grows with the logarithm, so that one request a second is seen beside a thousand. */
export const thicknessOf = (rate: number | null): number =>
  rate === null || rate === 0 ? 1.25 : Math.min(12, 2 + 1.6 * Math.log2(1 + rate));

export function paceOf(rate: number | null): 'still' | 'slow' | 'quick' | 'fast' {
  if (rate === null || rate === 0) return 'still';
  if (rate < 1) return 'slow';
  return rate < 20 ? 'quick' : 'fast';
}

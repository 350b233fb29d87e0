/** What nodes and pods go through, as KWOK ships it, with the changes of this suite. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

interface Stage {
  readonly spec: {
    readonly resourceRef: { readonly kind: string };
    readonly selector: { readonly matchExpressions: unknown[] };
    delay?: object;
  };
}

const FILES = [
  'node/fast/node-initialize.yaml',
  'node/heartbeat-with-lease/node-heartbeat-with-lease.yaml',
  'pod/fast/pod-ready.yaml',
  'pod/fast/pod-complete.yaml',
  'pod/fast/pod-delete.yaml',
];

/** A pod becomes ready after one to two seconds, so that a rolling update has times at which new pods are not ready. */
const STARTING = { durationMilliseconds: 1000, jitterDurationMilliseconds: 2000 };

/** The pool whose pods a bridge plays with real processes. */
export const BRIDGED_POOL = 't4-diffusion';
const IS_NOT_BRIDGED = {
  key: '.metadata.labels["lehr.dev/pool"]',
  operator: 'NotIn',
  values: [BRIDGED_POOL],
};

/** `folder`: where KWOK has its stages. `playsWorkers`: whether KWOK plays the pods of the bridged pool too. */
export function stages(folder: string, { playsWorkers }: { readonly playsWorkers: boolean }): string {
  return FILES.map((file) => {
    const stage = parse(readFileSync(join(folder, file), 'utf8')) as Stage;
    const { spec } = stage;
    if (file.endsWith('pod-ready.yaml')) spec.delay = STARTING;
    if (!playsWorkers && spec.resourceRef.kind === 'Pod') spec.selector.matchExpressions.push(IS_NOT_BRIDGED);
    return stringify(stage);
  }).join('---\n');
}

/** What a kubelet does, as a pure decision: which processes start and end for the pods of the workers. */
import type { Pod } from './objects.ts';

export interface BridgedProcess {
  /** The uid of its pod. */
  readonly uid: string;
  readonly state: 'starting' | 'serving' | 'draining';
}

export interface BridgePlan<P> {
  /** Pods that are placed on a node and have no process. */
  readonly start: readonly Pod[];
  /** Processes whose pod shall end: SIGTERM. */
  readonly drain: readonly P[];
  /** Processes whose pod is gone from the API server, or past its grace period: SIGKILL. */
  readonly kill: readonly P[];
  /** Pods that shall end and have no process any more: the API server may forget them. */
  readonly remove: readonly Pod[];
}

/** `now`: milliseconds of the same clock as the API server's times. */
export function planBridge<P extends BridgedProcess>(
  pods: readonly Pod[],
  processes: readonly P[],
  now: number,
): BridgePlan<P> {
  const podOf = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  const busy = new Set(processes.map(({ uid }) => uid));
  const isPlaced = ({ spec }: Pod): boolean => spec.nodeName !== undefined;
  const free = pods.filter((pod) => isPlaced(pod) && !busy.has(pod.metadata.uid));
  const ends = ({ uid }: P): boolean => podOf.get(uid)?.metadata.deletionTimestamp !== undefined;
  const mustBeGone = ({ uid }: P): boolean => {
    const pod = podOf.get(uid);
    return !pod || now > Date.parse(pod.metadata.deletionTimestamp ?? '9999-12-31');
  };
  return {
    start: free.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
    drain: processes.filter((each) => each.state !== 'draining' && ends(each) && !mustBeGone(each)),
    kill: processes.filter(mustBeGone),
    remove: free.filter(({ metadata }) => metadata.deletionTimestamp !== undefined),
  };
}

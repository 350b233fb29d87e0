import { expect, test } from 'vitest';
import { type BridgedProcess, planBridge } from './bridge-plan.ts';
import type { Pod } from './objects.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');
const LATER = '2026-11-23T12:01:50Z';
const BEFORE = '2026-11-23T11:59:59Z';

const pod = (uid: string, fields: { node?: string; deleted?: string } = {}): Pod => ({
  metadata: {
    name: `pod-${uid}`,
    uid,
    resourceVersion: '1',
    creationTimestamp: BEFORE,
    ...(fields.deleted !== undefined && { deletionTimestamp: fields.deleted }),
  },
  spec: { ...(fields.node !== undefined && { nodeName: fields.node }) },
  status: { phase: 'Pending' },
});
const process = (uid: string, state: BridgedProcess['state'] = 'serving'): BridgedProcess => ({ uid, state });
const NOTHING = { start: [], drain: [], kill: [], remove: [] };

test('A pod gets one process, once it is placed on a node', () => {
  const placed = pod('a', { node: 'n' });
  expect(planBridge([pod('b'), placed], [], NOW)).toEqual({ ...NOTHING, start: [placed] });
  expect(planBridge([placed], [process('a', 'starting')], NOW)).toEqual(NOTHING);
});

test('A pod that shall end has its process asked once, and is removed when the process has ended', () => {
  const ending = pod('a', { node: 'n', deleted: LATER });
  const serving = process('a');
  expect(planBridge([ending], [serving], NOW)).toEqual({ ...NOTHING, drain: [serving] });
  expect(planBridge([ending], [process('a', 'draining')], NOW)).toEqual(NOTHING);
  expect(planBridge([ending], [], NOW)).toEqual({ ...NOTHING, remove: [ending] });
});

test('A process that outlives the grace period or the object of its pod is killed', () => {
  const late = pod('a', { node: 'n', deleted: BEFORE });
  const draining = process('a', 'draining');
  expect(planBridge([late], [draining], NOW)).toEqual({ ...NOTHING, kill: [draining] });
  expect(planBridge([], [process('a')], NOW)).toEqual({ ...NOTHING, kill: [process('a')] });
});

test('A new pod of the same name is another pod', () => {
  const second = pod('b', { node: 'n' });
  const first = process('a');
  expect(planBridge([second], [first], NOW)).toEqual({ ...NOTHING, start: [second], kill: [first] });
});

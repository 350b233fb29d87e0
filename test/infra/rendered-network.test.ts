/** Selectors and network policies of the chart: whoever must reach a pod is let in, on both sides. Skipped without Helm. */
import { describe, expect, test } from 'vitest';
import { CASES, helm, objectsIn, objectsOf, template } from './helm.ts';
import { type Labels, matches, ofKind, workloads } from './pod-facts.ts';

const NAMES = Object.keys(CASES);
const OBSERVERS = { namespaceSelector: { matchLabels: { 'lehr.dev/metrics': 'true' } } };

interface Peer {
  readonly podSelector?: { readonly matchLabels: Labels };
  readonly namespaceSelector?: object;
}
interface Policy {
  readonly podSelector: { readonly matchLabels: Labels };
  readonly ingress?: readonly {
    readonly from?: readonly Peer[];
    readonly ports: readonly { port: number }[];
  }[];
  readonly egress?: readonly {
    readonly to?: readonly Peer[];
    readonly ports?: readonly { port: number }[];
  }[];
}

describe.skipIf(!helm)('With Helm', () => {
  test.each(NAMES)('Every selector of %s selects pods, and workloads select their own', (name) => {
    const objects = objectsIn(name);
    const all = workloads(objects);
    const selected = (selector: Labels) =>
      all.filter(({ labels }) => matches(selector, labels)).map((each) => each.name);
    for (const { name: workload, selector, labels } of all) {
      expect(matches(selector, labels), workload).toBe(true);
      expect(selected(selector)).toEqual([workload]);
    }
    for (const { name: service, spec } of ofKind<{ selector: Labels }>(objects, 'Service'))
      expect(selected(spec.selector), service).toEqual([service.replace(/-operations$/, '')]);
    type Chooser = { selector: { matchLabels: Labels } };
    for (const { name: budget, spec } of ofKind<Chooser>(objects, 'PodDisruptionBudget'))
      expect(selected(spec.selector.matchLabels), budget).toEqual([budget]);
    for (const { name: policy, spec } of ofKind<Policy>(objects, 'NetworkPolicy'))
      expect(selected(spec.podSelector.matchLabels), policy).not.toEqual([]);
    for (const { name: monitor, spec } of ofKind<Chooser>(objects, 'PodMonitor'))
      expect(selected(spec.selector.matchLabels), monitor).not.toEqual([]);
  });

  test.each(NAMES)('Network policies of %s open ports that are listened on, from both sides', (name) => {
    const objects = objectsIn(name);
    const all = workloads(objects);
    const policies = ofKind<Policy>(objects, 'NetworkPolicy');
    for (const workload of all) {
      const own = policies.filter(({ spec }) => matches(spec.podSelector.matchLabels, workload.labels));
      const listened = workload.pod.containers.flatMap(({ ports = [] }) =>
        ports.map((each) => each.containerPort),
      );
      const open = own.flatMap(({ spec }) =>
        (spec.ingress ?? []).flatMap((rule) => rule.ports.map(({ port }) => port)),
      );
      expect(open, workload.name).not.toEqual([]);
      for (const port of open) expect(listened, workload.name).toContain(port);
      // Whoever may send to a pod of Lehr is also let in there.
      for (const { to = [], ports: sent = [] } of own.flatMap(({ spec }) => spec.egress ?? [])) {
        for (const { podSelector, namespaceSelector } of to) {
          if (!podSelector || namespaceSelector) continue;
          for (const receiver of all.filter(({ labels }) => matches(podSelector.matchLabels, labels))) {
            const rules = policies
              .filter(({ spec }) => matches(spec.podSelector.matchLabels, receiver.labels))
              .flatMap(({ spec }) => spec.ingress ?? [])
              .filter(
                ({ from }) =>
                  !from || from.some((peer) => matches(peer.podSelector?.matchLabels ?? {}, workload.labels)),
              );
            const letIn = rules.flatMap((rule) => rule.ports.map(({ port }) => port));
            for (const { port } of sent)
              expect(letIn, `${workload.name} to ${receiver.name}`).toContain(port);
          }
        }
      }
    }
  });

  test.each(NAMES)(
    'Network policies of %s let metrics out, and Lehr to Prometheus and a collector of traces, in labelled namespaces only',
    (name) => {
      const policies = ofKind<Policy>(objectsIn(name), 'NetworkPolicy');
      for (const component of ['lehr-api', 'lehr-webhooks', 'lehr-worker']) {
        const { ingress = [], egress = [] } = policies.find((each) => each.name === component)?.spec ?? {};
        expect(ingress, component).toContainEqual(expect.objectContaining({ from: [OBSERVERS] }));
        const ports = [9090, 4318].map((port) => ({ protocol: 'TCP', port }));
        expect(egress, component).toContainEqual({ to: [OBSERVERS], ports });
      }
    },
  );

  test('Without ports outside, API and workers reach no address outside', () => {
    const objects = objectsOf(template('--set-json', 'networkPolicies.outsidePorts=[]'));
    const open = ofKind<Policy>(objects, 'NetworkPolicy').filter(({ spec }) =>
      JSON.stringify(spec).includes('ipBlock'),
    );
    expect(open.map(({ name }) => name)).toEqual(['lehr-webhooks']);
  });

  test('Nothing leads from a pod to the metadata service of its node', () => {
    const policies = ofKind<Policy>(objectsIn('the chart'), 'NetworkPolicy');
    const outside = JSON.stringify(policies).match(/"ipBlock":\{[^}]*\}/g) ?? [];
    expect(outside).toHaveLength(3);
    for (const block of outside) expect(block).toContain('"except":["169.254.169.254/32"]');
  });
});

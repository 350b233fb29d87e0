/** The tables of lab/cluster.md. */
import { withPart } from '../results.ts';

/** The figures of one case. */
export type Figures = Readonly<Record<string, unknown>>;

type Results = Readonly<Record<string, Figures>>;

const CASES = [
  'the-chart',
  'the-chart-with-keda-and-prometheus',
  'example-trial',
  'example-single-node',
  'example-aws',
];

/** The text with new tables between the marks. A table whose figures are missing stays as it is. */
export function page(text: string, results: Results): string {
  const tables = {
    kubelet: kubelet(results),
    installation: installation(results),
    budgets: budgets(results),
    scaling: scaling(results),
    api: api(results),
  };
  return Object.entries(tables).reduce(
    (all, [name, lines]) => (lines.length > 0 ? withPart(all, name, `${lines.join('\n')}\n`) : all),
    text,
  );
}

function kubelet({ kubelet: scenes }: Results): string[] {
  if (!scenes) return [];
  const cell = (text: unknown): string =>
    String(text).replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').slice(0, 400);
  const rows = (Object.values(scenes) as Figures[]).map(
    ({ name, sentence, passed, seconds, jobs, repeated, seen }) =>
      `| ${name}: ${sentence} | ${passed ? 'passed' : '**failed**'} | ${seconds} | ${jobs || ''} | ${jobs ? repeated : ''} | ${cell(seen)} |`,
  );
  return [
    '| Scene | Result | s | Jobs | Repeated | What was seen |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ];
}

function installation(results: Results): string[] {
  const rows = CASES.flatMap((name) => {
    const each = results[name];
    if (each?.readyS === undefined) return [];
    return [
      `| ${each.case} | ${each.accepted} | ${each.pods} in ${each.workloads} workloads, ${each.readyS} s | ${each.policies} | ${each.budgets} |`,
    ];
  });
  if (rows.length === 0) return [];
  return [
    '| Case | Objects accepted | Pods ready, time | Network policies | Budgets |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ];
}

function budgets({ budgets: figures }: Results): string[] {
  if (!figures) return [];
  const rows = ['lehr-api', 'lehr-worker-cpu'].flatMap((name) => {
    const each = figures[name] as Figures | undefined;
    if (!each) return [];
    return [`| ${name} | 3 | ${each.leastReady} | ${each.mostPods} | ${each.changes} | ${each.seconds} s |`];
  });
  if (rows.length === 0) return [];
  return [
    '| Rolling update of | Pods wanted | Fewest ready | Most pods | Changes watched | Time |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ];
}

function scaling({ scaling: figures }: Results): string[] {
  if (!figures) return [];
  const rows: readonly (readonly [string, string])[] = [
    ['Jobs accepted, succeeded, lost', `${figures.jobs}, ${figures.succeeded}, ${figures.lost}`],
    ['Attempts beyond the first', `${figures.repeatedAttempts}`],
    ['Worker processes started, in all', `${figures.workersStarted}`],
    ['From the first job until Lehr asks for a worker', `${figures.toFirstDesired} s`],
    ['... until KEDA has made a pod', `${figures.toFirstPod} s`],
    ['... until Karpenter has made a node', `${figures.toFirstNode} s`],
    ['... until a worker serves', `${figures.toFirstServing} s`],
    ['... until four workers serve on four nodes', `${figures.toAllServing} s`],
    ['Interruption: SIGTERM to the end of the worker', `${figures.drainS} s`],
    ['... notice until the node is gone', `${figures.nodeGoneS} s`],
    ['... notice until four workers serve again, on a new node', `${figures.replacedS} s`],
    ['From the end of the last job until there is no worker', `${figures.noWorkersS} s`],
    ['... until there is no node', `${figures.noNodesS} s`],
  ];
  return ['| What | Seen |', '| --- | --- |', ...rows.map(([what, seen]) => `| ${what} | ${seen} |`)];
}

function api({ 'api-scaling': figures }: Results): string[] {
  if (!figures) return [];
  const rows: readonly (readonly [string, string])[] = [
    ['Requests held at the same time, target for each process', `${figures.held}, ${figures.target}`],
    ['Fewest and most API processes', `${figures.least}, ${figures.most}`],
    ['From the first held request until the last process serves', `${figures.toMostS} s`],
    ['From the end of the requests until the fewest are left', `${figures.toLeastS} s`],
    ['Requests that failed', `${figures.failed} of ${figures.answered}`],
  ];
  return ['| What | Seen |', '| --- | --- |', ...rows.map(([what, seen]) => `| ${what} | ${seen} |`)];
}

/** Whether the processes of an installation can be replaced by those of this version, and in which order: `lehr doctor --upgrade`. */

import { OWN_VERSION, readApiProcesses, readWorkerVersions, type WorkerVersion } from '@lehr/shared';
import { SCHEMA_VERSION, UnreadableList } from '@lehr/shared/records';
import { keysOf, type Redis, redisReady } from '@lehr/shared/redis';
import type { Check } from './check.ts';

export interface RunningProcess {
  readonly kind: 'API' | 'worker';
  /** The version of Lehr; undefined for one that does not say it. */
  readonly lehr: string | undefined;
  /** Undefined for a report that has none, or that this version cannot read. */
  readonly schema: number | undefined;
}

interface OwnVersion {
  readonly lehr: string;
  readonly schema: number;
}

/** `unreadable`: records and reports that some process of the installation could not read. */
export function planUpgrade(
  own: OwnVersion,
  processes: readonly RunningProcess[],
  unreadable: number,
): Check[] {
  const listed = kinds.map((kind): Check => {
    const detail = countsOf(processes.filter((each) => each.kind === kind));
    return { name: kind === 'API' ? 'API processes' : 'workers', state: 'ok', detail };
  });
  return [...listed, ...unreadableCheck(unreadable), verdict(own, processes)];
}

const kinds = ['API', 'worker'] as const;

function countsOf(processes: readonly RunningProcess[]): string {
  const counts = new Map<string, number>();
  for (const { lehr = 'an unknown version', schema } of processes) {
    const version = schema === undefined ? lehr : `${lehr} (schema ${schema})`;
    counts.set(version, (counts.get(version) ?? 0) + 1);
  }
  const texts = [...counts].sort().map(([version, count]) => `${count} of ${version}`);
  return texts.join(', ') || 'none runs';
}

function unreadableCheck(unreadable: number): Check[] {
  if (unreadable === 0) return [];
  return [
    {
      name: 'unreadable',
      state: 'warn',
      detail: `${unreadable} records or reports could not be read by a process that runs`,
      advice: 'Finish the upgrade that runs first; docs/operating.md, Troubleshooting, if there is none.',
    },
  ];
}

function verdict(own: OwnVersion, processes: readonly RunningProcess[]): Check {
  const name = 'upgrade';
  const to = `to ${own.lehr} (schema ${own.schema})`;
  if (processes.length === 0) {
    return { name, state: 'ok', detail: `${to}: nothing runs, so start everything in any order` };
  }
  if (processes.every(({ lehr, schema }) => lehr === own.lehr && schema === own.schema)) {
    return { name, state: 'ok', detail: 'every process has this version' };
  }
  const schemas = processes.map(({ schema }) => schema ?? Number.POSITIVE_INFINITY);
  const [lowest, highest] = [Math.min(...schemas), Math.max(...schemas)];
  if (highest > own.schema) {
    const advice =
      'Use a version at least as new. What newer processes have written would wait until they are back.';
    return { name, state: 'fail', detail: `${to}: a process with a newer or unknown schema runs`, advice };
  }
  if (lowest < own.schema - 1) {
    const advice = `Upgrade to a version with schema ${lowest + 1} first.`;
    return { name, state: 'fail', detail: `${to}: schema ${lowest} runs, more than one before`, advice };
  }
  if (lowest < own.schema) {
    return {
      name,
      state: 'warn',
      detail: `${to} is safe in this order: all API processes, then the workers`,
      advice:
        'Jobs that a new API process accepts wait for the first new worker of their model. No way back while such jobs wait.',
    };
  }
  const detail = `${to} is safe: replace the processes one after the other, in any order, also back`;
  return { name, state: 'ok', detail };
}

/**
 * The checks of `lehr doctor --upgrade`: what runs over this Redis, compared with this version.
 *
 * `where` is the server's address without its password.
 */
export async function checkUpgrade(redis: Redis, where: string, namespace: string): Promise<Check[]> {
  const keys = keysOf(namespace);
  try {
    await redisReady(redis);
    const [apis, workers, unreadable] = await Promise.all([
      readApiProcesses(redis, keys),
      readWorkerVersions(redis, keys),
      new UnreadableList(redis, keys).count(),
    ]);
    const processes = [
      ...apis.map((each) => processOf('API', each)),
      ...workers.map((each) => processOf('worker', each)),
    ];
    return planUpgrade({ lehr: OWN_VERSION, schema: SCHEMA_VERSION }, processes, unreadable);
  } catch (error) {
    const advice = 'Start Redis, or set LEHR_REDIS_URL to its address.';
    return [{ name: 'Redis', state: 'fail', detail: `${where}: ${(error as Error).message}`, advice }];
  }
}

const processOf = (kind: RunningProcess['kind'], { lehr, v }: WorkerVersion): RunningProcess => ({
  kind,
  lehr,
  schema: v,
});

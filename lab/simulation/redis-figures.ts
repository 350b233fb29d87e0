/** What the simulation reads from its Redis. */
import type { Redis } from '../../packages/shared/src/redis/index.ts';

export interface RedisFigures {
  /** CPU time of the thread that runs the commands, since the start of the server. */
  readonly cpuMs: number;
  readonly datasetBytes: number;
  readonly usedBytes: number;
  readonly maxBytes: number;
}

export async function readFigures(redis: Redis): Promise<RedisFigures> {
  const info = `${await redis.info('cpu')}${await redis.info('memory')}`;
  const field = (name: string): number => {
    const value = new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1];
    if (value === undefined) throw new Error(`Redis reports no ${name}.`);
    return Number(value);
  };
  return {
    cpuMs: (field('used_cpu_user_main_thread') + field('used_cpu_sys_main_thread')) * 1000,
    datasetBytes: field('used_memory_dataset'),
    usedBytes: field('used_memory'),
    maxBytes: field('maxmemory'),
  };
}

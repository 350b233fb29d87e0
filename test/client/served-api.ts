/** An API that listens on a port of this process, with a simulated worker: for tests that need no separate processes. */
import { onTestFinished } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import { API_KEY, type ApiWorld, apiWorld } from '../support/api-world.ts';

export interface ServedApi extends ApiWorld {
  readonly url: string;
  readonly key: string;
}

export async function servedApi(redisUrl: string): Promise<ServedApi> {
  const world = await apiWorld(redisUrl);
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(world.app.fetch);
  return { ...world, url: `http://127.0.0.1:${listener.port}`, key: API_KEY };
}

/** A tenant with its own API key, which is created over the API. */
import { type KeyRequest, type NewApiKey, NewApiKeySchema } from '../../packages/shared/src/index.ts';
import type { ApiWorld } from './api-world.ts';

export interface KeyHolder {
  readonly key: NewApiKey;
  ask: ApiWorld['ask'];
}

export async function keyHolder(
  world: ApiWorld,
  tenant: string,
  request: { -readonly [Field in keyof KeyRequest]?: KeyRequest[Field] | undefined } = {},
): Promise<KeyHolder> {
  const response = await world.ask('POST', '/v1/keys', { tenant, ...request });
  const key = NewApiKeySchema.strict().parse(await response.json());
  return { key, ask: asking(world, key.key) };
}

/** `world.ask` with another key. */
export const asking =
  (world: ApiWorld, key: string): ApiWorld['ask'] =>
  (method, path, body, init = {}) =>
    world.ask(method, path, body, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), authorization: `Bearer ${key}` },
    });

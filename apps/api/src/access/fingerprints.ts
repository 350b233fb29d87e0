/**
 * Remembers in Redis which secret the stored data was made with, so that a process with another one refuses to start. Only
 * fingerprints are stored: a secret can be recognised by its fingerprint and not be computed from it.
 */
import { createHmac } from 'node:crypto';
import { defineScript, type Redis } from '@lehr/shared/redis';

const LENGTH = 16;

/** `purpose` keeps the fingerprint different from every other digest made with the secret. */
export const fingerprint = (secret: string, purpose: string): string =>
  createHmac('sha256', secret).update(`fingerprint of ${purpose}`).digest('base64url').slice(0, LENGTH);

/**
 * KEYS[1] the set of fingerprints; ARGV those of this process, the current one first. All are added when the set is empty, and the
 * current one when the set has one of them: in the first step of a rotation the other one is not in use yet, and a process that
 * does not have it may still start. Returns {was empty, has one of them, those of the set that this process does not have}.
 */
const REGISTER_LUA = `
local own = {}
for _, each in ipairs(ARGV) do own[each] = true end
local known = redis.call('SMEMBERS', KEYS[1])
local missing = {}
for _, each in ipairs(known) do
  if not own[each] then missing[#missing + 1] = each end
  own[each] = nil
end
local shared = #missing < #known
if #known == 0 or shared then
  -- Only what is new: a full Redis refuses every write, and the API must start nevertheless.
  for i, each in ipairs(ARGV) do
    if own[each] and (i == 1 or #known == 0) then redis.call('SADD', KEYS[1], each) end
  end
end
return { #known == 0 and 1 or 0, shared and 1 or 0, missing }`;

export interface Registration {
  /** No process has registered before. */
  readonly isFirst: boolean;
  /** Another secret is in use, and none of this process. Nothing was registered. */
  readonly isForeign: boolean;
  /** Fingerprints of secrets that were in use and that this process does not have. */
  readonly missing: readonly string[];
}

/** Registers the fingerprints of a process, the current one first; atomic, so that of two processes with different secrets only one succeeds. */
export async function registerFingerprints(
  redis: Redis,
  key: string,
  own: readonly string[],
): Promise<Registration> {
  const script = defineScript(redis, 'lehrRegisterFingerprints', REGISTER_LUA);
  const [first, shared, missing] = (await script.run([key], own)) as [number, number, string[]];
  return { isFirst: first === 1, isForeign: first === 0 && shared === 0, missing };
}

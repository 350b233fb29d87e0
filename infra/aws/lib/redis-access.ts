/** The users of Redis for ElastiCache, from the file for a Redis that Lehr's operators run (infra/redis/users.acl). */
import { readFileSync } from 'node:fs';

const USERS = readFileSync(new URL('../../redis/users.acl', import.meta.url), 'utf8');

/** The access string of a user: its line without its name and its password. Throws when the file has no such user. */
export function accessOf(user: string): string {
  const match = new RegExp(`^user ${user} (.*(?:\\n[ \\t]+\\S.*)*)`, 'm').exec(USERS);
  if (!match) throw new Error(`infra/redis/users.acl has no user ${user}`);
  return match[1]
    .split(/\s+/)
    .filter((word) => !word.startsWith('#'))
    .join(' ');
}

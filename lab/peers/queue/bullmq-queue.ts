/** What the programs of plain BullMQ share. */
import type { ConnectionOptions } from 'bullmq';

export const QUEUE = 'peers';

/** `maxRetriesPerRequest: null` is what BullMQ asks of the connection of a worker. */
export function connectionOf(url: string): ConnectionOptions {
  const { hostname, port, username, password } = new URL(url);
  return {
    host: hostname,
    port: Number(port),
    username,
    password: decodeURIComponent(password),
    maxRetriesPerRequest: null,
  };
}

/** Ports for servers that tests start. */
import { randomInt } from 'node:crypto';

const launcher = new URL('../../infra/local/ports.mjs', import.meta.url).href;
const { isFree } = (await import(launcher)) as { isFree(host: string, port: number): Promise<boolean> };

/** Below the range of ephemeral ports, so that the system does not give the port away between the check and its use. */
const FIRST = 20_000;
const PORTS = 12_000;

/** A random start, so that files that run at the same time rarely try the same ports. */
let next = randomInt(PORTS);

/** A free port that this process has not returned before. */
export async function freePort(): Promise<number> {
  for (;;) {
    next = (next + 1) % PORTS;
    const port = FIRST + next;
    if (await isFree('127.0.0.1', port)) return port;
  }
}

/** A URL without a server. Port 2, because `fetch` refuses port 1 itself. */
export const UNREACHABLE_URL = 'http://127.0.0.1:2';

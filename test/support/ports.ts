/** Ports for servers that tests start. */
import { randomInt } from 'node:crypto';

const launcher = new URL('../../infra/local/ports.mjs', import.meta.url).href;
const { isFree } = (await import(launcher)) as { isFree(host: string, port: number): Promise<boolean> };

/** Below the ports that the system gives to whoever asks for any: nobody gets one between our look and its use. */
const FIRST = 20_000;
const PORTS = 12_000;

/** Files that run at the same time begin far apart, most likely. */
let next = randomInt(PORTS);

/** One that nobody listens at and that was not given before. */
export async function freePort(): Promise<number> {
  for (;;) {
    next = (next + 1) % PORTS;
    const port = FIRST + next;
    if (await isFree('127.0.0.1', port)) return port;
  }
}

/** Where nobody ever listens. `fetch` tries it; port 1 it refuses by itself. */
export const NOBODY = 'http://127.0.0.1:2';

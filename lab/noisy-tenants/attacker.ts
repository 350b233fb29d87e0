/** One attack in a separate process with the lowest priority, so that the attacker's own work slows Lehr as little as possible. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { ATTACKS, PREPARED_ATTACKS } from './attacks.ts';
import type { AttackContext } from './list-attacks.ts';

interface Order extends AttackContext {
  readonly name: string;
}

const THIS_FILE = fileURLToPath(import.meta.url);
const FROM_SOURCE = [
  '--conditions=lehr-source',
  `--import=${new URL('../../infra/local/typescript.mjs', import.meta.url).href}`,
];

export interface Attacker {
  stop(): Promise<void>;
}

/** Resolves when the attack has begun. */
export async function startAttacker(name: string, context: AttackContext): Promise<Attacker> {
  const order: Order = { name, ...context };
  const child: ChildProcess = spawn(process.execPath, [...FROM_SOURCE, THIS_FILE, JSON.stringify(order)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error(`the attack "${name}" ended by itself`);
    }),
  ]);
  return {
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

if (process.argv[1] === THIS_FILE) {
  const { name, ...context } = JSON.parse(process.argv[2]) as Order;
  setPriority(19);
  // Ends with the process that started it.
  process.on('disconnect', () => process.exit());
  await PREPARED_ATTACKS[name]?.prepare(context);
  process.send?.('begins');
  await ATTACKS[name](context);
}

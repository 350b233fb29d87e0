/**
 * npm run test:neighbours: how much slower each operation of a polite tenant gets while another tenant attacks. Quiet rounds and
 * rounds under attack alternate, so that other load of the machine affects both. Exits with 1 when a ratio is above the bound.
 */
import { parseArgs } from 'node:util';
import { endJobs } from '../fuzz/leaks.ts';
import { startTarget, type Target } from '../fuzz/target.ts';
import { startAttacker } from './attacker.ts';
import { ATTACKS } from './attacks.ts';
import { type Asked, PoliteTenant } from './polite-tenant.ts';

/** Of the 95th percentile under attack over the quiet one. */
const MAX_RATIO = 2;
/** Shorter answers are compared as if they took this long: timers and sockets alone make them vary more. */
const FLOOR_MS = 10;

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '20' } },
  allowPositionals: true,
});
const rounds = Number(values.rounds);
/** Quiet and attacked rounds change places this often. */
const TURNS = 2;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const p95 = (ms: readonly number[]): number =>
  [...ms].sort((a, b) => a - b)[Math.ceil(ms.length * 0.95) - 1] ?? Number.NaN;

interface Result {
  readonly attack: string;
  readonly operation: string;
  readonly quietMs: number;
  readonly attackedMs: number;
  readonly ratio: number;
}

function compare(attack: string, quiet: readonly Asked[], attacked: readonly Asked[]): Result[] {
  const all = (asked: readonly Asked[], operation: string): number[] =>
    asked.flatMap(({ ms }) => ms[operation]);
  return Object.keys(quiet[0].ms).map((operation) => {
    const [quietMs, attackedMs] = [p95(all(quiet, operation)), p95(all(attacked, operation))];
    const ratio = Math.max(attackedMs, FLOOR_MS) / Math.max(quietMs, FLOOR_MS);
    return { attack, operation, quietMs, attackedMs, ratio };
  });
}

async function measure(target: Target, name: string): Promise<{ results: Result[]; refused: string[] }> {
  const tenant = new PoliteTenant(target);
  await tenant.prepare();
  await tenant.ask(1);
  const [quiet, attacked]: [Asked[], Asked[]] = [[], []];
  for (let turn = 0; turn < TURNS; turn++) {
    quiet.push(await tenant.ask(Math.ceil(rounds / TURNS)));
    const attacker = await startAttacker(name, { port: target.port, key: target.attackerKey, scale: 1 });
    try {
      // Until the attack has reached its limits.
      await tenant.ask(1);
      attacked.push(await tenant.ask(Math.ceil(rounds / TURNS)));
    } finally {
      await attacker.stop();
    }
    await endJobs(target);
  }
  return { results: compare(name, quiet, attacked), refused: attacked.flatMap((asked) => asked.refused) };
}

const names = Object.keys(ATTACKS).filter(
  (name) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
);
const late: Result[] = [];
const refused: string[] = [];
const target = await startTarget({ limits: {}, holdS: 60, fetchesLocally: true });
try {
  for (const name of names) {
    const measured = await measure(target, name);
    const byRatio = measured.results.toSorted((a, b) => b.ratio - a.ratio);
    late.push(...byRatio.filter(({ ratio }) => ratio > MAX_RATIO));
    refused.push(...measured.refused.map((each) => `${name}: ${each}`));
    const [worst] = byRatio;
    const ratios = byRatio.map(({ ratio }) => ratio);
    say(
      `${name}: worst ${worst.ratio.toFixed(2)} (${worst.operation}, ${worst.quietMs.toFixed(0)} -> ` +
        `${worst.attackedMs.toFixed(0)} ms), median ${ratios[Math.floor(ratios.length / 2)].toFixed(2)}, ` +
        `above ${MAX_RATIO}: ${ratios.filter((ratio) => ratio > MAX_RATIO).length} of ${ratios.length}`,
    );
  }
} finally {
  await target.close();
}
for (const { attack, operation, quietMs, attackedMs, ratio } of late) {
  say(
    `LATE ${attack}: ${operation} ${ratio.toFixed(2)} (${quietMs.toFixed(0)} -> ${attackedMs.toFixed(0)} ms)`,
  );
}
for (const each of refused) say(`REFUSED ${each}`);
process.exit(late.length + refused.length === 0 ? 0 : 1);

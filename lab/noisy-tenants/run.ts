/**
 * npm run lab -- noisy-tenants: how much slower each operation of a polite tenant gets while another tenant attacks. The control is the same
 * attack on a second installation, which shares only the machine with the first: what both attacks slow is the work of the attack and of its
 * programs on these cores, and what only the attack slows is what the two tenants share in Lehr. Quiet, control and attacked rounds
 * alternate, so that other load of the machine affects all three. Exits with 1 when attacked rounds over the control are above the bound.
 */
import { endJobs } from '../fuzz/leaks.ts';
import { startTarget, type Target } from '../fuzz/target.ts';
import { startAttacker } from './attacker.ts';
import { ATTACKS } from './attacks.ts';
import { type Asked, PoliteTenant } from './polite-tenant.ts';

/** Of the 95th percentile under attack over the one of the control. */
const MAX_RATIO = 2;
/** Shorter answers are compared as if they took this long: timers and sockets alone make them vary more. */
const FLOOR_MS = 10;

const options = JSON.parse(process.argv[2]) as { readonly rounds: string; readonly names: readonly string[] };
const rounds = Number(options.rounds);
/** Quiet, control and attacked rounds change places this often. */
const TURNS = Math.max(2, Math.round(rounds / 5));

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const p95 = (ms: readonly number[]): number =>
  [...ms].sort((a, b) => a - b)[Math.ceil(ms.length * 0.95) - 1] ?? Number.NaN;

interface Result {
  readonly attack: string;
  readonly operation: string;
  /** 95th percentiles: quiet, control, attacked. */
  readonly ms: readonly number[];
  readonly overQuiet: number;
  readonly controlOverQuiet: number;
  readonly overControl: number;
}

function compare(attack: string, asked: readonly (readonly Asked[])[]): Result[] {
  return Object.keys(asked[0][0].ms).map((operation) => {
    const ms = asked.map((turns) => p95(turns.flatMap((turn) => turn.ms[operation])));
    const [quiet, control, attacked] = ms.map((each) => Math.max(each, FLOOR_MS));
    return {
      attack,
      operation,
      ms,
      overQuiet: attacked / quiet,
      controlOverQuiet: control / quiet,
      overControl: attacked / control,
    };
  });
}

/** Asks while `attacked`, which may be another installation than the tenant's, is under attack. */
async function askBeside(attacked: Target, name: string, tenant: PoliteTenant): Promise<Asked> {
  const attacker = await startAttacker(name, { port: attacked.port, key: attacked.attackerKey, scale: 1 });
  try {
    // Until the attack has reached its limits.
    await tenant.ask(1);
    return await tenant.ask(Math.ceil(rounds / TURNS));
  } finally {
    await attacker.stop();
    await endJobs(attacked);
  }
}

async function measure(name: string): Promise<{ results: Result[]; refused: string[] }> {
  const tenant = new PoliteTenant(target);
  await tenant.prepare();
  await tenant.ask(1);
  const [quiet, control, attacked]: [Asked[], Asked[], Asked[]] = [[], [], []];
  for (let turn = 0; turn < TURNS; turn++) {
    quiet.push(await tenant.ask(Math.ceil(rounds / TURNS)));
    control.push(await askBeside(second, name, tenant));
    attacked.push(await askBeside(target, name, tenant));
  }
  const refused = attacked.flatMap((asked) => asked.refused);
  return { results: compare(name, [quiet, control, attacked]), refused };
}

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const summary = (what: string, ratios: readonly number[]): string =>
  `${what} median ${median(ratios).toFixed(2)}, worst ${Math.max(...ratios).toFixed(2)}`;
function inWords({ operation, ms, overControl }: Result): string {
  const [quiet, control, attacked] = ms.map((each) => each.toFixed(0));
  return `${operation} ${overControl.toFixed(2)} (quiet ${quiet}, control ${control}, attack ${attacked} ms)`;
}

const names = Object.keys(ATTACKS).filter(
  (name) => options.names.length === 0 || options.names.some((part) => name.includes(part)),
);
const late: Result[] = [];
const refused: string[] = [];
const installation = { limits: {}, holdS: 60, fetchesLocally: true };
const target = await startTarget(installation);
const second = await startTarget(installation);
try {
  say(
    'The control is the same attack on a second installation on this machine: attack/control is what the attack slows in Lehr, and not ' +
      'by the work that it gives to the cores.',
  );
  for (const name of names) {
    const measured = await measure(name);
    const { results } = measured;
    const over = results.filter(({ overControl }) => overControl > MAX_RATIO);
    const [worst] = results.toSorted((a, b) => b.overControl - a.overControl);
    late.push(...over);
    refused.push(...measured.refused.map((each) => `${name}: ${each}`));
    const column = (of: keyof Result): number[] => results.map((each) => each[of] as number);
    say(
      `${name}: ${summary('attack/quiet', column('overQuiet'))}; ${summary('control/quiet', column('controlOverQuiet'))}; ` +
        `${summary('attack/control', column('overControl'))} at ${inWords(worst)}, above ${MAX_RATIO}: ${over.length} of ${results.length}`,
    );
  }
} finally {
  await Promise.all([target.close(), second.close()]);
}
for (const each of late) say(`LATE ${each.attack}: ${inWords(each)}`);
for (const each of refused) say(`REFUSED ${each}`);
process.exit(late.length + refused.length === 0 ? 0 : 1);

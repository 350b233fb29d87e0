/** lab/capacity.md, made from the results of the benches `redis`, `memory` and `capacity` and from the assumptions. */
import { three } from '../harness.ts';
import type { BenchResult } from '../results.ts';
import { msPerPicture, planPictures, planSpeech } from './arithmetic.ts';
import {
  CELLS,
  DEVICES,
  type Device,
  EGRESS_PER_GB,
  PNG_BYTES,
  PRICES_FROM,
  S3_PER_1000_PUTS,
  S3_PER_GB_MONTH,
  SPEECH,
} from './assumptions.ts';

const [T4, A100] = DEVICES;
const MIX = { steps: 21.2, rowsPerPicture: 2 };
const FLEETS = [10, 100, 1000] as const;
/** The load at which the fleets of the tables work. */
const LOAD = 0.85;
const HOURS_OF_MONTH = 720;
const MILLION = 1_000_000;

const whole = (value: number): string => Math.round(value).toLocaleString('en');
const dollars = (value: number): string => `$${value < 10 ? value.toFixed(2) : whole(value)}`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** Finds measured figures by their names. */
class Figures {
  readonly #results: readonly BenchResult[];

  constructor(results: readonly BenchResult[]) {
    this.#results = results;
  }

  /** Throws when the bench has not measured it. */
  of(bench: string, name: string): number {
    const row = this.run(bench).rows.find((each) => each.name === name);
    if (!row) throw new Error(`The bench ${bench} has no figure "${name}".`);
    return row.value;
  }

  run(bench: string): BenchResult {
    const result = this.#results.find((each) => each.bench === bench);
    if (!result) throw new Error(`lab/capacity.md needs a result of npm run lab -- bench ${bench}.`);
    return result;
  }
}

export function capacityPage(results: readonly BenchResult[]): string {
  const figures = new Figures(results);
  return `# Capacity

<!-- made by npm run lab -- bench --write from lab/bench/results and lab/bench/capacity; do not edit -->

What an installation can carry, and what it costs. Three kinds of numbers are on this page, and every table says which it has: **measured** by
\`npm run lab -- bench\`, **simulated** with published times of a device, and **calculated** from these with the arithmetic shown. No card was
available: times of cards are published ones. **Prices are ${PRICES_FROM}**. The report of \`npm run lab -- bench\` has a calculator with the same
arithmetic. How much memory and how many processes an installation needs is in [Sizes](../docs/scaling.md#sizes).

${redisSection(figures)}
${cellsSection()}
${storeSection()}
${fleetSection(figures)}
${customersSection(figures)}`;
}

function redisSection(figures: Figures): string {
  const run = figures.run('redis');
  const [post, serve] = ['Redis CPU of posting a job', 'Redis CPU of serving a job, 1,000 workers'].map(
    (name) => figures.of('redis', name),
  );
  const most = MILLION / (post + serve);
  const cards = Math.round((most / 2) * (msOf(T4) / 1000));
  return `## What one Redis carries

Measured with \`npm run lab -- bench redis\`: 1,000 simulated workers run the queue side that ships against a real Redis; only their devices are
simulated. Jobs are posted by the code of \`POST /v1/jobs\`, without HTTP. CPU is that of the one thread that serves commands, by its own
count. Run on ${run.date}, load ${run.load.map((each) => each.toFixed(1)).join(' to ')}, ${run.machine}.

${table(
  ['Of one job', 'Measured'],
  run.rows.map(({ name, value, unit }) => [name, `${three(value)} ${unit}`]),
)}

Calculated: one core of this machine can do 1,000,000 µs / (${whole(post)} + ${whole(serve)}) µs = **${whole(most)} jobs a second**, and half of it, ${whole(most / 2)}, leaves room
for bursts, for the janitor, and for callers that follow their jobs. A T4 makes ${three(1000 / msOf(T4))} pictures a second of the mix below, so half a Redis carries the jobs of
${whole(cards)} T4s, which hold ${whole(3 * cards)} connections of the 10,000 that Redis allows by default. What 1,000 workers ask without jobs, reports and looks for work, is in
these figures. For
short work, such as texts, the jobs a second decide.`;
}

const msOf = ({ card, rowCap }: Device): number => msPerPicture(card, { ...MIX, rowCap });

function cellsSection(): string {
  return `
## When a second Lehr is the answer

One Lehr is one Redis with its API processes and workers, here called a cell. Redis is one thread and one failure, so a second cell is the answer when

- Redis works more than ${CELLS.redisShare} % of the time (a rule of thumb; its own \`INFO cpu\` says so; Lehr exports no metric of it),
- there are more than ${whole(CELLS.workers)} workers in one cell: three connections each, and the reports of all of them are read for every estimate (a rule of thumb; 1,000 were simulated),
- a failure of one Redis must not stop all tenants, or tenants must be served in another region or under another law.

Below that, add workers and API processes. Lehr has no router between cells: nothing in it knows of another cell. What routes is what
stands in front, and it needs only the tenant:

1. A tenant lives in one cell. Its keys, jobs, quotas, fair share and idempotency keys are there, so fairness holds between tenants of one cell.
2. The host name says the cell: \`eu1.api.example.com\`. Each cell has its own \`LEHR_PUBLIC_URL\`, so links and webhooks of a job lead to its cell.
   Where there must be one name, a proxy routes by a table from the digest of the API key to the cell.
3. A new tenant goes to the cell with the lowest load, and large tenants get a cell of their own.
4. To move a tenant: make its keys in the new cell, change the table, and let the old cell end what it has; jobs do not move.
5. Each cell has its own bucket; the folder of models may be shared.

This section is a plan. Two cells were never run beside each other.
`;
}

function storeSection(): string {
  const gb = (MILLION * PNG_BYTES) / 1e9;
  return `## Store and egress

Calculated, for one million pictures of 512x512 as PNG of ${whole(PNG_BYTES / 1000)} kB, as photographs have (drawings are far smaller), kept for a week:

${table(
  ['What', 'Arithmetic', 'Dollars'],
  [
    [
      'PUT requests',
      `1,000,000 x ${dollars(S3_PER_1000_PUTS * 1000)} / 1,000,000`,
      dollars((MILLION / 1000) * S3_PER_1000_PUTS),
    ],
    [
      'storage',
      `${whole(gb)} GB x 7 / 30 months x $${S3_PER_GB_MONTH}`,
      dollars(gb * (7 / 30) * S3_PER_GB_MONTH),
    ],
    [
      'egress to the internet, each picture fetched once',
      `${whole(gb)} GB x $${EGRESS_PER_GB}`,
      dollars(gb * EGRESS_PER_GB),
    ],
  ],
)}

Signed links lead to the store, so the bytes do not pass through the API. Workers reach S3 inside of the region without charge through a gateway endpoint
of the VPC; through a NAT gateway each GB costs. Egress is the largest part: WebP or a CDN in front of the bucket reduces it.
`;
}

function fleetSection(figures: Figures): string {
  const rows = [T4, A100].flatMap((device) =>
    FLEETS.map((cards) => {
      const perHour = (LOAD * cards * 3_600_000) / msOf(device);
      const month = (price: number): string => dollars(cards * price * HOURS_OF_MONTH);
      const perThousand = (price: number): string => dollars((1000 * cards * price) / perHour);
      const name = (what: string): string => `${device.name} x ${cards}, load ${LOAD}: ${what}`;
      return [
        `${cards} ${device.name}`,
        whole(perHour),
        `${three(figures.of('capacity', name('mean slowdown')))} x`,
        `${three(figures.of('capacity', name('p95 of latency')))} s`,
        `${month(device.onDemand)}, ${perThousand(device.onDemand)}`,
        `${month(device.spot)}, ${perThousand(device.spot)}`,
      ];
    }),
  );
  return `## What 10, 100 and 1,000 cards give and cost

Stable Diffusion 1.5, float16, 512x512, with guidance; 30 % of the jobs have 4 steps, 50 % have 20, 20 % have 50 (${MIX.steps} in the mean), Poisson arrivals at ${LOAD} of what the cards can
do. The time of a card for a picture is calculated as text + steps x step(rows) x 2 / rows + decode, with step(r) = a + b x r:

${table(
  ['Card', 'a, b', 'Rows', 'Text, decode', 'Time of a picture', 'From'],
  [T4, A100].map((device) => {
    const { card, rowCap, from } = device;
    const step = card.stepBaseMs + card.stepPerRowMs * rowCap;
    return [
      device.name,
      `${card.stepBaseMs}, ${card.stepPerRowMs} ms`,
      `${rowCap}`,
      `${card.textMs}, ${card.pictureMs} ms`,
      `${card.textMs} + ${MIX.steps} x ${three(step)} x 2 / ${rowCap} + ${card.pictureMs} = ${whole(msOf(device))} ms`,
      from,
    ];
  }),
)}

Slowdown (latency over the time that the job takes alone) and p95 are **simulated** with equal cards behind one queue in Lehr's order
(\`npm run lab -- bench capacity\`); a long sample that pauses for a short one is not part of this simulation. Dollars are calculated for a
month of ${HOURS_OF_MONTH} hours, and for 1,000 pictures; they are of cards only, without API, Redis and store.

${table(['Cards', 'Pictures an hour', 'Mean slowdown', 'p95', 'On demand: a month, 1,000 pictures', 'Spot: a month, 1,000 pictures'], rows)}

The same mean slowdown at other loads: the more cards share a queue, the more of each can be used.

${slowdownTable(figures)}

${priceTable()} A spot card that is taken away costs at most the steps since the last [checkpoint](../docs/diffusion.md#checkpoints). 1,000 cards are ${whole(3000)} connections of one Redis, and ${whole((LOAD * 1000 * 1000) / msOf(T4))} jobs a second of T4s.
`;
}

function slowdownTable(figures: Figures): string {
  const loads = [0.5, 0.7, 0.85, 0.95];
  const rows = [T4, A100].flatMap(({ name }) =>
    [1, ...FLEETS].map((cards) => [
      `${cards} ${name}`,
      ...loads.map((load) =>
        three(figures.of('capacity', `${name} x ${cards}, load ${load}: mean slowdown`)),
      ),
    ]),
  );
  return table(['Simulated', ...loads.map((load) => `load ${load}`)], rows);
}

const priceTable = (): string =>
  `Assumed prices of a card hour: ${[T4, A100]
    .map(({ name, machine, onDemand, spot }) => `${name} (${machine}) $${onDemand} on demand, $${spot} spot`)
    .join('; ')}.`;

function customersSection(figures: Figures): string {
  return `## Two customers

### Eight users on one card

${eightUsers(figures)}

### A million minutes of recorded speech a month

${millionMinutes()}
`;
}

function eightUsers(figures: Figures): string {
  const twenty = { steps: 20, rowsPerPicture: 2 };
  const alone = msPerPicture(T4.card, { ...twenty, rowCap: 2 });
  const full = msPerPicture(T4.card, { ...twenty, rowCap: T4.rowCap });
  const plan = planPictures(T4.card, {
    ...twenty,
    rowCap: T4.rowCap,
    picturesPerDay: 4000,
    hoursPerDay: 8,
    load: 0.7,
    pricePerHour: T4.onDemand,
  });
  const share = (100 * (8 / (20 + alone / 1000)) * full) / 1000;
  const measured = figures.of('load', 'T4, closed loop, 8 users arriving at 0.02/s: pictures per second');
  return `The classic load test: eight users, each posts the next picture of 20 steps with guidance when the last one is there.

1. One user: ${whole(alone)} ms for a picture on a T4 (calculated), so ${three(1000 / alone)} pictures a second.
2. Eight users at all times: the card makes a picture in ${whole(full)} ms when its calls are full (calculated), so ${three(1000 / full)} a second; each user waits
   8 x ${whole(full)} ms = ${three((8 * full) / 1000)} s. A T4 gains next to nothing from a batch, so no order of work makes it faster: the mean is the same for all
   eight, whether they share steps or take turns. In the simulation, Lehr over a micro-batcher has ${three(measured)} of its pictures per second.
3. People look at a picture before they ask for the next one. With a think time of 20 s, eight users ask for at most
   8 / (20 + ${three(alone / 1000)}) = ${three(8 / (20 + alone / 1000))} pictures a second, which is ${whole(share)} % of the card${share > 70 ? ': too near to all of it, so take two cards' : ', so one card is enough'}.
4. Cost: 4,000 pictures in an office day of 8 hours need ${plan.cards} ${plan.cards === 1 ? 'card' : 'cards'} at a load of 0.7, ${dollars(plan.dollarsPerMonth)} a month on demand when the card runs in these hours only,
   ${dollars(plan.dollarsPerThousand)} for 1,000 pictures.`;
}

function millionMinutes(): string {
  const nights = { minutesPerMonth: MILLION, hoursPerDay: 10, days: 30, load: 0.9 };
  const rows = SPEECH.map(({ name, timesRealTime, onDemand, spot, from }) => {
    const plan = planSpeech({ ...nights, timesRealTime, pricePerHour: spot });
    const withoutSpot = planSpeech({ ...nights, timesRealTime, pricePerHour: onDemand });
    return [
      name,
      `${timesRealTime} (${from})`,
      `${whole(MILLION / 60)} / ${timesRealTime} / ${nights.load} = ${whole(plan.cardHours)}`,
      `${plan.cards}`,
      three(plan.days),
      dollars(plan.dollars),
      dollars(withoutSpot.dollars),
    ];
  });
  const gb = (MILLION * 60 * 16_000) / 8 / 1e9;
  const [{ timesRealTime, spot }] = SPEECH;
  const oneNight = planSpeech({ ...nights, days: 1, timesRealTime, pricePerHour: spot }).cards;
  return `1,000,000 minutes are ${whole(MILLION / 60)} hours of speech. Post each file with \`priority: bulk\`: it goes after all other work, so the same cards can draw pictures by day. Cards
run from 20:00 to 6:00 on spot machines; a card that is taken away hands its windows back, and another one transcribes them.

${table(['Card and model', 'Times real time, published', 'Card hours', 'Cards', 'Nights', 'Spot', 'On demand'], rows)}

Calculated with a load of ${nights.load}, ${nights.hoursPerDay} hours a night. Lehr has not run on these cards, and batches of many files come near these figures only when enough
files wait, which a backlog has. To be done in one night, take ${oneNight} T4s for the same dollars. Files of 16 kbit/s
are ${whole(gb)} GB a month; uploads are free, and transcripts are small. A window of 30 s is no job of its own: 1,000,000 minutes in files of 10 minutes are 100,000 jobs, which
one Redis carries in minutes.
`;
}

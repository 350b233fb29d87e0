/** `npm run lab -- real clients`: programs that others wrote, against a running Lehr. */
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startTarget } from '../../fuzz/target.ts';
import type { Bench, Row, Section } from '../section.ts';
import { type DemoServer, startDemoServer } from './demo-server.ts';
import { loggedKinds } from './logged-kinds.ts';

const HERE = 'lab/real/clients';
const SAMPLES = fileURLToPath(new URL('../../../test/golden/samples', import.meta.url));
/** Of all runs of schemathesis together; each run is a comparison, so that a later `npm run lab -- real` continues with the next one. */
const CASES = 10_000;
const SEEDS = [1, 2] as const;
const RUN_S = 280;
const USERS = 8;
const LOAD_S = 60;
/** The demo model's own size. */
const SIDE = 256;

interface Calls {
  readonly client: string;
  readonly version: string;
  readonly rows: readonly { call: string; form: string; passed: boolean; result: string; seconds: number }[];
}

interface Findings {
  readonly cases: number;
  readonly operations: number;
  readonly failures: readonly string[];
  readonly errors: number;
  readonly seconds: number;
}

interface Load {
  readonly requests: number;
  readonly failures: number;
  readonly median_s: number;
  readonly p95_s: number;
  readonly max_s: number;
  readonly per_s: number;
}

export const section: Section = {
  title: 'Clients and attackers of others',
  about: `The packages \`openai\`, \`replicate\`, \`huggingface_hub\` and \`webuiapi\` for Python, unchanged but for base URL and key, against \`npm start\` with the
demo models: each row is one call in one form, checked by what it returns. The client of \`openai\` also checks every answer against its own
types. \`schemathesis\` makes requests from the OpenAPI document and checks every answer, with all checks
([what it must know of Lehr](real/clients/schemathesis.toml)). \`locust\` is the classic load test of \`/t2i\`, here with the demo
model's own size.`,
  environments: [
    {
      name: 'clients/openai-replicate',
      requirements: `${HERE}/requirements.txt`,
      size: '20 MB, 75 MB on the disk',
    },
    {
      name: 'clients/texts',
      requirements: `${HERE}/requirements-text.txt`,
      size: '50 MB, 195 MB on the disk',
    },
    {
      name: 'clients/web-ui',
      requirements: `${HERE}/requirements-web-ui.txt`,
      size: '12 MB, 45 MB on the disk',
    },
    {
      name: 'clients/schemathesis',
      requirements: `${HERE}/requirements-schemathesis.txt`,
      size: '30 MB, 95 MB on the disk',
    },
    {
      name: 'clients/locust',
      requirements: `${HERE}/requirements-locust.txt`,
      size: '25 MB, 85 MB on the disk',
    },
  ],
  comparisons: [
    {
      name: 'openai',
      title: 'Calls of the package openai',
      run: (bench) => withDemo((server) => callsOf(bench, server, 'openai_calls.py')),
    },
    {
      name: 'replicate',
      title: 'Calls of the package replicate',
      run: (bench) => withDemo((server) => callsOf(bench, server, 'replicate_calls.py')),
    },
    {
      name: 'texts',
      title: 'Calls of the packages openai and huggingface_hub with texts',
      run: (bench) => withDemo((server) => callsOf(bench, server, 'text_calls.py', 'texts')),
    },
    {
      name: 'web-ui',
      title: 'Calls of the package webuiapi',
      run: (bench) => withDemo((server) => callsOf(bench, server, 'web_ui_calls.py', 'web-ui')),
    },
    ...SEEDS.map((seed) => ({
      name: `schemathesis-${seed}`,
      title: `Requests that schemathesis makes from the OpenAPI document, seed ${seed}`,
      run: (bench: Bench) => attack(bench, seed),
    })),
    {
      name: 'locust',
      title: `The classic load test: ${USERS} users, ${SIDE}x${SIDE}, 20 steps, guidance 8.2`,
      run: (bench) => withDemo((server) => load(bench, server)),
    },
  ],
};

async function withDemo(use: (server: DemoServer) => Promise<readonly Row[]>): Promise<readonly Row[]> {
  const server = await startDemoServer();
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}

/** Starts a program, asks it once, and ends it. */
async function answerOf<T>(
  bench: Bench,
  script: string,
  environment: string,
  request: object,
  env = {},
): Promise<T> {
  const program = await bench.openPython(`${HERE}/${script}`, { environment: `clients/${environment}`, env });
  try {
    return await program.ask<T>(request);
  } finally {
    await program.close();
  }
}

async function callsOf(
  bench: Bench,
  { url, key }: DemoServer,
  script: string,
  environment = 'openai-replicate',
): Promise<readonly Row[]> {
  const env = {
    LEHR_URL: url,
    LEHR_API_KEY: key,
    SAMPLES,
    IMAGE_MODEL: 'demo-diffusion',
    SPEECH_MODEL: 'demo-whisper',
    RECORDING: `${SAMPLES}/speech/en_circle.wav`,
  };
  const { rows } = await answerOf<Calls>(bench, script, environment, {}, env);
  return rows.map(({ call, form, passed, result }) => ({
    what: form === '' ? call : `${call}: ${form}`,
    figure: passed ? 'works' : 'fails',
    wanted: 'works',
    met: passed,
    note: result.replace(/\s+/g, ' '),
  }));
}

/** With a server of its own: the records of an earlier run would make its lists long. */
async function attack(bench: Bench, seed: number): Promise<readonly Row[]> {
  const target = await startTarget({ holdS: 60 });
  try {
    const { cases, operations, failures, errors } = await answerOf<Findings>(
      bench,
      'schemathesis_run.py',
      'schemathesis',
      {
        url: `http://127.0.0.1:${target.port}`,
        key: target.adminKey,
        seconds: RUN_S,
        seed,
        folder: `${bench.cache}/schemathesis-${seed}`,
      },
    );
    const [found, logged] = [failures.length + errors, target.errors.length];
    const enough = cases >= CASES / SEEDS.length;
    const late = `the run ends after ${RUN_S} s; load ${loadavg()[0].toFixed(1)} on ${cpus().length} cores`;
    return [
      {
        what: `kinds of failures, over ${operations} operations`,
        figure: found,
        wanted: '0',
        met: found === 0,
        ...(failures.length > 0 && { note: failures.join('; ').slice(0, 600) }),
      },
      {
        what: 'answers of 500 and above, 504 of the hold included',
        figure: target.serverErrors.length,
        ...(target.serverErrors.length > 0 && { note: loggedKinds(target.serverErrors).slice(0, 600) }),
      },
      {
        what: 'errors that Lehr logged',
        figure: logged,
        wanted: '0',
        met: logged === 0,
        ...(logged > 0 && { note: loggedKinds(target.errors).slice(0, 600) }),
      },
      {
        what: `cases, of ${CASES} over all seeds`,
        figure: cases,
        wanted: `>= ${CASES / SEEDS.length}`,
        met: enough,
        ...(!enough && { note: late }),
      },
    ];
  } finally {
    await target.close();
  }
}

async function load(bench: Bench, { url, key }: DemoServer): Promise<readonly Row[]> {
  const request = { url, key, users: USERS, seconds: LOAD_S, size: SIDE, folder: bench.cache };
  const found = await answerOf<Load>(bench, 'locust_run.py', 'locust', request);
  return [
    { what: 'requests', figure: found.requests },
    { what: 'failed requests', figure: found.failures, wanted: '0', met: found.failures === 0 },
    { what: 'pictures per second', figure: found.per_s, unit: '/s' },
    { what: 'response time, median', figure: found.median_s, unit: 's' },
    { what: 'response time, 95th percentile', figure: found.p95_s, unit: 's' },
    { what: 'response time, longest', figure: found.max_s, unit: 's' },
  ];
}

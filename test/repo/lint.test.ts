/** Each rule of infra/lint/doorways.grit refuses the imports that it should, and accepts the allowed ones. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const RULES = 'infra/lint/doorways.grit';

interface Door {
  readonly source: string;
  readonly refused: readonly string[];
  readonly allowed: readonly string[];
}

/** A file of each of these rooms of apps/api. */
const inApi = (...rooms: readonly string[]): string[] => rooms.map((room) => `apps/api/src/${room}/room.ts`);

const DOORS: readonly Door[] = [
  {
    source: 'bullmq',
    refused: [
      'apps/worker/src/parent/intake/a.ts',
      'packages/shared/src/records/a.ts',
      'apps/api/src/jobs/a.ts',
    ],
    allowed: ['packages/shared/src/queue/a.ts', 'apps/api/src/routes/admin/a.ts', 'test/queue/a.test.ts'],
  },
  {
    source: 'ioredis',
    refused: ['packages/shared/src/queue/b.ts', 'apps/api/src/b.ts'],
    allowed: ['packages/shared/src/redis/b.ts'],
  },
  {
    source: '@aws-sdk/client-s3',
    refused: ['packages/shared/src/objects/folder.ts', 'apps/worker/src/parent/intake/c.ts'],
    allowed: ['packages/shared/src/objects/s3.ts', 'packages/shared/src/objects/s3-folder.ts'],
  },
  {
    source: 'ipaddr.js',
    refused: ['apps/api/src/webhooks/d.ts', 'packages/shared/src/egress/guard.ts'],
    allowed: ['packages/shared/src/egress/addresses.ts'],
  },
  { source: 'pino', refused: ['apps/api/src/d.ts'], allowed: ['packages/shared/src/base/log.ts'] },
  {
    source: 'prom-client',
    refused: ['apps/worker/src/e.ts'],
    allowed: ['packages/shared/src/base/metrics.ts'],
  },
  {
    source: '@opentelemetry/api',
    refused: ['apps/api/src/http/middleware/e.ts', 'packages/shared/src/base/tracing/tracing.ts'],
    allowed: ['packages/shared/src/base/tracing/otlp.ts'],
  },
  { source: 'ulid', refused: ['apps/api/src/jobs/f.ts'], allowed: ['packages/shared/src/base/ids.ts'] },
  {
    source: 'yaml',
    refused: ['apps/worker/src/engine/models/g.ts'],
    allowed: ['packages/shared/src/models/registry.ts', 'packages/shared/src/models/models-yaml.ts'],
  },
  {
    source: 'hono',
    refused: [
      'packages/shared/src/h.ts',
      ...inApi('jobs', 'webhooks', 'jobs/files', 'follow', 'fleet', 'http/bodies', 'access'),
    ],
    allowed: [
      'apps/api/src/h.ts',
      ...inApi('routes/admin', 'routes/jobs', 'dialects/openai', 'jobs/requests', 'http', 'http/middleware'),
    ],
  },
  { source: 'hono/csrf', refused: ['apps/worker/src/i.ts'], allowed: ['apps/api/src/routes/admin/i.ts'] },
  { source: '@hono/node-server', refused: ['apps/worker/src/j.ts'], allowed: ['apps/api/src/j.ts'] },
  {
    source: 'rate-limiter-flexible',
    refused: ['apps/api/src/jobs/w.ts', 'packages/shared/src/queue/w.ts'],
    allowed: ['apps/api/src/access/quotas.ts'],
  },
  {
    source: 'cron-parser',
    refused: ['apps/api/src/jobs/cp.ts', 'apps/api/src/schedules/cp.ts'],
    allowed: ['apps/api/src/schedules/ticks.ts'],
  },
  {
    source: 'client-zip',
    refused: ['apps/api/src/routes/cz.ts', 'apps/studio/src/gallery/cz.ts'],
    allowed: ['apps/api/src/batches/zip.ts', 'apps/studio/src/gallery/zip.ts'],
  },
  {
    source: '@modelcontextprotocol/server',
    refused: ['apps/api/src/routes/mc.ts', 'apps/cli/src/commands/mc.ts'],
    allowed: ['packages/mcp/src/server.ts'],
  },
  {
    source: 'proxy-addr',
    refused: ['apps/api/src/access/pa.ts', 'apps/api/src/http/middleware/pa.ts'],
    allowed: ['apps/api/src/http/middleware/caller-address.ts'],
  },
  {
    source: 'lru-cache',
    refused: ['apps/worker/src/engine/diffusion/ad.ts', 'apps/worker/src/engine/ad.ts'],
    allowed: ['apps/worker/src/engine/diffusion/text-encoder.ts'],
  },
  {
    source: '@remix-run/multipart-parser',
    refused: ['apps/api/src/routes/ab.ts', 'apps/api/src/jobs/files/files.ts'],
    allowed: ['apps/api/src/jobs/files/multipart.ts'],
  },
  {
    source: 'standardwebhooks',
    refused: ['packages/shared/src/webhooks/ac.ts', 'packages/client/src/lehr.ts'],
    allowed: ['packages/client/src/webhook.ts'],
  },
  {
    source: 'eventsource-parser',
    refused: ['packages/client/src/follow.ts', 'apps/api/src/follow/ad.ts'],
    allowed: ['packages/client/src/server-sent-events.ts'],
  },
  {
    source: 'uplot',
    refused: ['apps/studio/src/belt/up.ts', 'apps/studio/src/charts/charts.ts'],
    allowed: ['apps/studio/src/charts/plot.ts'],
  },
  { source: 'preact', refused: ['apps/api/src/pr.ts'], allowed: ['apps/studio/src/make/pr.ts'] },
  { source: '@bull-board/api', refused: ['apps/api/src/k.ts'], allowed: ['apps/api/src/routes/admin/k.ts'] },
  {
    source: 'onnxruntime-node',
    refused: ['apps/worker/src/engine/l.ts', 'apps/worker/src/engine/runtime/l.ts'],
    allowed: ['apps/worker/src/engine/runtime/onnx.ts'],
  },
  {
    source: 'protobufjs',
    refused: ['packages/onnx-model/src/m.ts', 'apps/worker/src/engine/models/m.ts'],
    allowed: ['packages/onnx-model/src/codec.ts'],
  },
  {
    source: 'sharp',
    refused: ['apps/worker/src/engine/diffusion/n.ts', 'apps/api/src/jobs/present.ts'],
    allowed: [
      'apps/worker/src/parent/delivery/image-file.ts',
      'apps/worker/src/parent/runs/picture-input.ts',
    ],
  },
  {
    source: '@huggingface/tokenizers',
    refused: ['apps/worker/src/engine/diffusion/text-encoder.ts'],
    allowed: ['apps/worker/src/engine/diffusion/tokenizer.ts', 'apps/worker/src/engine/whisper/tokenizer.ts'],
  },
  {
    source: '@lehr/worker',
    refused: ['apps/api/src/o.ts', 'packages/shared/src/o.ts'],
    allowed: ['test/e2e/o.test.ts'],
  },
  {
    source: '@lehr/worker/tool-event',
    refused: ['apps/cli/src/command.ts', 'apps/api/src/o.ts'],
    allowed: ['apps/cli/src/model-tools.ts'],
  },
  {
    source: '../../../apps/api/src/app.ts',
    refused: ['packages/client/src/p.ts'],
    allowed: ['test/support/p.ts'],
  },
  {
    source: '@lehr/shared/queue',
    refused: ['apps/worker/src/engine/lanes/q.ts', 'apps/worker/src/parent/audio/q.ts'],
    allowed: ['apps/worker/src/parent/intake/q.ts', 'apps/api/src/jobs/q.ts'],
  },
  {
    source: '@lehr/shared/model-cache',
    refused: ['apps/worker/src/engine/folder/r.ts'],
    allowed: ['apps/worker/src/parent/r.ts', 'apps/worker/src/programs/model-tools/r.ts'],
  },
  {
    source: '../../engine/lanes/turns.ts',
    refused: ['apps/worker/src/parent/runs/s.ts', 'apps/worker/src/parent/audio/s.ts'],
    allowed: ['apps/worker/src/programs/tune/s.ts'],
  },
  {
    source: '../../engine/protocol/messages.ts',
    refused: ['apps/worker/src/parent/audio/t.ts'],
    allowed: ['apps/worker/src/parent/runs/t.ts'],
  },
  {
    source: '../supervisor/engine-supervisor.ts',
    refused: ['apps/worker/src/parent/intake/u.ts'],
    allowed: ['apps/worker/src/parent/runs/u.ts'],
  },
  {
    source: './supervisor/engine-supervisor.ts',
    refused: ['apps/worker/src/parent/queue-side.ts'],
    allowed: ['apps/worker/src/parent/engine-side.ts'],
  },
  {
    source: './intake/intake.ts',
    refused: ['apps/worker/src/parent/engine-side.ts'],
    allowed: ['apps/worker/src/parent/queue-side.ts'],
  },
  {
    source: '../audio/decode.ts',
    refused: ['apps/worker/src/parent/runs/y.ts'],
    allowed: ['apps/worker/src/programs/y.ts'],
  },
  {
    source: '../audio/audio-processor.ts',
    refused: [],
    allowed: ['apps/worker/src/parent/runs/z.ts'],
  },
];

test('Every planted import that a rule forbids is reported, and no other import is', async () => {
  const folder = plant(
    DOORS.flatMap(({ source, refused, allowed }) =>
      [...refused, ...allowed].map((path) => ({ path, source })),
    ),
  );
  const wanted = DOORS.flatMap(({ source, refused }) => refused.map((path) => `${path} imports ${source}`));
  expect(await reported(folder)).toEqual(wanted.sort());
});

test('A forbidden import is reported whatever form the import has', async () => {
  const path = 'apps/api/src/ways.ts';
  const ways = ["import { Queue } from 'bullmq';", "import type { Job } from 'bullmq';", "import 'bullmq';"];
  const more = ["export { Queue } from 'bullmq';", "export * from 'bullmq';", "await import('bullmq');"];
  for (const statement of [...ways, ...more]) {
    const folder = plant([{ path, source: 'bullmq', statement }]);
    expect(await reported(folder), statement).toEqual([`${path} imports bullmq`]);
  }
});

test('The environment is read in main.ts and nowhere else', async () => {
  const statement = "if (process.env.LEHR_HOME === undefined) throw new Error('no home');";
  const paths = ['apps/api/src/main.ts', 'apps/api/src/start.ts', 'packages/shared/src/config/env.ts'];
  const folder = plant(paths.map((path) => ({ path, source: '', statement })));
  const refused = (await lint(folder)).filter(({ category }) => category === 'lint/style/noProcessEnv');
  expect(refused.map(({ location }) => location.path).sort()).toEqual(paths.slice(1));
});

test('Every rule refuses a planted import', () => {
  const rules = readFileSync(join(ROOT, RULES), 'utf8');
  const patterns = [...rules.matchAll(/\$source <: r"((?:[^"\\]|\\.)*)"/g)].map(([, pattern]) => pattern);
  expect(patterns.length).toBeGreaterThan(15);
  const sources = DOORS.map(({ source }) => `'${source}'`);
  const unplanted = patterns.filter(
    (pattern) => !sources.some((source) => new RegExp(`^(?:${pattern})$`).test(source)),
  );
  expect(unplanted).toEqual([]);
});

interface Planted {
  readonly path: string;
  readonly source: string;
  readonly statement?: string;
}

/** Writes a small tree with the lint settings of the repository to a new folder. Imports of one file are one per line. */
function plant(imports: readonly Planted[]): string {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'lehr-lint-')));
  onTestFinished(() => rmSync(home, { recursive: true }));
  // The path of a clone must not matter. Test folders are exempt from the rules, so a parent folder named test is the hardest case.
  const folder = join(home, 'test/bench');
  for (const path of ['biome.json', '.gitignore', RULES]) cpSync(join(ROOT, path), join(folder, path));
  for (const { path, source, statement = `import '${source}';` } of imports) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `${statement}\n`, { flag: 'a' });
  }
  return folder;
}

interface Report {
  readonly diagnostics: readonly {
    readonly category: string;
    readonly location: { readonly path: string; readonly start: { readonly line: number } };
  }[];
}

/** Each refused import as `file imports source`, sorted. */
async function reported(folder: string): Promise<string[]> {
  const diagnostics = (await lint(folder)).filter(({ category }) => category === 'plugin');
  return diagnostics
    .map(({ location: { path, start } }) => {
      const line = readFileSync(join(folder, path), 'utf8').split('\n')[start.line - 1];
      return `${path} imports ${/['"](.*)['"]/.exec(line)?.[1]}`;
    })
    .sort();
}

async function lint(folder: string): Promise<Report['diagnostics']> {
  const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
  const args = [biome, 'lint', '--reporter=json', '--max-diagnostics=none'];
  const run = promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 1 << 24 });
  // It exits with 1 when it has something to report.
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  return (JSON.parse(stdout) as Report).diagnostics;
}

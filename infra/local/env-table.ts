/** The tables of environment variables in docs/settings.md, made from the schema that reads them. */
import { z } from 'zod';
import { ENV } from '../../packages/shared/src/config/env.ts';

const BEGIN = '<!-- env: made by npm run docs -->';
const END = '<!-- /env -->';

/** By who sets them, the first ones first. Variables of other projects, such as OTEL_..., are named in the text of the page. */
const GROUPS: readonly (readonly [heading: string, names: readonly string[]])[] = [
  [
    'Your own models on your machine',
    [
      ...['HOME', 'MODELS', 'MODEL_CACHE', 'MODEL_CACHE_GB', 'MODEL_MEMORY_MB', 'DEVICE', 'THREADS'],
      ...['LOG_LEVEL', 'LOG_PROMPTS'],
    ],
  ],
  [
    'Callers on other machines',
    [
      ...['HOST', 'PORT', 'OPERATIONS_PORT', 'PUBLIC_URL', 'API_KEY', 'TRUSTED_PROXIES', 'SECURITY_CONTACT'],
      'EGRESS_ALLOW',
    ],
  ],
  [
    'Several processes, on one machine or many',
    [
      ...['REDIS_URL', 'NAMESPACE', 'S3_BUCKET', 'S3_PUBLIC_ENDPOINT', 'STORE_SECRET', 'SECRET_KEY'],
      ...['KEY_PEPPER', 'ROLES', 'TASKS', 'POOLS', 'WORKER_PORT'],
    ],
  ],
  [
    'Limits, and how long things are kept',
    [
      ...['MAX_WAIT_S', 'MAX_RUN_S', 'HOLD_S', 'MAX_UPLOAD_MB', 'RECORD_TTL_H', 'OUTPUT_TTL_H', 'LINK_TTL_S'],
      ...['AUDIT_DAYS', 'USAGE_DAYS', 'LEASE_MS', 'DRAIN_S', 'CHECKPOINT_STEPS', 'ROW_CAP', 'WAVEFORM_MB'],
    ],
  ],
  [
    'Watching it',
    [
      'PROMETHEUS_URL',
      'METRICS_TENANTS',
      'DEVICE_HOUR_PRICE',
      'CURRENCY',
      'OPERATOR_WEBHOOK_URL',
      'OPERATOR_WEBHOOK_SECRET',
    ],
  ],
];
const OWN = 'LEHR_';

/** Markdown: a table for each group, one row per variable. Throws when a variable is in no group, or in two. */
export function envTable(): string {
  const grouped = GROUPS.flatMap(([, names]) => names.map((name) => OWN + name));
  const own = Object.keys(ENV).filter((name) => name.startsWith(OWN));
  if ([...grouped].sort().join() !== own.sort().join())
    throw new Error(`infra/local/env-table.ts must have each of these in one group: ${own.join(', ')}`);
  const tables = GROUPS.map(([heading, names]) => {
    const rows = names.map((name) => row(OWN + name));
    return [`## ${heading}`, '', '| Variable | Default | Meaning |', '| --- | --- | --- |', ...rows].join(
      '\n',
    );
  });
  return tables.join('\n\n');
}

function row(name: string): string {
  const schema = ENV[name as keyof typeof ENV];
  const { description = '' } = schema.meta() ?? {};
  const choices = choicesOf(schema);
  const meaning = choices.length > 0 ? `${description} One of ${choices.map(code).join(', ')}.` : description;
  return `| \`${name}\` | ${defaultOf(schema)} | ${meaning.replaceAll('|', '\\|')} |`;
}

/** `page` with new tables between its two marks. Throws when the marks are missing. */
export function withEnvTable(page: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from)
    throw new Error(`docs/settings.md has no place for the table: ${BEGIN} ... ${END}`);
  return `${page.slice(0, from)}${BEGIN}\n\n${envTable()}\n\n${page.slice(to)}`;
}

function choicesOf(schema: z.ZodType): readonly string[] {
  const { enum: choices } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return (choices ?? []).map(String);
}

function defaultOf(schema: z.ZodType): string {
  const { data } = schema.safeParse(undefined);
  return data === undefined ? '' : code(String(data));
}

const code = (text: string): string => `\`${text}\``;

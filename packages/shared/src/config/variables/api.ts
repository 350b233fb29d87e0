/** Variables of the API. */
import { z } from 'zod';
import { parseAllowList, parseRange } from '../../egress/addresses.ts';
import { httpUrl, port, positive, SECRET, whole } from './every-program.ts';

/** A contact of security.txt. */
const CONTACT = /^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/;

/** One secret, or two during a rotation: what is new is made with the first one, and what was made with the second one is still read. */
const rotatedSecret = z
  .string()
  .transform((text) => text.split(',') as [string, ...string[]])
  .refine((secrets) => secrets.length <= 2 && secrets.every(({ length }) => length >= 32), {
    error: 'must have at least 32 characters, or be two such secrets with a comma',
  });

/** Where LEHR_OPERATIONS_PORT listens: a port alone is one of loopback. */
export function operationsAddress(text: string): { readonly host: string; readonly port: number } {
  const at = text.lastIndexOf(':');
  const host = at < 0 ? '127.0.0.1' : text.slice(0, at).replace(/^\[|\]$/g, '');
  return { host, port: Number(text.slice(at + 1)) };
}

export const API_ENV = {
  LEHR_HOST: z.string().default('127.0.0.1').meta({
    description: 'Address the API listens on. Any address but loopback requires LEHR_API_KEY.',
  }),
  LEHR_PORT: port.default(8080).meta({ description: 'Port of the API.' }),
  LEHR_OPERATIONS_PORT: z
    .string()
    .regex(
      /^(?:(?:[\w.-]+|\[[\da-f:.]+\]):)?\d{1,5}$/i,
      'must be a port, or an address and a port like 0.0.0.0:9465',
    )
    .refine((text) => operationsAddress(text).port <= 65_535, 'must have a port from 0 to 65535')
    .optional()
    .meta({
      description:
        'A separate port for `/metrics`, `/readyz` and `/admin`, which LEHR_PORT then no longer serves: `9465` on loopback, or with an address, `0.0.0.0:9465`. Not set: LEHR_PORT serves all.',
    }),
  LEHR_PUBLIC_URL: httpUrl.optional().meta({
    description: 'The base URL callers use; links are built from it. Default: http://host:port.',
  }),
  LEHR_TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform((list) => list.split(',').flatMap((each) => each.trim() || []))
    .refine((ranges) => ranges.every((range) => parseRange(range) !== undefined), {
      error: 'must be addresses or ranges like 10.1.0.0/16, with commas',
    })
    .meta({
      description:
        'Addresses and ranges of the proxies in front of the API, with commas. Only their `X-Forwarded-For` is believed; it gives the address of a caller in the audit log.',
    }),
  LEHR_SECURITY_CONTACT: z
    .string()
    .default('')
    .transform((list) => list.split(',').flatMap((each) => each.trim() || []))
    .refine((contacts) => contacts.every((contact) => CONTACT.test(contact) && URL.canParse(contact)), {
      error: 'must be addresses like mailto:security@example.com or https://example.com/report, with commas',
    })
    .meta({
      description:
        'Where to report a weakness of this installation, in `/.well-known/security.txt`: `mailto:` or `https:` addresses, with commas. Not set: the file is a 404.',
    }),
  LEHR_API_KEY: z
    .string()
    .min(20, 'must have at least 20 characters')
    .optional()
    .meta({
      description:
        'The key callers send as a bearer token. Default: generated at the first start, in LEHR_HOME.',
      ...SECRET,
    }),
  LEHR_KEY_PEPPER: rotatedSecret.optional().meta({
    description:
      'Secret of the digests that created keys are stored as; the same for every API process. `new,old` during a [rotation](operating.md#rotate-the-secrets). Default: generated in LEHR_HOME.',
    ...SECRET,
  }),
  LEHR_MAX_WAIT_S: positive.default(600).meta({
    description: 'A job with a longer estimated wait than this is refused with 503.',
  }),
  LEHR_MAX_UPLOAD_MB: positive.default(25).meta({
    description:
      'Largest file of audio or picture, uploaded or fetched, in megabytes. Pictures may have at most 32.',
  }),
  LEHR_HOLD_S: positive.max(280, 'must be at most 280').default(120).meta({
    description:
      'Seconds that the routes of OpenAI, Hugging Face and the web UI, /t2i and /graph hold a request until its job has ended; at most 280, because clients time out at 300.',
  }),
  LEHR_ROLES: z
    .string()
    .regex(/^(http|webhooks)(,(http|webhooks))*$/, 'must be http, webhooks, or both with a comma')
    .default('http,webhooks')
    .meta({ description: 'What this API process does: answer requests, deliver webhooks, or both.' }),
  LEHR_SECRET_KEY: rotatedSecret.optional().meta({
    description:
      'Encrypts the webhook secrets in Redis; the same for every API process. `new,old` during a rotation. Default: generated in LEHR_HOME.',
    ...SECRET,
  }),
  LEHR_EGRESS_ALLOW: z
    .string()
    .superRefine((list, context) => {
      try {
        parseAllowList(list);
      } catch (error) {
        context.addIssue({ code: 'custom', message: (error as Error).message });
      }
    })
    .optional()
    .meta({
      description:
        'Private hosts and address ranges that webhooks and inputs by URL may reach, with commas: `10.1.0.0/16,hooks.internal`. `*`, for tests and development, allows all, and plain http. Metadata services stay blocked. `npm start` on loopback adds this machine.',
    }),
  LEHR_OPERATOR_WEBHOOK_URL: httpUrl.optional().meta({
    description:
      'Gets a signed webhook for every change of a [rollout](rollouts.md). Guarded as webhooks of jobs are: a private address needs LEHR_EGRESS_ALLOW.',
    ...SECRET,
  }),
  LEHR_OPERATOR_WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/, 'must be whsec_ and at least 24 random bytes in base64')
    .optional()
    .meta({
      description:
        'Signs it; the same for every API process: `echo whsec_$(openssl rand -base64 32)` makes one.',
      ...SECRET,
    }),
  LEHR_PROMETHEUS_URL: httpUrl.optional().meta({
    description:
      'Base address of a Prometheus that scrapes this installation; the charts of the studio are read from it; it may have a name and a password. Not set: there are none. `npm start -- --observe` runs one.',
    ...SECRET,
  }),
  LEHR_METRICS_TENANTS: whole.min(0, 'must be 0 to 100').max(100, 'must be 0 to 100').default(0).meta({
    description:
      'Tenants that `/metrics` shows by name with what their jobs cost: those with the most cost lately; all others are one series. 0 names none, because `/metrics` needs no key.',
  }),
  LEHR_RECORD_TTL_H: positive
    .default(24)
    .meta({ description: 'Hours that the record of a finished job is kept.' }),
  LEHR_USAGE_DAYS: whole.min(1, 'must be 1 to 3650').max(3650, 'must be 1 to 3650').default(400).meta({
    description:
      'Days that the use of a day is kept (`GET /v1/usage`); the same for the API and all workers. A new value holds for the days that begin after it.',
  }),
  LEHR_DEVICE_HOUR_PRICE: z.coerce.number('must be a number').min(0, 'must be at least 0').optional().meta({
    description: 'Price of an hour of device time, for `GET /v1/usage`. Not set: it shows no prices.',
  }),
  LEHR_CURRENCY: z
    .string()
    .regex(/^[A-Za-z]{1,10}$/, 'must be 1 to 10 letters, such as EUR')
    .optional()
    .meta({ description: 'The currency of LEHR_DEVICE_HOUR_PRICE, as text: `EUR`.' }),
  LEHR_AUDIT_DAYS: positive
    .max(3650, 'must be at most 3650')
    .default(365)
    .meta({ description: 'Days that an entry of the audit log is kept.' }),
  LEHR_OUTPUT_TTL_H: positive.default(168).meta({ description: 'Hours that a stored output is kept.' }),
  LEHR_LINK_TTL_S: whole
    .min(10, 'must be at least 10')
    .max(604_800, 'must be at most 604800')
    .default(900)
    .meta({ description: 'Seconds that a link to an output stays valid; every response has new links.' }),
} as const;

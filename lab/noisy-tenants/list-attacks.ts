/** Attacks with GETs: small requests without a body, over records that are as large as a request may make them. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface AttackContext {
  readonly port: number;
  readonly key: string;
  /** 1 for an attack of full size; a share of it for a short test. */
  readonly scale: number;
}

/** In characters; a prompt has at most 32,000. */
const WORKFLOW_PROMPT = 'w'.repeat(29_000);
const LONGEST_PROMPT = 'p'.repeat(32_000);
/** 16 nodes of two prompts: 930 kB. */
const WORKFLOW = {
  type: 'workflow',
  nodes: Array.from({ length: 16 }, (_, i) => ({
    id: `n${i}`,
    type: 'text-to-image',
    input: { prompt: WORKFLOW_PROMPT, negative_prompt: WORKFLOW_PROMPT },
  })),
};
export const PICTURE = {
  type: 'text-to-image',
  input: { prompt: LONGEST_PROMPT, negative_prompt: LONGEST_PROMPT },
};
const REFUSED_PAUSE_MS = 20;

/** An attack that needs something of the attacker's first. */
export interface PreparedAttack {
  /** Makes it, unless an earlier turn has. Jobs that are listed are cancelled: only the lists are measured. */
  readonly prepare: (context: AttackContext) => Promise<void>;
  readonly attack: (context: AttackContext) => Promise<unknown>;
}

export const headersOf = ({ key }: AttackContext) => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
});

export async function makeCancelled(
  context: AttackContext,
  count: number,
  job: (typeof WORKFLOW | typeof PICTURE) & { readonly metadata?: object },
) {
  const url = `http://127.0.0.1:${context.port}/v1/jobs`;
  const headers = headersOf(context);
  const listed = await (await fetch(`${url}?limit=1&type=${job.type}&status=canceled`, { headers })).json();
  if ((listed as { data: unknown[] }).data.length > 0) return;
  const body = JSON.stringify(job);
  for (let made = 0; made < count; ) {
    const response = await fetch(url, { method: 'POST', headers, body });
    const { id } = (await response.json()) as { id: string };
    if (response.status === 202) {
      await (await fetch(`${url}/${id}/cancel`, { method: 'POST', headers })).arrayBuffer();
      made += 1;
    } else await sleep(REFUSED_PAUSE_MS);
  }
}

/** This many callers read the same page or job again and again. */
export const readForever = (context: AttackContext, callers: number, path: string): Promise<unknown> =>
  Promise.all(
    Array.from({ length: callers }, async () => {
      for (;;) {
        const url = `http://127.0.0.1:${context.port}${path}`;
        const response = await fetch(url, { headers: headersOf(context) }).catch(() => undefined);
        await response?.arrayBuffer();
        if (!response?.ok) await sleep(REFUSED_PAUSE_MS);
      }
    }),
  );

export const LIST_ATTACKS: Readonly<Record<string, PreparedAttack>> = {
  'lists of large workflows': {
    prepare: (context) => makeCancelled(context, Math.ceil(150 * context.scale), WORKFLOW),
    attack: (context) => readForever(context, 2, '/v1/jobs?limit=1'),
  },
  'lists of the longest prompts': {
    prepare: (context) => makeCancelled(context, Math.ceil(200 * context.scale), PICTURE),
    attack: (context) => readForever(context, 8, '/v1/jobs?limit=100'),
  },
  'reads of a large workflow': {
    prepare: (context) => makeCancelled(context, 1, WORKFLOW),
    attack: async (context) => {
      const url = `http://127.0.0.1:${context.port}/v1/jobs?limit=1&type=workflow`;
      const { data } = (await (await fetch(url, { headers: headersOf(context) })).json()) as {
        data: { id: string }[];
      };
      return readForever(context, 16, `/v1/jobs/${data[0].id}`);
    },
  },
};

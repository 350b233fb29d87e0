/** What is still held when no request is left: jobs, held requests, streams and upload slots. */
import type { Socket } from 'node:net';
import { ATTACKER_LIMITS, type Target } from './target.ts';

/** Uploads that one tenant may have at once at an API process. */
const UPLOAD_SLOTS = 8;
const SETTLE_LIMIT_MS = 60_000;

/** A thing that the fuzzer exists to find. */
export class Finding extends Error {}

/** Ends what a round left and throws a Finding when something of it is still held. */
export async function settle(target: Target, open: Set<Socket>): Promise<void> {
  for (const socket of open) socket.resetAndDestroy();
  await endJobs(target);
  await removeKeys(target);
  await eventually('held requests', async () => (await gauge(target, 'lehr_held_requests')) === 0);
  await eventually('event streams', async () => (await gauge(target, 'lehr_event_streams')) === 0);
  await eventually('upload slots', () => allUploadsFit(target));
  await eventually('slots of event streams', () => allStreamsFit(target));
}

async function eventually(what: string, isFree: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + SETTLE_LIMIT_MS;
  while (!(await isFree())) {
    if (performance.now() > endsAt) throw new Finding(`${what} are still held when no request is left`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function gauge({ ask, adminKey }: Target, name: string): Promise<number> {
  const page = await (await ask(adminKey, 'GET', '/metrics')).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(page)?.[1]);
}

/** As many uploads at once as the tenant may have. */
async function allUploadsFit({ ask, attackerKey }: Target): Promise<boolean> {
  const statuses = await Promise.all(
    Array.from({ length: UPLOAD_SLOTS }, async () => {
      const form = new FormData();
      form.append('content', new Blob(['RIFF']), 'a.wav');
      const response = await ask(attackerKey, 'POST', '/v1/files', form);
      await response.arrayBuffer();
      return response.status;
    }),
  );
  return statuses.every((status) => status === 201);
}

/** As many streams at once as the key may have. */
async function allStreamsFit({ port, ask, attackerKey }: Target): Promise<boolean> {
  const { data } = (await (await ask(attackerKey, 'GET', '/v1/jobs?limit=1')).json()) as {
    data: { id: string }[];
  };
  if (data.length === 0) return true;
  const hangUp = new AbortController();
  const responses = await Promise.all(
    Array.from({ length: ATTACKER_LIMITS.max_streams }, () =>
      fetch(`http://127.0.0.1:${port}/v1/jobs/${data[0].id}/events`, {
        headers: { authorization: `Bearer ${attackerKey}` },
        signal: hangUp.signal,
      }),
    ),
  );
  hangUp.abort();
  return responses.every(({ status }) => status === 200);
}

/** Ends what makes or changes jobs of the attacker, cancels these, and waits until none of them runs any more. */
export async function endJobs(target: Target): Promise<void> {
  await eventually('actions', () => noActionIsLeft(target));
  await eventually('schedules', () => noScheduleIsLeft(target));
  await eventually('batches', () => noBatchIsLeft(target));
  await eventually('jobs', () => noJobIsLeft(target));
}

async function noScheduleIsLeft({ ask, attackerKey }: Target): Promise<boolean> {
  const page = await ask(attackerKey, 'GET', '/v1/schedules');
  const { data } = (await page.json()) as { data: { id: string }[] };
  for (const { id } of data) await (await ask(attackerKey, 'DELETE', `/v1/schedules/${id}`)).arrayBuffer();
  return data.length === 0;
}

async function noActionIsLeft({ ask, attackerKey }: Target): Promise<boolean> {
  const page = await ask(attackerKey, 'GET', '/v1/job-actions');
  const { data } = (await page.json()) as { data: { id: string; ended_at: string | null }[] };
  const open = data.filter(({ ended_at }) => ended_at === null);
  for (const { id } of open)
    await (await ask(attackerKey, 'POST', `/v1/job-actions/${id}/cancel`)).arrayBuffer();
  return open.length === 0;
}

async function noBatchIsLeft({ ask, attackerKey }: Target): Promise<boolean> {
  const page = await ask(attackerKey, 'GET', '/v1/batches?limit=100');
  const { data } = (await page.json()) as { data: { id: string; status: string }[] };
  const open = data.filter(({ status }) => !/^(?:completed|failed|expired|cancelled)$/.test(status));
  for (const { id } of open) await (await ask(attackerKey, 'POST', `/v1/batches/${id}/cancel`)).arrayBuffer();
  return open.length === 0;
}

async function noJobIsLeft({ ask, attackerKey }: Target): Promise<boolean> {
  const pages = await Promise.all(
    ['queued', 'running'].map(async (status) => {
      const page = await ask(attackerKey, 'GET', `/v1/jobs?limit=100&status=${status}`);
      return ((await page.json()) as { data: { id: string }[] }).data;
    }),
  );
  const jobs = pages.flat();
  const cancels = jobs.map(async ({ id }) =>
    (await ask(attackerKey, 'POST', `/v1/jobs/${id}/cancel`)).arrayBuffer(),
  );
  await Promise.all(cancels);
  return jobs.length === 0;
}

/** Requests create keys, and the list of keys must not grow from round to round. */
async function removeKeys({ ask, adminKey }: Target): Promise<void> {
  const { data } = (await (await ask(adminKey, 'GET', '/v1/keys')).json()) as {
    data: { id: string; tenant: string }[];
  };
  for (const { id, tenant } of data) {
    if (tenant === 'attacker' || tenant === 'polite') continue;
    await (await ask(adminKey, 'DELETE', `/v1/keys/${id}`)).arrayBuffer();
  }
}

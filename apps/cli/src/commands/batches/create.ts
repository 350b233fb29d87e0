/** `lehr batch`: makes a batch of a file. */
import type { Batch, BatchEstimate, BatchRequest, Lehr } from '@lehr/client';
import { defineCommand } from '../../command.ts';
import { EXIT, usageError } from '../../exit-codes.ts';
import { readInput } from '../../read-input.ts';
import { durationText, plain } from '../../table.ts';

export const batch = defineCommand({
  name: 'batch',
  operands: 'FILE',
  count: [1, 1],
  summary: 'Make a batch: of a file of JSON lines, a sweep, or a list of jobs.',
  notes: [
    'A file of JSON has {"request": ..., "values": ...}, which is a sweep, or a list of jobs as for POST /v1/jobs.',
    'A file whose name ends in .jsonl has lines {"custom_id", "method": "POST", "url", "body"}.',
  ],
  options: {
    endpoint: { type: 'string', value: 'URL', help: 'Of the lines of a .jsonl file. Default: /v1/jobs.' },
    window: { type: 'string', value: 'HOURS', help: 'What is not done by then is not run. Default: 24h.' },
    priority: { type: 'string', value: 'CLASS', help: 'interactive, standard or bulk. Default: bulk.' },
    webhook: { type: 'string', value: 'URL', help: 'Gets one signed event when the batch has ended.' },
    'dry-run': {
      type: 'boolean',
      help: 'Only say how many jobs it would have, and about how long they take.',
    },
    wait: { type: 'boolean', short: 'w', help: 'Wait until the batch has ended.' },
  },
  run: async ({ values, positionals: [path], terminal, json, client }) => {
    const lehr = await client();
    const { signal } = terminal;
    const request = {
      ...(await linesOf(lehr, path, signal)),
      ...(values.endpoint !== undefined && { endpoint: values.endpoint }),
      ...(values.window !== undefined && { completion_window: values.window }),
      ...(values.priority !== undefined && { priority: values.priority }),
      ...(values.webhook !== undefined && { webhook: { url: values.webhook } }),
    } as BatchRequest;
    if (values['dry-run']) {
      const estimate = await lehr.batches.estimate(request, { signal });
      terminal.out(json ? `${JSON.stringify(estimate)}\n` : estimateText(estimate));
      return EXIT.ok;
    }
    let made = await lehr.batches.create(request, { signal });
    if (!json) terminal.out(`${made.id}\n`);
    for await (const { data } of values.wait ? lehr.batches.stream(made.id, { signal }) : []) {
      made = data;
      if (!json && terminal.errIsTty) terminal.err(`\r${countsText(made)}`);
    }
    if (json) terminal.out(`${JSON.stringify(made)}\n`);
    else if (values.wait) terminal.out(`${made.status}: ${countsText(made)}\n${plain(faultsOf(made))}`);
    return made.status === 'failed' ? EXIT.jobFailed : EXIT.ok;
  },
});

const countsText = ({ request_counts: { total, completed, failed } }: Batch): string =>
  `${completed} of ${total} done, ${failed} failed`;

function estimateText({
  total,
  priced,
  is_sample,
  refused,
  device_s,
  duration_s,
  ...money
}: BatchEstimate): string {
  const { price, currency = '' } = money;
  const cost = price === undefined ? '' : `, which costs about ${price.toFixed(2)} ${currency}`.trimEnd();
  const lines = [`${total} jobs, about ${durationText(device_s * 1000)} of one device${cost}`];
  lines.push(
    duration_s === null
      ? 'no worker serves all of the models now'
      : `about ${durationText(duration_s * 1000)} of the workers that serve the models now, if they did nothing else`,
  );
  if (refused > 0) lines.push(`${refused} of ${priced} would be refused`);
  if (is_sample) lines.push(`estimated from ${priced} of them`);
  return `${lines.join('\n')}\n`;
}

async function linesOf(lehr: Lehr, path: string, signal: AbortSignal): Promise<Partial<BatchRequest>> {
  const bytes = await readInput(path);
  if (path.endsWith('.jsonl')) {
    const file = await lehr.upload(new Uint8Array(bytes), { name: path, signal });
    return { input_file_id: file.id };
  }
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return Array.isArray(value)
      ? { requests: value as NonNullable<BatchRequest['requests']> }
      : { sweep: value as NonNullable<BatchRequest['sweep']> };
  } catch (error) {
    throw usageError(`${path} is not JSON: ${(error as Error).message}`);
  }
}

/** What to say of a batch that failed as a whole. */
const faultsOf = ({ errors }: Batch): string =>
  (errors?.data ?? [])
    .map(({ line, message }) => `${line === null ? '' : `line ${line}: `}${message}\n`)
    .join('');

import { resolve } from 'node:path';
import { defineCommand, numberOf } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { runModelTool, type ToolEvent, type ToolResult } from '../model-tools.ts';
import { ERASE_LINE, fractionView } from '../progress.ts';
import { bytesText, durationText, plain, tableOf } from '../table.ts';
import type { Terminal } from '../terminal.ts';

const GOALS = ['throughput', 'latency', 'memory'];
const MAX_WORKERS = 4;

export const tune = defineCommand({
  name: 'tune',
  operands: 'MODEL',
  count: [1, 1],
  summary: 'Find the settings with which a model runs best on this machine, and enter them in models.yaml.',
  notes: [
    'MODEL is name or name@version of models.yaml. The same command continues a search that was interrupted.',
    'This command needs the server of Lehr on this machine, and the variables of the server. Stop its workers first: they share the device.',
  ],
  options: {
    goal: {
      type: 'string',
      value: 'GOAL',
      help: 'What is best: throughput, latency or memory. Default: throughput.',
    },
    variants: {
      type: 'boolean',
      help: 'Also try the other exports of a speech or text model (fp16, quantized), whose results may differ.',
    },
    arrivals: {
      type: 'string',
      value: 'JOBS_PER_S|FILE',
      help: 'With the goal latency: the load to choose for, as jobs per second, or a file that lehr jobs --json wrote.',
    },
    workers: {
      type: 'string',
      value: 'N',
      help: `Also try 2 to N workers that share the device, ${MAX_WORKERS} at most. Default: 1.`,
    },
    grid: { type: 'boolean', help: 'Measure every combination fully. Takes several times as long.' },
    write: { type: 'boolean', help: 'Enter the result in models.yaml without asking.' },
    report: {
      type: 'string',
      value: 'FILE',
      help: 'Where the report is written. Default: LEHR_HOME/tune/MODEL-GOAL.json.',
    },
  },
  run: async ({ values, positionals: [model], terminal, json }) => {
    const { goal = 'throughput', variants = false, grid = false, write = false, report } = values;
    if (!GOALS.includes(goal)) throw usageError(`--goal is "${goal}", expected one of ${GOALS.join(', ')}`);
    const workers = numberOf('workers', values.workers) ?? 1;
    if (!Number.isInteger(workers) || workers < 1 || workers > MAX_WORKERS)
      throw usageError(`--workers is ${workers}, expected a whole number from 1 to ${MAX_WORKERS}`);
    const { arrivals } = values;
    if (arrivals !== undefined && goal !== 'latency')
      throw usageError(`--arrivals is for the goal latency; --goal is ${goal}`);
    if (workers > 1 && goal !== 'throughput' && arrivals === undefined)
      throw usageError(`--workers is for the goal throughput, or needs --arrivals; --goal is ${goal}`);
    const request = {
      command: 'tune',
      model,
      goal,
      variants,
      grid,
      workers,
      ...(arrivals !== undefined && {
        arrivals: isRate(Number(arrivals)) ? Number(arrivals) : resolve(arrivals),
      }),
      ...(report !== undefined && { report: resolve(report) }),
    };
    const view = tuneView(terminal, json);
    const { type: _, ...tuned } = await runModelTool(terminal, request, 'tuned', view.show).finally(view.end);
    if (!json) showTuned(tuned, arrivals !== undefined, terminal);
    const isWritten = write || (!json && (await isAgreed(terminal)));
    if (isWritten) {
      const { model: ref, device, settings } = tuned;
      await runModelTool(terminal, { command: 'enter-tuned', model: ref, device, settings }, 'entered');
    }
    if (json) terminal.out(`${JSON.stringify({ ...tuned, written: isWritten })}\n`);
    else if (isWritten)
      terminal.out(`entered in ${plain(tuned.models_file)}; running workers take it within seconds\n`);
    else terminal.out('models.yaml was not changed; --write enters the result\n');
    return EXIT.ok;
  },
});

/** What is no rate may be the name of a file. */
const isRate = (number: number): boolean => number > 0 && Number.isFinite(number);

async function isAgreed({ ask }: Terminal): Promise<boolean> {
  return /^y(?:es)?$/i.test((await ask?.('Enter this in models.yaml? [y/N] ')) ?? '');
}

const JOBS = { diffusion: 'PICTURES/S', whisper: 'WINDOWS/S', text: 'TEXTS/S' };

function showTuned(tuned: Omit<ToolResult<'tuned'>, 'type'>, hasArrivals: boolean, { out }: Terminal): void {
  const { chosen, costs, failed, goal, device, settings, seconds, report } = tuned;
  const job = JOBS[tuned.task];
  out(
    tableOf(
      ['SETTING', 'VALUE', job, 'ONE JOB', 'MEMORY', 'COST'],
      costs.map(({ setting, value, figures, cost }) => [
        setting,
        value === '' ? 'none' : value,
        figures.jobsPerS.toPrecision(3),
        durationText(figures.jobMs),
        bytesText(figures.residentBytes),
        cost === 1 ? 'chosen' : `x ${cost.toFixed(2)}`,
      ]),
    ),
  );
  for (const reason of new Set(failed.map((each) => each.reason))) out(`does not run  ${plain(reason)}\n`);
  const { jobsPerS, jobMs, residentBytes } = chosen.figures;
  out(`\nbest for ${goal}  ${plain(settingsText(settings))}, where ${device} is the first device\n`);
  const time = hasArrivals ? 'at most for 95 % of these arrivals' : 'for one in a full batch';
  out(`it gives  ${jobsPerS.toPrecision(3)} per second, ${durationText(jobMs)} ${time}, `);
  out(`${bytesText(residentBytes)} of memory\n`);
  const { workers = 1 } = chosen.candidate.session;
  if (workers > 1)
    out(`workers   run ${workers} on this device: lehr fleet --max ${workers} without cards\n`);
  out(`found in  ${durationText(1000 * seconds)}\nreport    ${plain(report)}\n`);
}

const settingsText = (settings: Readonly<Record<string, string | number>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}: ${value === '' ? 'none' : value}`)
    .join(', ');

interface TuneView {
  show(event: ToolEvent): void;
  /** Erases the bar. */
  end(): void;
}

function tuneView(terminal: Terminal, json: boolean): TuneView {
  if (json) return { show: () => {}, end: () => {} };
  const { err, errIsTty } = terminal;
  const draw = fractionView(terminal, 'measure');
  return {
    show: (event) => {
      if (event.type === 'continued')
        err(`continues an interrupted search with ${event.measurements} measurements\n`);
      else if (event.type === 'tuning') draw(event.done / event.total, `${event.done}/${event.total}`);
    },
    end: () => {
      if (errIsTty) err(ERASE_LINE);
    },
  };
}

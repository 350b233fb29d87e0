import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { defineCommand, numberOf } from '../command.ts';
import { EXIT, type ExitCode, usageError } from '../exit-codes.ts';
import { serverIsElsewhere, serverProgram } from '../server-program.ts';

export const fleet = defineCommand({
  name: 'fleet',
  operands: '[-- COMMAND...]',
  count: [0, 100],
  summary: 'Run workers on this machine, as many as there should be now.',
  notes: [
    'Needs a key with the scope scale, and the variables of a worker. Ctrl-C or SIGTERM lets the workers end their jobs. SIGHUP replaces',
    'them: new workers, with the program and the --env-file as they are then, serve before the old ones drain.',
    'COMMAND is another program of a worker.',
  ],
  options: {
    pool: { type: 'string', value: 'NAME', help: 'The pool that the workers belong to. Default: all.' },
    workers: {
      type: 'string',
      value: 'N',
      help: 'Always so many workers. Default: auto, as the pool needs.',
    },
    cards: { type: 'string', value: 'LIST', help: 'One worker for each of these cards, such as 0,1,2,3.' },
    max: { type: 'string', value: 'N', help: 'The most workers, without --cards. Default: 4.' },
    'first-port': {
      type: 'string',
      value: 'PORT',
      help: 'Metrics of the first worker; the next ones follow.',
    },
    'env-file': { type: 'string', value: 'FILE', help: 'Variables of the workers, one NAME=value a line.' },
  },
  run: async ({ values, positionals, terminal, url }) => {
    const program = serverProgram('local-fleet');
    if (program === undefined) throw serverIsElsewhere();
    const { workers = 'auto' } = values;
    const request = {
      url,
      ...(values.pool !== undefined && { pool: values.pool }),
      workers: workers === 'auto' ? workers : wholeOf('workers', workers, 1),
      ...(values.cards !== undefined && { cards: values.cards.split(',').map((each) => each.trim()) }),
      ...(values.max !== undefined && { max: wholeOf('max', values.max, 1) }),
      ...(values['first-port'] !== undefined && {
        firstPort: wholeOf('first-port', values['first-port'], 0),
      }),
      ...(values['env-file'] !== undefined && { envFile: values['env-file'] }),
      ...(positionals.length > 0 && { command: positionals }),
    };
    const key = values['api-key' as keyof typeof values] as string | undefined;
    const child = spawn(process.execPath, [program, JSON.stringify(request)], {
      env: { ...terminal.env, ...(key !== undefined && { LEHR_API_KEY: key }) },
      // Its channel closes when this process is killed: then the fleet drains.
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const forward = (signal: NodeJS.Signals) => (): void => void child.kill(signal);
    // Every signal goes on, for as long as the fleet runs: a second SIGTERM ends its workers at once.
    const stop = forward('SIGTERM');
    const handlers = { SIGHUP: forward('SIGHUP'), SIGINT: stop, SIGTERM: stop };
    for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler);
    terminal.signal.addEventListener('abort', stop, { once: true });
    const [code] = (await once(child, 'exit')) as [number | null];
    for (const [signal, handler] of Object.entries(handlers)) process.off(signal, handler);
    return (code ?? EXIT.fault) as ExitCode;
  },
});

function wholeOf(name: string, text: string, min: number): number {
  const number = numberOf(name, text);
  if (number !== undefined && Number.isInteger(number) && number >= min) return number;
  throw usageError(`--${name} is ${JSON.stringify(text)}, expected a whole number of at least ${min}`);
}

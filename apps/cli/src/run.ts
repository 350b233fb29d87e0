/** Runs a command line: finds the command, parses its options, runs it, and reports its error. Returns the exit code. */
import { Lehr, LehrError } from '@lehr/client';
import { type Command, checkCount, helpOf, parseFor } from './command.ts';
import { COMMANDS } from './commands/index.ts';
import { CliError, EXIT, type ExitCode, exitCodeOf } from './exit-codes.ts';
import { apiKeyOf, urlOf } from './settings.ts';
import { plain, tableOf } from './table.ts';
import type { Terminal } from './terminal.ts';

/** About 8 s in all: enough for a restart of the API, and not too long for a person who waits. */
const MAX_RETRIES = 5;
const MAX_RETRY_AFTER_MS = 10_000;

export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const command = findCommand(args);
  if (!command) return withoutCommand(args, terminal);
  const rest = args.slice(command.name.split(' ').length);
  try {
    const { values, positionals } = parseFor(command, rest);
    if (values.help) {
      terminal.out(helpOf(command));
      return EXIT.ok;
    }
    checkCount(command, positionals);
    const url = urlOf(values, terminal.env);
    const client = async () =>
      new Lehr({
        url,
        apiKey: await apiKeyOf(values, terminal.env, url),
        maxRetries: MAX_RETRIES,
        maxRetryAfterMs: MAX_RETRY_AFTER_MS,
        onRetry: reportFirstRetry(terminal),
      });
    return await command.run({ values, positionals, terminal, json: values.json ?? false, url, client });
  } catch (error) {
    return report(error, command, rest.includes('--json'), terminal);
  }
}

/** Explains the delay to a person at a terminal. */
function reportFirstRetry(terminal: Terminal): (error: LehrError) => void {
  let isReported = !terminal.errIsTty;
  return ({ message }) => {
    if (!isReported) terminal.err(`lehr: ${plain(message)} Retrying.\n`);
    isReported = true;
  };
}

/** The command whose name the arguments begin with. */
const findCommand = (args: readonly string[]): Command | undefined =>
  COMMANDS.find(({ name }) => name === args.slice(0, name.split(' ').length).join(' '));

function withoutCommand([first]: readonly string[], terminal: Terminal): ExitCode {
  const part = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  const shown = part.length > 0 ? part : COMMANDS;
  const rows = shown.map(({ name, operands, summary }) => [`  lehr ${name} ${operands}`.trimEnd(), summary]);
  const [head, ...lines] = tableOf(['', ''], rows).split('\n');
  const help = `Usage: lehr COMMAND [options]${head}\n\nCommands:\n${lines.join('\n')}\nRun lehr COMMAND --help for the options of a command.\n`;
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    terminal.out(help);
    return EXIT.ok;
  }
  terminal.err(
    part.length > 0 ? help : `lehr: ${JSON.stringify(first)} is not a command. Run lehr --help for a list.\n`,
  );
  return EXIT.usage;
}

function report(error: unknown, { name }: Command, json: boolean, terminal: Terminal): ExitCode {
  if (terminal.signal.aborted) {
    const isOwn = error instanceof CliError && error.exitCode === EXIT.interrupted;
    terminal.err(`lehr: ${isOwn ? error.message : 'interrupted; a submitted job continues'}\n`);
    return EXIT.interrupted;
  }
  if (error instanceof LehrError) {
    terminal.err(json ? `${JSON.stringify({ error: errorJson(error) })}\n` : textOf(error));
    return exitCodeOf(error);
  }
  const { message, stack } = error as Error;
  const exitCode = error instanceof CliError ? error.exitCode : EXIT.fault;
  if (json) terminal.err(`${JSON.stringify({ error: { code: 'cli', message } })}\n`);
  else if (exitCode === EXIT.fault) terminal.err(`lehr: this is a bug in lehr: ${stack}\n`);
  else
    terminal.err(
      `lehr: ${message}\n${exitCode === EXIT.usage ? `Run lehr ${name} --help for its options.\n` : ''}`,
    );
  return exitCode;
}

const errorJson = ({ code, status, message, problems, retryable, requestId, jobId }: LehrError) => ({
  code,
  message,
  status,
  problems,
  retryable,
  request_id: requestId,
  job_id: jobId,
});

const HINTS: Partial<Record<LehrError['code'], string>> = {
  'connection-failed': 'Is Lehr running, and is LEHR_URL its address? Run lehr doctor for a check.',
  unauthenticated: 'The key is --api-key, else LEHR_API_KEY, else the file LEHR_HOME/api-key.',
  forbidden: 'Use a key that has this scope. lehr keys list shows the scopes of each key.',
};

function textOf({ code, message, requestId }: LehrError): string {
  const hint = HINTS[code];
  const request = code === 'internal' && requestId ? `request ${requestId}\n` : '';
  return `lehr: ${plain(message)}\n${hint ? `${hint}\n` : ''}${request}`;
}

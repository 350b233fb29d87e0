/** A log line of the API or the worker as one line for a terminal. */
import { stripVTControlCharacters } from 'node:util';
import { prettyFactory } from 'pino-pretty';

/** Longer values are cut; without a terminal the launcher writes the whole lines. */
const MAX_VALUE = 120;

const pretty = prettyFactory({
  colorize: !process.env.NO_COLOR,
  errorLikeObjectKeys: ['error'],
  ignore: 'app,pid',
  messageFormat: '{app}: {msg}',
  singleLine: true,
  translateTime: 'SYS:HH:MM:ss',
});

/** `source` names the process of a line that is not JSON. */
export function readableLine(source, line) {
  const event = parse(line);
  if (!event) return `${source}: ${harmless(line)}`;
  const { error, ...fields } = event;
  const shortened = Object.entries(fields).map(([name, value]) => [name, shortenedValue(value)]);
  return pretty({ ...Object.fromEntries(shortened), ...(error && { error }) }).trimEnd();
}

function parse(line) {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line, (_name, value) => (typeof value === 'string' ? harmless(value) : value));
  } catch {
    return undefined;
  }
}

function shortenedValue(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}...` : value;
}

/** Without the control characters, which may come from a caller and would act on the terminal. Stacks keep their lines. */
const harmless = (text) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this expression removes them
  stripVTControlCharacters(text).replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, (c) =>
    JSON.stringify(c).slice(1, -1),
  );

/** A pino line as people read it: time, who, level where it matters, message, fields. Anything else stays as it is. */
import { stripVTControlCharacters, styleText } from 'node:util';

const paint = process.env.NO_COLOR ? (_style, text) => text : styleText;

const MAX_VALUE = 120;
const STYLES = { trace: 'gray', debug: 'gray', warn: 'yellow', error: 'red' };

export function readableLine(source, line) {
  const event = parse(line);
  if (!event) return `${paint('gray', source.padEnd(6))} ${harmless(line)}`;
  const { level, time, app, pid, msg, error, ...fields } = event;
  const said = [
    paint('gray', `${clock(time)} ${source.padEnd(6)}`),
    ...(STYLES[level] ? [paint(STYLES[level], level)] : []),
    harmless(String(msg ?? '')),
    ...Object.entries(fields).map(([name, value]) => paint('gray', `${name}=${show(value)}`)),
  ].join(' ');
  const cause = error?.stack ?? error?.message ?? error;
  if (cause === undefined) return said;
  return `${said}\n${String(cause)
    .split('\n')
    .map((each) => `       ${harmless(each)}`)
    .join('\n')}`;
}

function parse(line) {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function clock(time) {
  const date = new Date(time ?? Date.now());
  return Number.isNaN(date.valueOf()) ? '--:--:--' : date.toTimeString().slice(0, 8);
}

/** Control characters came from outside and must not reach the terminal as such. */
const harmless = (text) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  stripVTControlCharacters(text).replace(/[\u0000-\u001f\u007f-\u009f]/g, (c) =>
    JSON.stringify(c).slice(1, -1),
  );

/** Long values are whole in the raw lines. */
function show(value) {
  const text = harmless(typeof value === 'string' ? value : JSON.stringify(value));
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}...` : text;
}

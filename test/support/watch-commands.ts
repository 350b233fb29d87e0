/**
 * The commands that a Redis gets, for tests that count them. ioredis' own `monitor()` fails when a command of another client arrives
 * together with the answer to MONITOR, so the lines are read from a plain connection.
 */
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

export interface SeenCommand {
  /** The command and its arguments, as sent. */
  readonly args: readonly string[];
  /** The address of the client, or `lua` for a command inside a script. */
  readonly source: string;
}

/** `+1795407895.095374 [0 127.0.0.1:40510] "evalsha" "d96c…" …` */
const LINE = /^\+\d+\.\d+ \[\d+ ([^\]]+)\] (.*)$/;

/** Resolves when every later command is seen. Ends with the test. */
export async function watchCommands(url: string, onCommand: (command: SeenCommand) => void): Promise<void> {
  const { hostname, port, username, password } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const lines = createInterface({ input: socket });
  // To AUTH and to MONITOR.
  let replies = 0;
  const isWatching = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      const [, source, text] = LINE.exec(line) ?? [];
      if (source !== undefined && text !== undefined) onCommand({ args: argumentsIn(text), source });
      else if (++replies === 2) resolve();
    });
  });
  socket.write(`AUTH ${username} ${JSON.stringify(decodeURIComponent(password))}\r\nMONITOR\r\n`);
  await isWatching;
}

/** Redis quotes each argument, with a backslash before a quote, a backslash and other special characters. */
const argumentsIn = (text: string): string[] =>
  [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, quoted]) => quoted.replace(/\\(["\\])/g, '$1'));

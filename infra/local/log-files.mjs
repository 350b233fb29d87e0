/** Keeps the log lines of the programs of `npm start` in files of LEHR_HOME/logs, which `lehr logs` reads. */
import { join } from 'node:path';
import { createStream } from 'rotating-file-stream';

const MAX_SIZE = '16M';
/** With the file that is written now, three files for each program. */
const KEPT = 2;

/** After an error, such as a full disk, lines are left out for so long. */
const PAUSE_MS = 60_000;

/** A function that appends a line to the log of this program. What cannot be written is left out, and the first error is printed. */
export function logWriter({ home, name, say }) {
  let hasFailed = false;
  let pausedUntil = 0;
  let stream;
  const open = () => {
    const opened = createStream((index) => `${name}${index ? `.${index}` : ''}.log`, {
      path: join(home, 'logs'),
      size: MAX_SIZE,
      rotate: KEPT,
      mode: 0o600,
    });
    opened.on('error', (error) => {
      if (!hasFailed) say(`Lines of the log of ${name} are lost: ${error.message}.`);
      hasFailed = true;
      // It takes no more lines.
      stream = undefined;
      pausedUntil = performance.now() + PAUSE_MS;
    });
    return opened;
  };
  return (line) => {
    if (performance.now() < pausedUntil) return;
    stream ??= open();
    stream.write(`${line}\n`);
  };
}

/** Keeps the log lines of the programs of `npm start` in files of LEHR_HOME/logs, which `lehr logs` reads. */
import { join } from 'node:path';
import { createStream } from 'rotating-file-stream';

const MAX_SIZE = '16M';
/** With the file that is written now, three files for each program. */
const KEPT = 2;

/** A function that appends a line to the log of this program. A disk that is full costs lines of the log, and is reported once. */
export function logWriter({ home, name, say }) {
  let isFailing = false;
  const stream = createStream((index) => `${name}${index ? `.${index}` : ''}.log`, {
    path: join(home, 'logs'),
    size: MAX_SIZE,
    rotate: KEPT,
    mode: 0o600,
  });
  stream.on('error', (error) => {
    if (!isFailing) say(`The log of ${name} cannot be written any more: ${error.message}.`);
    isFailing = true;
  });
  return (line) => {
    if (!isFailing) stream.write(`${line}\n`);
  };
}

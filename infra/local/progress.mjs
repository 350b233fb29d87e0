/** Shows on the terminal that a long step is running. */
import { clearLine, cursorTo } from 'node:readline';
import { say } from './lifecycle.mjs';

const UPDATE_MS = 1000;
/** A shorter step is not worth a line in a log. */
const SHORT_MS = 2000;

/**
 * Runs `step`. On a terminal one line counts its seconds and disappears at its end; elsewhere one line is written when the step
 * takes longer than two seconds.
 */
export async function withProgress(text, step) {
  const stop = process.stderr.isTTY ? countSeconds(text) : announceLater(text);
  try {
    return await step();
  } finally {
    stop();
  }
}

function countSeconds(text) {
  const startedAt = performance.now();
  const show = () => {
    rewind();
    process.stderr.write(`${text} ... ${Math.round((performance.now() - startedAt) / 1000)} s`);
  };
  show();
  const timer = setInterval(show, UPDATE_MS);
  return () => {
    clearInterval(timer);
    rewind();
  };
}

function rewind() {
  cursorTo(process.stderr, 0);
  clearLine(process.stderr, 0);
}

function announceLater(text) {
  const timer = setTimeout(() => say(`${text}.`), SHORT_MS);
  return () => clearTimeout(timer);
}

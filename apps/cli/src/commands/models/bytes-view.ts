/** Shows how much of a model has been fetched or written, as a bar on a terminal. */
import type { ToolEvent } from '../../model-tools.ts';
import { ERASE_LINE, fractionView } from '../../progress.ts';
import { bytesText, durationText, plain } from '../../table.ts';
import type { Terminal } from '../../terminal.ts';

interface BytesView {
  show(event: ToolEvent): void;
  /** Erases the bar. */
  end(): void;
}

/** `verb` is what is done to the bytes, such as `fetch`, until an event names something else. */
export function bytesView(terminal: Terminal, isQuiet: boolean, verb: string): BytesView {
  if (isQuiet) return { show: () => {}, end: () => {} };
  const { err, errIsTty } = terminal;
  const write = (line: string): void => err(errIsTty ? `${ERASE_LINE}${line}\n` : `${line}\n`);
  let stage = verb;
  let draw = fractionView(terminal, stage);
  return {
    show: (event) => {
      switch (event.type) {
        case 'stage':
          stage = event.verb;
          draw = fractionView(terminal, stage);
          return;
        case 'waiting':
          return write(`another process is at this (${stage}); waiting for it`);
        case 'step':
          return write(plain(event.text));
        case 'retry':
          return write(`${plain(event.message)} Retrying in ${durationText(event.pauseMs)}.`);
        case 'progress': {
          const { doneBytes, totalBytes } = event;
          const fraction = totalBytes === 0 ? 1 : doneBytes / totalBytes;
          return draw(fraction, `${bytesText(doneBytes)} of ${bytesText(totalBytes)}`);
        }
      }
    },
    end: () => {
      if (errIsTty) err(ERASE_LINE);
    },
  };
}

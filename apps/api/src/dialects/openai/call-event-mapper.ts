/** The events of a streamed transcription: each piece of text when it is final, then the whole text. */
import type { JobEvent } from '@lehr/shared';
import type { SucceededRecord } from '../../jobs/requests/hold.ts';
import type { TranscriptEvent } from './audio-contract.ts';
import type { CallEventMapper } from './call-events.ts';

/** `textOf` reads the whole text of a succeeded job. */
export function transcriptEventMapper(textOf: (record: SucceededRecord) => Promise<string>): CallEventMapper {
  let sentText = '';
  /** A new attempt produces the text from the start again: what was sent is not repeated. */
  const delta = (text: string, offset: number): TranscriptEvent | undefined => {
    const more = text.slice(Math.max(0, sentText.length - offset));
    sentText += more;
    return more === '' ? undefined : { type: 'transcript.text.delta', delta: more };
  };
  return {
    previews: false,
    during: (event: JobEvent) =>
      event.type === 'job.output' ? delta(event.data.text, event.data.offset) : undefined,
    after: async function* (record): AsyncGenerator<TranscriptEvent> {
      const text = await textOf(record);
      const rest = delta(text, 0);
      if (rest) yield rest;
      yield { type: 'transcript.text.done', text };
    },
  };
}

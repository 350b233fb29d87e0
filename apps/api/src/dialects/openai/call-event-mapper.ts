/** What a streamed transcription hears: each piece of text as it becomes final, then all of it. */
import type { JobEvent } from '@lehr/shared';
import type { SucceededRecord } from '../../calls/hold.ts';
import type { TranscriptEvent } from './audio-contract.ts';
import type { CallEventMapper } from './call-events.ts';

/** `textOf`: the whole text of a job that succeeded. */
export function transcriptEventMapper(textOf: (record: SucceededRecord) => Promise<string>): CallEventMapper {
  let said = '';
  /** A job begun anew says again what was said. */
  const delta = (text: string, offset: number): TranscriptEvent | undefined => {
    const more = text.slice(Math.max(0, said.length - offset));
    said += more;
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

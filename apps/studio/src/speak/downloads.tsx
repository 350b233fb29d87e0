/** The transcript as files. They are the same as those of the API's audio routes. */
import type { Job } from '@lehr/client';
import { formatTranscript, type TranscriptFormat } from '@lehr/shared/transcripts';
import { texts } from '../texts/index.ts';

const FILES = { txt: 'text', srt: 'srt', vtt: 'vtt', json: 'verbose_json' } as const satisfies Record<
  string,
  TranscriptFormat
>;

export function Downloads({ job }: { readonly job: Job }) {
  const save = (ending: keyof typeof FILES): void => {
    const {
      text = '',
      language = '',
      duration = 0,
      task = 'transcribe',
      segments = [],
      words,
    } = job.output ?? {};
    const transcript = {
      text,
      language,
      duration,
      task,
      segments: [...segments],
      ...(words && { words: [...words] }),
    };
    const { body, contentType } = formatTranscript(
      transcript as unknown as Parameters<typeof formatTranscript>[0],
      FILES[ending],
    );
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([body], { type: contentType }));
    link.download = `${job.id}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 0);
  };
  return (
    <div class="downloads">
      <span>{texts.speak.download}</span>
      {(Object.keys(FILES) as (keyof typeof FILES)[]).map((ending) => (
        <button key={ending} type="button" class="button button-small" onClick={() => save(ending)}>
          {ending}
        </button>
      ))}
    </div>
  );
}

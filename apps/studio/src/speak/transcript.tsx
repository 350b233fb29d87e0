/** The words of a recording: segments that play their place in the sound and can be corrected, and files of them. */
import type { Job, Segment } from '@lehr/client';
import { isOver } from '@lehr/client';
import { type Signal, useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { change } from '../make/form.ts';
import { make } from '../make/making.ts';
import { Icon } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { go } from '../shell/router.ts';
import { texts } from '../texts/index.ts';
import { Downloads } from './downloads.tsx';
import { type Edits, withEdits } from './edits.ts';
import { sound } from './transcribing.ts';

export function TranscriptView({ job: heard, text }: { readonly job: Job; readonly text: string }) {
  const player = useRef<HTMLAudioElement>(null);
  const at = useSignal(-1);
  const edits = useSignal<Edits>({});
  const isEditing = useSignal(false);
  const job = withEdits(heard, edits.value);
  const output = job.output;
  const segments = output?.segments ?? [];
  const words = output?.text ?? text;
  const play = (second: number): void => {
    if (!player.current) return;
    player.current.currentTime = second;
    void player.current.play();
  };
  return (
    <section class="transcript" aria-label={texts.speak.transcript}>
      <audio
        ref={player}
        controls
        src={sound.value}
        aria-label={texts.speak.player}
        onTimeUpdate={(event) => {
          at.value = event.currentTarget.currentTime;
        }}
      >
        <track kind="captions" />
      </audio>
      <div class="words" aria-live="polite">
        {segments.length > 0 ? (
          <Segments
            segments={segments}
            at={at.value}
            onPlay={play}
            edits={isEditing.value ? edits : undefined}
          />
        ) : (
          <p>{words || (isOver(job) ? texts.speak.silence : '')}</p>
        )}
      </div>
      {output && (words || isEditing.value) && <Uses job={job} words={words} isEditing={isEditing} />}
    </section>
  );
}

interface SegmentsProps {
  readonly segments: readonly Segment[];
  /** The second that is played. */
  readonly at: number;
  readonly onPlay: (second: number) => void;
  /** While the texts are being corrected. */
  readonly edits?: Signal<Edits> | undefined;
}

function Segments({ segments, at, onPlay, edits }: SegmentsProps) {
  return (
    <ol class="segments" aria-label={texts.speak.segments}>
      {segments.map(({ id, start, end, text }) => (
        <li key={id} class={edits && 'segment-edit'}>
          <button
            type="button"
            class="segment"
            data-editing={edits !== undefined}
            aria-current={at >= start && at < end ? 'true' : undefined}
            onClick={() => onPlay(start)}
          >
            <span class="segment-time">
              <span class="hidden">{texts.speak.jumpTo('')}</span>
              {clock(start)}
            </span>
            {!edits && <span>{text.trim()}</span>}
          </button>
          {edits && (
            <input
              type="text"
              aria-label={texts.speak.correct(clock(start))}
              value={edits.value[id] ?? text.trim()}
              onInput={(event) => {
                edits.value = { ...edits.value, [id]: event.currentTarget.value };
              }}
            />
          )}
        </li>
      ))}
    </ol>
  );
}

interface UsesProps {
  readonly job: Job;
  readonly words: string;
  readonly isEditing: Signal<boolean>;
}

function Uses({ job, words, isEditing }: UsesProps) {
  const draw = (): void => {
    change({ prompt: words.trim() });
    go({ name: 'make' });
    void make();
  };
  return (
    <div class="actions">
      <button type="button" class="button button-primary" onClick={draw}>
        <Icon name="make" />
        {texts.speak.picture}
      </button>
      {job.output?.segments && (
        <button
          type="button"
          class="button"
          aria-pressed={isEditing.value}
          onClick={() => {
            isEditing.value = !isEditing.value;
          }}
        >
          {isEditing.value ? texts.speak.edited : texts.speak.edit}
        </button>
      )}
      <Link to={{ name: 'job', id: job.id }} class="button">
        <Icon name="page" />
        {texts.result.open}
      </Link>
      <Downloads job={job} />
    </div>
  );
}

/** `m:ss` */
function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

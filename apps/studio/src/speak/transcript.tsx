/** The words of a recording: segments that play their place in the sound, and files of them. */
import type { Job, Segment } from '@lehr/client';
import { isOver } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { change } from '../make/form.ts';
import { make } from '../make/making.ts';
import { Icon } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { go } from '../shell/router.ts';
import { texts } from '../texts/index.ts';
import { Downloads } from './downloads.tsx';
import { sound } from './transcribing.ts';

export function TranscriptView({ job, text }: { readonly job: Job; readonly text: string }) {
  const player = useRef<HTMLAudioElement>(null);
  const at = useSignal(-1);
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
          <Segments segments={segments} at={at.value} onPlay={play} />
        ) : (
          <p>{words || (isOver(job) ? texts.speak.silence : '')}</p>
        )}
      </div>
      {output && words && <Uses job={job} words={words} />}
    </section>
  );
}

interface SegmentsProps {
  readonly segments: readonly Segment[];
  /** The second that is played. */
  readonly at: number;
  readonly onPlay: (second: number) => void;
}

export function Segments({ segments, at, onPlay }: SegmentsProps) {
  return (
    <ol class="segments" aria-label={texts.speak.segments}>
      {segments.map(({ id, start, end, text }) => (
        <li key={id}>
          <button
            type="button"
            class="segment"
            aria-current={at >= start && at < end ? 'true' : undefined}
            onClick={() => onPlay(start)}
          >
            <span class="segment-time">
              <span class="hidden">{texts.speak.jumpTo('')}</span>
              {clock(start)}
            </span>
            <span>{text.trim()}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

function Uses({ job, words }: { readonly job: Job; readonly words: string }) {
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

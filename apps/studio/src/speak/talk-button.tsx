/** Push to talk, with the level of the microphone around it. */
import { Icon } from '../parts/icon.tsx';
import { texts } from '../texts/index.ts';
import { isUploading, recorder, talk } from './transcribing.ts';

const WORDS = {
  idle: texts.speak.hold,
  starting: texts.speak.starting,
  recording: texts.speak.recording,
} as const;

export function TalkButton() {
  const state = recorder.state.value;
  const press = (event: PointerEvent): void => {
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    void talk();
  };
  return (
    <div class="talk" data-state={state}>
      <span
        class="talk-ring"
        aria-hidden="true"
        style={{ transform: `scale(${1 + recorder.level.value * 0.7})` }}
      />
      <button
        type="button"
        class="talk-button"
        // Not `disabled`, which would take the focus away from whoever uses the keyboard.
        aria-disabled={isUploading.value}
        onPointerDown={press}
        onPointerUp={() => recorder.release()}
        onPointerCancel={() => recorder.release()}
        onKeyDown={(event) => isPress(event) && void talk()}
        onKeyUp={(event) => isPress(event) && recorder.release()}
        onContextMenu={(event) => event.preventDefault()}
      >
        <Icon name="speak" />
        <span>{isUploading.value ? texts.speak.uploading : WORDS[state]}</span>
      </button>
      {/* biome-ignore lint/a11y/useSemanticElements: a meter element cannot be drawn alike in all browsers */}
      <span
        class="talk-level"
        role="meter"
        aria-label={texts.speak.level}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(recorder.level.value * 100)}
      >
        <span style={{ width: `${recorder.level.value * 100}%` }} />
      </span>
    </div>
  );
}

/** The keys that press a button; held, they repeat. */
function isPress(event: KeyboardEvent): boolean {
  if (event.code !== 'Space' && event.code !== 'Enter') return false;
  event.preventDefault();
  return !event.repeat;
}

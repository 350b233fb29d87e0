/** The view that listens: a button to talk, a place to drop a file, and the words. */
import { isOver } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ProgressLine } from '../jobs/progress-line.tsx';
import { texts } from '../texts/index.ts';
import { TalkButton } from './talk-button.tsx';
import { fault, followed, isUploading, recorder, talk, transcribe } from './transcribing.ts';
import { TranscriptView } from './transcript.tsx';

export function Speak() {
  useEffect(() => {
    addEventListener('keydown', onKeyDown);
    addEventListener('keyup', onKeyUp);
    return () => {
      removeEventListener('keydown', onKeyDown);
      removeEventListener('keyup', onKeyUp);
      recorder.release();
    };
  }, []);
  return (
    <DropZone>
      <div class="speak">
        <header class="speak-head">
          <h1>{texts.speak.title}</h1>
          <p>{texts.speak.lead}</p>
        </header>
        <TalkButton />
        <FileChoice />
        <p class="fault" role="alert">
          {fault.value}
        </p>
        <Transcription />
      </div>
    </DropZone>
  );
}

function Transcription() {
  const job = followed.value?.job.value;
  if (isUploading.value) return <p class="hint">{texts.speak.uploading}</p>;
  if (!followed.value || !job) return null;
  if (job.status === 'failed') {
    return (
      <p class="fault" role="alert">
        {job.error?.detail}
      </p>
    );
  }
  return (
    <>
      {!isOver(job) && <ProgressLine followed={followed.value} />}
      <TranscriptView key={job.id} job={job} text={followed.value.text.value} />
    </>
  );
}

function DropZone({ children }: { readonly children: preact.ComponentChildren }) {
  const isOverZone = useSignal(false);
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    isOverZone.value = false;
    const file = event.dataTransfer?.files[0];
    if (file) void transcribe(file, file.name);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way beside the choice of a file
    <div
      class="drop"
      data-over={isOverZone.value}
      onDragOver={(event) => {
        event.preventDefault();
        isOverZone.value = true;
      }}
      onDragLeave={() => {
        isOverZone.value = false;
      }}
      onDrop={onDrop}
    >
      {children}
    </div>
  );
}

function FileChoice() {
  const onChange = (event: Event): void => {
    const input = event.currentTarget as HTMLInputElement;
    const [file] = input.files ?? [];
    if (file) void transcribe(file, file.name);
    input.value = '';
  };
  return (
    <p class="file-choice">
      {texts.speak.drop}{' '}
      <label class="link">
        {texts.speak.choose}
        <input class="hidden" type="file" accept="audio/*,video/*" onChange={onChange} />
      </label>
    </p>
  );
}

const isFree = ({ target }: Event): boolean =>
  !(target instanceof Element && target.matches('input, textarea, select, button, a, summary, audio'));

function onKeyDown(event: KeyboardEvent): void {
  if (event.code !== 'Space' || event.repeat || !isFree(event)) return;
  event.preventDefault();
  void talk();
}

function onKeyUp(event: KeyboardEvent): void {
  if (event.code === 'Space') recorder.release();
}

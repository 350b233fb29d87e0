/** The view that listens: a button to talk, a place to drop a file, and the words. */
import { isOver } from '@lehr/client';
import { useEffect } from 'preact/hooks';
import { ProgressLine } from '../jobs/progress-line.tsx';
import { DropZone, FileChoice } from '../parts/drop-zone.tsx';
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
    <DropZone onFile={listenTo}>
      <div class="speak">
        <header class="speak-head">
          <h1>{texts.speak.title}</h1>
          <p>{texts.speak.lead}</p>
        </header>
        <TalkButton />
        <p class="file-choice">
          {texts.speak.drop}{' '}
          <FileChoice text={texts.speak.choose} accept="audio/*,video/*" onFile={listenTo} />
        </p>
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

const listenTo = (file: File): void => void transcribe(file, file.name);

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

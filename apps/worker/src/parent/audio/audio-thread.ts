/** Entry of an audio thread: computes windows and cuts of waveforms, so that the parent's event loop stays free. */
import { parentPort } from 'node:worker_threads';
import { toLehrError, unreachable } from '@lehr/shared';
import { logMelWindow, loudestOf, recordingMel } from './log-mel.ts';
import { AUDIO_THREAD_READY, type AudioAnswer, type AudioTask } from './running-thread.ts';
import { cutAtSilences } from './silence.ts';
import { readWaveform } from './waveform.ts';

function perform(task: AudioTask): AudioAnswer {
  switch (task.type) {
    case 'mel': {
      const { waveform, startSample, endSample, config } = task;
      const end = Math.min(startSample + config.windowSamples, endSample, waveform.length);
      const samples = readWaveform(waveform, startSample, Math.max(startSample, end));
      return { type: 'mel', mel: logMelWindow(samples, 0, config) };
    }
    case 'part': {
      const { waveform, startSample, config, loudest } = task;
      return { type: 'part', ...recordingMel(waveform, startSample, config, loudest) };
    }
    case 'loudest':
      return { type: 'loudest', loudest: loudestOf(task.waveform, task.range, task.config) };
    case 'cut':
      return { type: 'cut', ranges: cutAtSilences(task.waveform, task.maxSamples) };
    default:
      return unreachable(task);
  }
}

parentPort?.on('message', (task: AudioTask) => {
  try {
    const answer = perform(task);
    parentPort?.postMessage(answer, 'mel' in answer ? [answer.mel.buffer as ArrayBuffer] : []);
  } catch (error) {
    const { code, message } = toLehrError(error);
    parentPort?.postMessage({ type: 'failed', failure: { code, message } } satisfies AudioAnswer);
  }
});

parentPort?.postMessage(AUDIO_THREAD_READY);

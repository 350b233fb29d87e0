/** Records the microphone while the button is held: webm with opus where the browser has it. */
import { signal } from '@preact/signals';

export type RecorderState = 'idle' | 'starting' | 'recording';

/** A press that is shorter says nothing; people click a button that wants to be held. */
const MIN_MS = 300;
/** A button that is still held after this time was left alone. */
const MAX_MS = 10 * 60_000;
const TYPES = ['audio/webm;codecs=opus', 'audio/mp4', 'audio/ogg;codecs=opus'];

export class Recorder {
  readonly state = signal<RecorderState>('idle');
  /** From 0 to 1. */
  readonly level = signal(0);
  #wanted = false;
  #stop: (() => void) | undefined;

  /** Resolves with the recording after `release`; undefined when it was too short. Rejects when there is no microphone. */
  async record(): Promise<Blob | undefined> {
    if (this.state.value !== 'idle') return undefined;
    this.#wanted = true;
    this.state.value = 'starting';
    let stream: MediaStream | undefined;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      // Released while the browser asked for permission.
      if (!this.#wanted) return undefined;
      this.state.value = 'recording';
      return await this.#recordingOf(stream);
    } finally {
      for (const track of stream?.getTracks() ?? []) track.stop();
      this.state.value = 'idle';
      this.level.value = 0;
    }
  }

  release(): void {
    this.#wanted = false;
    this.#stop?.();
  }

  async #recordingOf(stream: MediaStream): Promise<Blob | undefined> {
    const mimeType = TYPES.find((type) => MediaRecorder.isTypeSupported(type));
    const recorder = new MediaRecorder(stream, mimeType === undefined ? {} : { mimeType });
    const parts: Blob[] = [];
    recorder.ondataavailable = ({ data }) => parts.push(data);
    const ended = new Promise((resolve) => {
      recorder.onstop = resolve;
    });
    const startedAt = performance.now();
    const stopMeter = this.#meter(stream);
    recorder.start(250);
    this.#stop = () => recorder.state !== 'inactive' && recorder.stop();
    const stopWatch = this.#releaseWhenLeft();
    await ended;
    stopWatch();
    stopMeter();
    this.#stop = undefined;
    return performance.now() - startedAt < MIN_MS ? undefined : new Blob(parts, { type: recorder.mimeType });
  }

  /** The button or key may be let go where this page does not see it: in another window, or after a lock of the screen. */
  #releaseWhenLeft(): () => void {
    const left = new AbortController();
    const release = (): void => this.release();
    const timer = setTimeout(release, MAX_MS);
    addEventListener('blur', release, { signal: left.signal });
    document.addEventListener('visibilitychange', release, { signal: left.signal });
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }

  /** Measures the loudness of each frame that is shown. */
  #meter(stream: MediaStream): () => void {
    const context = new AudioContext();
    const analyser = context.createAnalyser();
    analyser.fftSize = 1024;
    context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    let frame = 0;
    const measure = (): void => {
      analyser.getFloatTimeDomainData(samples);
      const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
      // A square root of the amplitude, so that quiet speech is seen too.
      this.level.value = Math.min(1, Math.sqrt(Math.sqrt(power)) * 1.4);
      frame = requestAnimationFrame(measure);
    };
    measure();
    return () => {
      cancelAnimationFrame(frame);
      void context.close();
    };
  }
}

/**
 * The triangular filters that gather 201 frequencies into mel bins: Slaney's mel scale and area normalisation, from 0 Hz
 * to the Nyquist frequency, as librosa makes them for Whisper.
 */
export interface MelFilter {
  /** The first frequency bin it weighs. */
  readonly start: number;
  readonly weights: Float64Array;
}

/** Below this the scale is linear, 15 mels per kHz; above, 27 mels are a factor of 6.4. Slaney, Auditory Toolbox, 1998. */
const LOG_START_HZ = 1000;
const LINEAR_HZ_PER_MEL = 200 / 3;
const LOG_START_MEL = LOG_START_HZ / LINEAR_HZ_PER_MEL;
const LOG_STEP = Math.log(6.4) / 27;

const toMel = (hz: number): number =>
  hz < LOG_START_HZ ? hz / LINEAR_HZ_PER_MEL : LOG_START_MEL + Math.log(hz / LOG_START_HZ) / LOG_STEP;

const toHz = (mel: number): number =>
  mel < LOG_START_MEL ? mel * LINEAR_HZ_PER_MEL : LOG_START_HZ * Math.exp(LOG_STEP * (mel - LOG_START_MEL));

/** One filter per mel bin, for a transform of `fftSize` at `sampleRate` Hz. */
export function melFilters(bins: number, fftSize: number, sampleRate: number): MelFilter[] {
  const topMel = toMel(sampleRate / 2);
  const corners = Array.from({ length: bins + 2 }, (_, i) => toHz((topMel * i) / (bins + 1)));
  const hzPerBin = sampleRate / fftSize;
  return Array.from({ length: bins }, (_, bin) => {
    const [left, peak, right] = corners.slice(bin, bin + 3);
    const start = Math.floor(left / hzPerBin) + 1;
    const end = Math.ceil(right / hzPerBin);
    const weights = Float64Array.from({ length: Math.max(0, end - start) }, (_, i) => {
      const hz = (start + i) * hzPerBin;
      return (Math.min((hz - left) / (peak - left), (right - hz) / (right - peak)) * 2) / (right - left);
    });
    return { start, weights };
  });
}

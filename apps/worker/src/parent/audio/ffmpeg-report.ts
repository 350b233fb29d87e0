/** What ffmpeg prints about a file before it decodes the first sample. */

/** The sound as it is in the file. */
export interface SourceSound {
  readonly sampleRate: number;
  readonly channels: number;
}

/** Names of channel layouts that do not say how many channels they have. Others are sums, as in `5.1(side)`, or `8 channels`. */
const LAYOUTS: Readonly<Record<string, number>> = {
  mono: 1,
  stereo: 2,
  downmix: 2,
  quad: 4,
  hexagonal: 6,
  octagonal: 8,
  cube: 8,
  hexadecagonal: 16,
};

/** The length that the file states, in seconds; 0 when the report does not say. */
export function statedDurationS(report: string): number {
  const [hours, minutes, seconds] =
    /^ {2}Duration: (\d+):(\d\d):(\d\d\.\d\d),/m.exec(report)?.slice(1).map(Number) ?? [];
  return hours === undefined ? 0 : (hours * 60 + minutes) * 60 + seconds;
}

/** Rate and channels of the first audio track; undefined when the report does not say. */
export function sourceSound(report: string): SourceSound | undefined {
  // Metadata is printed with more spaces in front, and a language before `Audio`: a file cannot state a rate that it does not have.
  const [, rate, layout] = /^ {2}Stream #0:\d+.*: Audio: .*?, (\d+) Hz, ([^,\n]+)[,\n]/m.exec(report) ?? [];
  return layout === undefined ? undefined : { sampleRate: Number(rate), channels: channelsOf(layout) };
}

function channelsOf(layout: string): number {
  const [name] = layout.split('(');
  const known = LAYOUTS[name.trim()];
  if (known !== undefined) return known;
  const sum = name.split('.').reduce((total, part) => total + (Number.parseInt(part, 10) || 0), 0);
  return Math.max(1, sum);
}

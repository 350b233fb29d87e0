/** The picture that guides the drawing through a ControlNet of the model. Like the form, it belongs to the page. */
import type { Image, Job } from '@lehr/client';
import { signal } from '@preact/signals';
import { go } from '../../shell/router.ts';
import { texts } from '../../texts/index.ts';
import { fileOf, send } from '../files.ts';
import { change, loadForm, model } from '../form.ts';
import type { PictureModel } from '../models.ts';
import { type PictureFile, readPicture } from '../picture/picture-file.ts';
import { sizeOf } from '../sizes.ts';

export interface Control {
  /** Absent of an earlier job whose picture this page has not seen. */
  readonly picture: PictureFile | undefined;
  /** The uploaded file of an earlier job. */
  readonly link: string | undefined;
  /** Of the ControlNet. */
  readonly name: string;
  /** What makes its control picture; empty: as the model says. */
  readonly preprocess: string;
  readonly scale: number;
  /** Shares of the steps: it guides from `start` up to `end`. */
  readonly start: number;
  readonly end: number;
}

/** The least share of the steps between both. */
const LEAST = 0.05;

export const control = signal<Control | undefined>(undefined);
/** Why a file was not taken. */
export const problem = signal('');

/** The pictures that this page has sent, by their files. */
const seen = new Map<string, PictureFile>();

export const controlsOf = (chosen: PictureModel | undefined): readonly PictureControl[] =>
  chosen?.controls ?? [];
type PictureControl = NonNullable<PictureModel['controls']>[number];

/** The ControlNet of the model that is chosen, or its first one. */
export const chosenControl = (chosen: PictureModel | undefined, name: string): PictureControl | undefined => {
  const all = controlsOf(chosen);
  return all.find((each) => each.name === name) ?? all[0];
};

export function changeControl(next: Partial<Control>): void {
  if (control.value) control.value = { ...control.value, ...next };
}

export const setStart = (start: number): void =>
  changeControl({ start, end: Math.max(control.value?.end ?? 1, rounded(start + LEAST)) });
export const setEnd = (end: number): void =>
  changeControl({ end, start: Math.min(control.value?.start ?? 0, rounded(end - LEAST)) });
const rounded = (share: number): number => Math.round(share * 100) / 100;

/** Takes this picture, in the size of the job that comes nearest to it, or says that it is none. */
export async function takeControl(blob: Blob): Promise<void> {
  const taken = await readPicture(blob).catch(() => undefined);
  problem.value = taken ? '' : texts.edit.notAPicture;
  if (!taken) return;
  await loadForm();
  const before = control.value ?? { name: '', preprocess: '', scale: 1, start: 0, end: 1 };
  control.value = { ...before, picture: taken, link: undefined };
  if (model.value) change(sizeOf(taken, model.value));
}

/** Lets an output guide the next picture, and opens Make. */
export async function controlByOutput(job: Job, image: Image): Promise<void> {
  await takeControl(await fileOf(job, image));
  go({ name: 'make' });
}

export function dropControl(): void {
  control.value = undefined;
  problem.value = '';
}

/** What an earlier job was guided by: of several the first, as far as its picture is an uploaded file. */
export function takeOverControl(used: unknown): void {
  dropControl();
  const [first] = Array.isArray(used) ? used : [];
  const file = /\/(file_\w+)$/.exec(String(first?.image ?? ''))?.[1];
  if (!file) return;
  control.value = {
    picture: seen.get(file),
    link: first.image,
    name: String(first.name),
    preprocess: String(first.preprocess ?? 'none').replace(/@.*$/, ''),
    scale: Number(first.scale ?? 1),
    start: Number(first.start ?? 0),
    end: Number(first.end ?? 1),
  };
}

/** The fields of the input for it, whose file is uploaded first; empty without one, and for a model that has no ControlNet. */
export async function controlFields(chosen: PictureModel): Promise<Record<string, unknown>> {
  const now = control.value;
  const entry = chosenControl(chosen, now?.name ?? '');
  if (!now || !entry) return {};
  let image = now.link;
  if (now.picture) {
    image = await send(now.picture.file, 'control.png');
    seen.set(image, now.picture);
  }
  const { preprocess, scale, start, end } = now;
  return {
    control: [{ name: entry.name, image, ...(preprocess !== '' && { preprocess }), scale, start, end }],
  };
}

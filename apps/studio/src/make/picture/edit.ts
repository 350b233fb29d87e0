/** The picture that the next job begins at, and how much of it may change. Like the form, it belongs to the page. */
import type { Image, Job } from '@lehr/client';
import { signal } from '@preact/signals';
import { go } from '../../shell/router.ts';
import { texts } from '../../texts/index.ts';
import { takeOverControl } from '../control/control.ts';
import { fileOf, send } from '../files.ts';
import { change, loadForm, model, takeOver } from '../form.ts';
import { needOf } from '../models.ts';
import { sizeOf } from '../sizes.ts';
import { type Expand, isMoved, moved, type Side, UNMOVED, wholeOf } from './frame.ts';
import { marks, maskFile } from './mask.ts';
import { type PictureFile, readPicture } from './picture-file.ts';

/** What may change: the whole picture, what is painted, or nothing of it, and more is drawn around it. */
export const PARTS = ['all', 'painted', 'beyond'] as const;
export type Part = (typeof PARTS)[number];

/** What the drawing begins at there. */
export const FILLS = ['original', 'noise', 'latent_noise'] as const;
export type Fill = (typeof FILLS)[number];

export interface Edit {
  readonly part: Part;
  readonly strength: number;
  readonly fill: Fill;
  /** In pixels: how far the edge of what changes is softened. */
  readonly blur: number;
  /** Whether what is painted is drawn alone, at the size of the job, and put back. */
  readonly onlyMasked: boolean;
  readonly expand: Expand;
}

/** Enough to change what is there, and the layout stays. */
const FIRST: Edit = {
  part: 'all',
  strength: 0.6,
  fill: 'original',
  blur: 4,
  onlyMasked: false,
  expand: UNMOVED,
};
/** What is painted is to become something else, and around the picture there is nothing to keep. */
const BEGINNINGS: Readonly<Record<Part, Pick<Edit, 'strength' | 'fill'>>> = {
  all: { strength: FIRST.strength, fill: 'original' },
  painted: { strength: 0.85, fill: 'original' },
  beyond: { strength: 1, fill: 'latent_noise' },
};

export const picture = signal<PictureFile | undefined>(undefined);
export const edit = signal<Edit>(FIRST);
/** Why a file was not taken. */
export const problem = signal('');
/** What is shown where both are there: the picture to change, or what was made of it. */
export const isAtCanvas = signal(false);

export function changeEdit(next: Partial<Edit>): void {
  edit.value = { ...edit.value, ...next };
}

export function choosePart(part: Part): void {
  changeEdit({ part, ...BEGINNINGS[part] });
  isAtCanvas.value = true;
  fitSize();
}

/** Noise shows through where not all of it is drawn over. */
export function chooseFill(fill: Fill): void {
  changeEdit({ fill, strength: fill === 'original' ? BEGINNINGS.painted.strength : 1 });
}

export function moveEdge(side: Side, pixels: number): void {
  const limits = model.value?.limits;
  if (!picture.value || !limits) return;
  changeEdit({ expand: moved(side, pixels, picture.value, edit.value.expand, limits) });
  fitSize();
}

/** What another model makes possible and needs: its sizes, and a part that changes. */
export function fitModel(): void {
  if (!picture.value) return;
  if (edit.value.part === 'all' && model.value && needOf(model.value) === 'part') choosePart('painted');
  else fitSize();
}

/** Of what is drawn: the size of the picture, and of what is drawn around it. */
function fitSize(): void {
  if (!picture.value || !model.value) return;
  change(sizeOf(wholeOf(picture.value, expandNow()), model.value));
}

export const expandNow = (): Expand => (edit.value.part === 'beyond' ? edit.value.expand : UNMOVED);

/** Begins at this picture, or says that it is none. */
export async function takePicture(blob: Blob): Promise<void> {
  const taken = await readPicture(blob).catch(() => undefined);
  problem.value = taken ? '' : texts.edit.notAPicture;
  if (!taken) return;
  await loadForm();
  dropPicture();
  picture.value = taken;
  const { part } = edit.value;
  edit.value = FIRST;
  choosePart(part);
  fitModel();
}

/** Takes an output with the settings of its job, and opens Make. */
export async function editOutput(job: Job, image: Image): Promise<void> {
  const file = await fileOf(job, image);
  if (job.type === 'text-to-image') {
    await takeOver(job);
    takeOverControl(job.input.control);
  }
  change({ n: 1, keepsSeed: false });
  await takePicture(file);
  go({ name: 'make' });
}

export function dropPicture(): void {
  // Results that began at it still show it: its URL lives as long as the page.
  picture.value = undefined;
  marks.value = [];
  problem.value = '';
  isAtCanvas.value = false;
}

/** The fields of the input for the picture, whose files are uploaded first. Empty without one; undefined when nothing would change. */
export async function pictureFields(): Promise<Record<string, unknown> | undefined> {
  const taken = picture.value;
  if (!taken) return {};
  const { part, strength, fill, blur, onlyMasked, expand } = edit.value;
  const mask = part === 'painted' ? await maskFile(taken) : undefined;
  problem.value = missing(part, mask, expand);
  if (problem.value !== '') {
    isAtCanvas.value = true;
    return undefined;
  }
  return {
    image: await send(taken.file, 'picture.png'),
    strength,
    ...(part !== 'all' && { mask_blur: blur, mask_fill: fill }),
    ...(part === 'beyond' && { expand }),
    ...(mask && { mask: await send(mask, 'mask.png') }),
    ...(mask && onlyMasked && { only_masked: {} }),
  };
}

function missing(part: Part, mask: Blob | undefined, expand: Expand): string {
  if (part === 'painted' && !mask) return texts.edit.nothingPainted;
  return part === 'beyond' && !isMoved(expand) ? texts.edit.nothingMoved : '';
}

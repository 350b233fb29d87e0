/** A part of the page onto which a file can be dropped. Its content offers the choice of a file as well. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

interface DropZoneProps {
  readonly onFile: (file: File) => void;
  readonly children: ComponentChildren;
}

export function DropZone({ onFile, children }: DropZoneProps) {
  const isOverZone = useSignal(false);
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    // A zone may lie in another one.
    event.stopPropagation();
    isOverZone.value = false;
    const file = event.dataTransfer?.files[0];
    if (file) onFile(file);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way beside the choice of a file
    <div
      class="drop"
      data-over={isOverZone.value}
      onDragOver={(event) => {
        event.preventDefault();
        event.stopPropagation();
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

interface FileChoiceProps {
  readonly text: string;
  readonly accept: string;
  readonly onFile: (file: File) => void;
  readonly class?: string;
}

/** Opens the choice of a file. It can be used again with the same file. */
export function FileChoice({ text, accept, onFile, class: name = 'link' }: FileChoiceProps) {
  const onChange = (event: Event): void => {
    const input = event.currentTarget as HTMLInputElement;
    const [file] = input.files ?? [];
    if (file) onFile(file);
    input.value = '';
  };
  return (
    <label class={name}>
      {text}
      <input class="hidden" type="file" accept={accept} onChange={onChange} />
    </label>
  );
}

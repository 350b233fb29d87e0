/** The view that makes pictures: the settings on one side, the picture on the other. */
import { useEffect } from 'preact/hooks';
import { DropZone } from '../parts/drop-zone.tsx';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { AdapterFields } from './adapter-fields.tsx';
import { takeControl } from './control/control.ts';
import { ControlFields, isControlFocused } from './control/control-fields.tsx';
import { loadForm, throwDice } from './form.ts';
import { cancel, fault, isBusy, make } from './making.ts';
import { models } from './models.ts';
import { takePicture } from './picture/edit.ts';
import { PictureFields } from './picture/picture-fields.tsx';
import { PromptField } from './prompt-field.tsx';
import { loadPrompts } from './prompts.ts';
import { SettingFields } from './setting-fields.tsx';
import { Stage } from './stage.tsx';

export function Make() {
  useEffect(() => {
    loadForm().catch((error) => {
      fault.value = faultOf(error);
    });
    // Without them the view only has no history.
    loadPrompts().catch(() => {});
    addEventListener('keydown', onKey);
    addEventListener('paste', onPaste);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('paste', onPaste);
    };
  }, []);
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    void make();
  };
  return (
    <DropZone onFile={takePicture}>
      <div class="make">
        <h1 class="hidden">{texts.make.title}</h1>
        <form class="panel" onSubmit={onSubmit}>
          <div class="panel-part panel-prompt">
            <PromptField />
            <AdapterFields />
            <PictureFields />
            <ControlFields />
            <Submit />
            <p class="fault" role="alert">
              {models.value?.length === 0 ? texts.make.noModel : fault.value?.message}
            </p>
          </div>
          <SettingFields />
        </form>
        <Stage />
      </div>
    </DropZone>
  );
}

function Submit() {
  if (isBusy.value) {
    return (
      <button type="button" class="button button-wide" onClick={cancel}>
        {texts.make.cancel}
      </button>
    );
  }
  return (
    <button type="submit" class="button button-primary button-wide" aria-keyshortcuts="Control+Enter">
      {texts.make.button}
    </button>
  );
}

/** A picture that is pasted is the one to begin at, or guides the drawing when that part has the focus; text still goes to the field that is being written in. */
function onPaste(event: ClipboardEvent): void {
  const [file] = event.clipboardData?.files ?? [];
  if (!file) return;
  event.preventDefault();
  void (isControlFocused() ? takeControl(file) : takePicture(file));
}

/** Keys work wherever the focus is, but a letter belongs to the field that is being written in. */
function onKey(event: KeyboardEvent): void {
  const isWriting = event.target instanceof Element && event.target.matches('input, textarea, select');
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void make();
  else if (event.key === 'Escape') void cancel();
  else if (isWriting || event.ctrlKey || event.metaKey || event.altKey) return;
  else if (event.key === '/') document.getElementById('prompt')?.focus();
  else if (event.key === 'd') throwDice();
  else return;
  event.preventDefault();
}

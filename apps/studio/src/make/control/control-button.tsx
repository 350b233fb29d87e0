/** Lets a result guide the next picture. Absent while the chosen model has no ControlNet. */
import { texts } from '../../texts/index.ts';
import { model } from '../form.ts';
import { type ActionOnPicture, PictureAction } from '../picture/picture-action.tsx';
import { controlByOutput, controlsOf } from './control.ts';

export function ControlButton(picture: ActionOnPicture) {
  if (controlsOf(model.value).length === 0) return null;
  return (
    <PictureAction
      {...picture}
      icon="guide"
      text={texts.control.action}
      textOf={texts.control.actionOf}
      act={controlByOutput}
    />
  );
}

/** Begins an edit at a result. */
import { texts } from '../../texts/index.ts';
import { editOutput } from './edit.ts';
import { type ActionOnPicture, PictureAction } from './picture-action.tsx';

export const EditButton = (picture: ActionOnPicture) => (
  <PictureAction
    {...picture}
    icon="edit"
    text={texts.edit.action}
    textOf={texts.edit.actionOf}
    act={editOutput}
  />
);

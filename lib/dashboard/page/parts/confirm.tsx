/** Asks for confirmation of an action that cannot be undone. */

import type { ComponentChildren, JSX } from 'preact'
import { useAction } from '../state/action.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Failure } from './notice.tsx'

export interface ConfirmProps {
  readonly title: string
  readonly action: string
  readonly children: ComponentChildren
  readonly onClose: () => void
  readonly onConfirm: () => Promise<void>
}

export function Confirm ({ title, action, children, onClose, onConfirm }: ConfirmProps): JSX.Element {
  const { run, busy, error } = useAction()
  const confirm = (): void => {
    void run(async () => {
      await onConfirm()
      onClose()
    })
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={confirm}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind='danger primary' type='submit' busy={busy}>
            {action}
          </Button>
        </>
      }
    >
      <p class='muted'>{children}</p>
      <Failure error={error} />
    </Dialog>
  )
}

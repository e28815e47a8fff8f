/** Shows the secret of a key, once, with commands that use it. */

import type { JSX } from 'preact'
import type { Answer } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Secret } from '../parts/code.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { UseKey } from './use-key.tsx'

export interface KeySecretProps {
  readonly created: Answer<'POST /admin/v1/keys'>
  readonly title: string
  readonly onClose: () => void
}

export function KeySecret ({ created: { key, secret }, title, onClose }: KeySecretProps): JSX.Element {
  return (
    <Dialog
      title={title}
      subtitle='Copy it now: it is kept as a digest and cannot be shown again.'
      onClose={onClose}
      wide
      modal
      footer={<Button onClick={onClose}>Done</Button>}
    >
      <Secret text={secret} label='key' />
      <h3>Make a first call</h3>
      <UseKey secret={secret} models={key.models} />
    </Dialog>
  )
}

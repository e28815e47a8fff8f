/** Shows the next request as code. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Code } from '../parts/code.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Segments } from '../parts/segments.tsx'
import { currentSession } from '../state/session.ts'
import { asCode, languages } from './code.ts'
import { panes } from './conversation.ts'
import { chatBody } from './request.ts'

export function CodeDialog ({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const language = useSignal('curl')
  const [pane] = panes.value
  const body = pane === undefined ? {} : chatBody(pane, pane.turns.value.length === 0 ? 'Hello' : '', [])
  return (
    <Dialog
      title='As code'
      subtitle='The conversation so far, with the settings of this page.'
      onClose={onClose}
      wide
    >
      <Segments
        label='Language'
        value={language.value}
        choices={languages}
        onChange={value => {
          language.value = value
        }}
      />
      <Code text={asCode(language.value, currentSession().public_url, body)} label='code' />
    </Dialog>
  )
}

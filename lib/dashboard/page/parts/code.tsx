/** Lines to copy. */

import type { JSX } from 'preact'
import { Copy } from './copy.tsx'

export function Code ({ text, label }: { readonly text: string, readonly label: string }): JSX.Element {
  return (
    <div class='code'>
      <pre tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
      <Copy text={text} label={`Copy ${label}`} />
    </div>
  )
}

/** Shows a secret on one line, with the button that copies it. */
export function Secret ({ text, label }: { readonly text: string, readonly label: string }): JSX.Element {
  return <div class='secret'><code>{text}</code><Copy text={text} label={`Copy ${label}`}>Copy</Copy></div>
}

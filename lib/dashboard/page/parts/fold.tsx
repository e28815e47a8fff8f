/** A collapsed section that most readers do not need. */

import type { ComponentChildren, JSX } from 'preact'
import { Icon } from './icon.tsx'

export interface FoldProps {
  readonly title: ComponentChildren
  /** Its content in a few words. */
  readonly note?: ComponentChildren
  readonly open?: boolean
  readonly children: ComponentChildren
}

export function Fold ({ title, note, open = false, children }: FoldProps): JSX.Element {
  return (
    <details class='fold' open={open}>
      <summary>
        <Icon name='right' size={14} />
        <span>{title}</span>
        {note !== undefined && <span class='faint'>{note}</span>}
      </summary>
      <div class='fold-body'>{children}</div>
    </details>
  )
}

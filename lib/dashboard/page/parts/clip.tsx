/**
 * A text on one line, as long as there is room: all of it is where the pointer rests, and in a list of cards.
 */

import type { JSX } from 'preact'

export function Clip ({
  children,
  kind = ''
}: {
  readonly children: string
  readonly kind?: 'medium' | 'sub' | 'sub mono' | 'faint' | 'mono' | ''
}): JSX.Element {
  return (
    <span class={`clip ${kind}`} title={children}>
      {children}
    </span>
  )
}

/** The foot of a list that goes on. */

import type { JSX } from 'preact'
import { Button } from './button.tsx'

export function More ({
  onClick,
  label = 'Show more'
}: {
  readonly onClick: (() => void) | undefined
  readonly label?: string | undefined
}): JSX.Element | null {
  return onClick === undefined ? null : (
    <div class='more'>
      <Button kind='plain' small onClick={onClick}>
        {label}
      </Button>
    </div>
  )
}

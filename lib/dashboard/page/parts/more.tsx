/** The end of a list that can be continued. */

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

/** The foot of a list that goes on. */

import type { JSX } from 'preact'
import { Button } from './button.tsx'

export function More ({ onClick }: { readonly onClick: (() => void) | undefined }): JSX.Element | null {
  return onClick === undefined ? null : <div class='more'><Button kind='plain' small onClick={onClick}>Show more</Button></div>
}

/** A checkbox with its label. */

import type { ComponentChildren, JSX } from 'preact'

export interface CheckProps {
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly children: ComponentChildren
}

export function Check ({ checked, onChange, children }: CheckProps): JSX.Element {
  return (
    <label class='check'>
      <input type='checkbox' checked={checked} onChange={event => onChange(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  )
}

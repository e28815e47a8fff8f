/** A labelled control with its hint and its error below it, connected for screen readers. */

import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'
import { Icon } from './icon.tsx'

export interface FieldControl {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean | undefined
}

export interface FieldProps {
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  readonly optional?: boolean
  /** Draws the control with the attributes that connect it to its label. */
  readonly children: (control: FieldControl) => JSX.Element
}

export function Field ({ label, hint, error, optional = false, children }: FieldProps): JSX.Element {
  const id = useId()
  const below = error ?? hint
  return (
    <div class='field'>
      <label for={id}>
        {label}
        {optional && <span class='optional'> (optional)</span>}
      </label>
      {children({
        id,
        'aria-describedby': below === undefined ? undefined : `${id}-below`,
        'aria-invalid': error === undefined ? undefined : true
      })}
      {error !== undefined ? (
        <span class='wrong' role='alert' id={`${id}-below`}>
          <Icon name='warning' size={13} />
          {error}
        </span>
      ) : (
        hint !== undefined && (
          <span class='hint' id={`${id}-below`}>
            {hint}
          </span>
        )
      )}
    </div>
  )
}

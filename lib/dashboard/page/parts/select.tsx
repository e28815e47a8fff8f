/** A choice of one, drawn by the browser's own control. */

import type { ComponentChildren, JSX } from 'preact'
import { Field } from './field.tsx'

export interface Choice { readonly value: string, readonly label: string }

export interface SelectProps {
  readonly label: ComponentChildren
  readonly value: string
  readonly choices: readonly Choice[]
  readonly onChange: (value: string) => void
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  readonly optional?: boolean
}

export function Select ({ label, hint, error, optional = false, ...rest }: SelectProps): JSX.Element {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {control => <PlainSelect {...control} {...rest} />}
    </Field>
  )
}

interface PlainSelectProps extends Omit<SelectProps, 'label' | 'hint' | 'error' | 'optional'> {
  readonly id?: string
  /** Its name if it has no visible label. */
  readonly name?: string
  readonly small?: boolean
}

export function PlainSelect ({
  value,
  choices,
  onChange,
  name,
  small = false,
  ...rest
}: PlainSelectProps): JSX.Element {
  return (
    <select
      {...rest}
      class={small ? 'select small auto' : name === undefined ? 'select' : 'select auto'}
      aria-label={name}
      value={value}
      onChange={event => onChange(event.currentTarget.value)}
    >
      {choices.map(choice => (
        <option key={choice.value} value={choice.value} selected={choice.value === value}>
          {choice.label}
        </option>
      ))}
    </select>
  )
}

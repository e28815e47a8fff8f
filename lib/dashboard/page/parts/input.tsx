/** A labelled text field. */

import type { ComponentChildren, JSX } from 'preact'
import { Field } from './field.tsx'

export interface InputProps {
  readonly label: ComponentChildren
  readonly value: string
  readonly onInput: (value: string) => void
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  readonly optional?: boolean
  readonly type?: 'text' | 'password' | 'email' | 'number' | 'date' | 'datetime-local' | 'url'
  readonly placeholder?: string
  readonly required?: boolean
  readonly autofocus?: boolean
  readonly autocomplete?: string
  readonly min?: number | string
  readonly max?: number
  readonly step?: number | 'any'
  readonly maxLength?: number
  readonly minLength?: number
  /** Shown before the value, such as `$`. */
  readonly before?: string
}

export function Input ({
  label,
  hint,
  error,
  optional = false,
  value,
  onInput,
  before,
  type = 'text',
  ...rest
}: InputProps): JSX.Element {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {control => {
        // Preact knows an input by one type at a time; these attributes are common to all.
        const attributes: Readonly<Record<string, unknown>> = { ...rest, ...control, type }
        const input = (
          <input
            {...attributes}
            class='input'
            value={value}
            onInput={event => onInput(event.currentTarget.value)}
          />
        )
        return before === undefined ? (
          input
        ) : (
          <span class='affix'>
            <span class='affix-text'>{before}</span>
            {input}
          </span>
        )
      }}
    </Field>
  )
}

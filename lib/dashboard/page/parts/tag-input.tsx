/** Several short values: typed, chosen from suggestions, removed with their button or backspace. */

import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'
import { Field } from './field.tsx'
import { Icon } from './icon.tsx'

export interface TagInputProps {
  readonly label: ComponentChildren
  readonly values: readonly string[]
  readonly onChange: (values: readonly string[]) => void
  readonly suggestions?: readonly string[]
  readonly placeholder?: string
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  readonly optional?: boolean
}

export function TagInput ({
  label,
  values,
  onChange,
  suggestions = [],
  placeholder,
  hint,
  error,
  optional = false
}: TagInputProps): JSX.Element {
  const text = useSignal('')
  const list = useId()
  const add = (value: string): void => {
    text.value = ''
    if (value !== '' && !values.includes(value)) onChange([...values, value])
  }
  const change = (event: Event, value: string): void => {
    const isDone = /[,\s]$/.test(value) || (isChosen(event) && suggestions.includes(value))
    if (isDone) add(value.replace(/[,\s]+$/, ''))
    else text.value = value
  }
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {control => (
        <div class='tags'>
          {values.map(value => (
            <span class='tag' key={value}>
              <span class='truncate'>{value}</span>
              <button
                type='button'
                aria-label={`Remove ${value}`}
                onClick={() => onChange(values.filter(other => other !== value))}
              >
                <Icon name='close' size={12} />
              </button>
            </span>
          ))}
          <input
            {...control}
            list={list}
            value={text.value}
            placeholder={values.length === 0 ? placeholder : undefined}
            autocomplete='off'
            onInput={event => change(event, event.currentTarget.value)}
            onBlur={() => add(text.value.trim())}
            onKeyDown={event => {
              if (event.key === 'Enter' && text.value !== '') {
                event.preventDefault()
                add(text.value.trim())
              } else if (event.key === 'Backspace' && text.value === '') onChange(values.slice(0, -1))
            }}
          />
          <datalist id={list}>
            {suggestions
              .filter(value => !values.includes(value))
              .map(value => (
                <option key={value} value={value} />
              ))}
          </datalist>
        </div>
      )}
    </Field>
  )
}

/** Returns true for a suggestion that was chosen. A typed one may be the start of a longer name. */
function isChosen (event: Event): boolean {
  return !(event instanceof InputEvent) || event.inputType === 'insertReplacementText'
}

/** The control of one parameter, derived from its schema. If it is empty, the parameter is not sent. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Field } from '../parts/field.tsx'
import { Input } from '../parts/input.tsx'
import { Select } from '../parts/select.tsx'
import { TagInput } from '../parts/tag-input.tsx'
import type { Parameter } from './schema.ts'

export interface ParameterFieldProps {
  readonly parameter: Parameter
  readonly value: unknown
  /** `undefined` omits the parameter. */
  readonly onChange: (value: unknown) => void
}

export function ParameterField ({ parameter, value, onChange }: ParameterFieldProps): JSX.Element {
  const { name, description: hint, fallback, kind, choices, minimum, maximum } = parameter
  const label = <code>{name}</code>
  const placeholder =
    fallback === undefined ? 'not set' : typeof fallback === 'string' ? fallback : JSON.stringify(fallback)
  switch (kind) {
    case 'number':
    case 'integer':
      return (
        <Input
          label={label}
          hint={hint}
          type='number'
          placeholder={placeholder}
          value={typeof value === 'number' ? String(value) : ''}
          step={kind === 'integer' ? 1 : 'any'}
          {...(minimum !== undefined && { min: minimum })}
          {...(maximum !== undefined && { max: maximum })}
          onInput={text => onChange(text === '' ? undefined : Number(text))}
        />
      )
    case 'choice':
    case 'boolean': {
      const options = kind === 'boolean' ? ['true', 'false'] : choices
      return (
        <Select
          label={label}
          hint={hint}
          value={typeof value === 'string' || typeof value === 'boolean' ? String(value) : ''}
          choices={[
            { value: '', label: placeholder },
            ...options.map(option => ({ value: option, label: option }))
          ]}
          onChange={text => onChange(text === '' ? undefined : kind === 'boolean' ? text === 'true' : text)}
        />
      )
    }
    case 'texts':
      return (
        <TagInput
          label={label}
          hint={hint}
          placeholder={placeholder}
          values={Array.isArray(value) ? value.map(String) : []}
          onChange={values => onChange(values.length === 0 ? undefined : values)}
        />
      )
    case 'text':
      return (
        <Input
          label={label}
          hint={hint}
          placeholder={placeholder}
          value={typeof value === 'string' ? value : ''}
          onInput={text => onChange(text === '' ? undefined : text)}
        />
      )
    case 'json':
      return <JsonField label={label} hint={hint} value={value} onChange={onChange} />
  }
}

function JsonField ({
  label,
  hint,
  value,
  onChange
}: {
  readonly label: JSX.Element
  readonly hint: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}): JSX.Element {
  const text = useSignal(value === undefined ? '' : JSON.stringify(value, null, 2))
  const error = useSignal<string | undefined>(undefined)
  // The form was reset, or the text cleared.
  useEffect(() => {
    if (value !== undefined) return
    text.value = ''
    error.value = undefined
  }, [value])
  const type = (typed: string): void => {
    text.value = typed
    try {
      onChange(typed.trim() === '' ? undefined : JSON.parse(typed))
      error.value = undefined
    } catch {
      error.value = 'This is not JSON yet.'
    }
  }
  return (
    <Field label={label} hint={hint} error={error.value}>
      {control => (
        <textarea
          {...control}
          class='textarea mono'
          rows={2}
          placeholder='JSON'
          spellcheck={false}
          value={text.value}
          onInput={event => type(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

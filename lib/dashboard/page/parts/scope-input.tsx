/** Edits what something may use: everything, or a list of names; an empty list means nothing. */

import type { JSX } from 'preact'
import { Segments } from './segments.tsx'
import { TagInput, type TagInputProps } from './tag-input.tsx'

export interface ScopeInputProps extends Omit<
  TagInputProps,
  'label' | 'values' | 'onChange' | 'placeholder' | 'optional'
> {
  readonly label: string
  /** `null`: all. */
  readonly values: readonly string[] | null
  readonly onChange: (values: readonly string[] | null) => void
}

const choices = [{ value: 'all', label: 'All' }, { value: 'listed', label: 'Only these' }]

export function ScopeInput ({ label, values, onChange, ...rest }: ScopeInputProps): JSX.Element {
  return (
    <div class='stack tight'>
      <div class='row between'>
        <span class='label' aria-hidden={values !== null}>
          {label}
        </span>
        <Segments
          label={label}
          value={values === null ? 'all' : 'listed'}
          choices={choices}
          onChange={choice => onChange(choice === 'all' ? null : (values ?? []))}
        />
      </div>
      {values !== null && (
        <TagInput
          {...rest}
          label={<span class='visually-hidden'>{label}</span>}
          values={values}
          onChange={onChange}
          placeholder='None'
        />
      )}
    </div>
  )
}

/** The filters behind the button: one for every column that is recorded. */

import type { JSX } from 'preact'
import { Field } from '../parts/field.tsx'
import { Input } from '../parts/input.tsx'
import { Select } from '../parts/select.tsx'
import { query, setQuery } from '../state/router.ts'
import { factFilters, rangeFilters, textFilters } from './filters.ts'

const value = (name: string): string => query.value.get(name) ?? ''

export function MoreFilters (): JSX.Element {
  return (
    <div class='card filter-fields'>
      {textFilters.map(({ name, label, placeholder }) => (
        <Input key={name} label={label} placeholder={placeholder} value={value(name)} onInput={text => setQuery({ [name]: text.trim() })} autocomplete='off' />
      ))}
      {factFilters.map(({ name, label, yes, no }) => (
        <Select
          key={name} label={label} value={value(name)} choices={[{ value: '', label: 'Any' }, { value: 'true', label: yes }, { value: 'false', label: no }]}
          onChange={choice => setQuery({ [name]: choice })}
        />
      ))}
      {rangeFilters.map(({ name, label, unit }) => <Range key={name} name={name} label={unit === undefined ? label : `${label}, ${unit}`} />)}
    </div>
  )
}

function Range ({ name, label }: { readonly name: string, readonly label: string }): JSX.Element {
  const end = (which: 'min' | 'max', text: string, attributes: object = {}): JSX.Element => (
    <input
      {...attributes} class='input' type='number' min={0} step={name === 'cost_usd' ? 'any' : 1} placeholder={text} aria-label={`${label}, ${text}`}
      value={value(`${which}_${name}`)} onInput={event => setQuery({ [`${which}_${name}`]: event.currentTarget.value })}
    />
  )
  return <Field label={label}>{control => <div class='range'>{end('min', 'from', control)}{end('max', 'to')}</div>}</Field>
}

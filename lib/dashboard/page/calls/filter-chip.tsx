/** One added filter: its name, its value, and the button that removes it. */

import type { JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { api } from '../api/client.ts'
import { Icon } from '../parts/icon.tsx'
import { PlainSelect, type Choice } from '../parts/select.tsx'
import { catalogue, grantedEndpoints, loadCatalogue } from '../state/catalogue.ts'
import { useResource } from '../state/resource.ts'
import { query, setQuery } from '../state/router.ts'
import { namesOf, type AddedFilter, type FilterControl } from './filters.ts'

export interface FilterChipProps {
  readonly filter: AddedFilter
  /** True for a filter that was just added: its control gets the focus. */
  readonly isNew: boolean
  readonly onRemove: () => void
}

export function FilterChip ({ filter, isNew, onRemove }: FilterChipProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => { if (isNew) place.current?.querySelector<HTMLElement>('input, select')?.focus() }, [])
  const { label } = filter
  return (
    <div class='chip' role='group' aria-label={`Filter: ${label}`} ref={place}>
      <span class='chip-name' aria-hidden='true'>
        {label}
      </span>
      <Control filter={filter} />
      <button type='button' aria-label={`Remove the filter ${label}`} onClick={onRemove}>
        <Icon name='close' size={12} />
      </button>
    </div>
  )
}

const valueOf = (name: string): string => query.value.get(name) ?? ''

function Control ({ filter }: { readonly filter: AddedFilter }): JSX.Element {
  const { label, control } = filter
  const [name = '', max = ''] = namesOf(filter)
  switch (control.kind) {
    case 'text':
      return <TextControl name={name} label={label} placeholder={control.placeholder} />
    case 'choice':
      return control.of === 'keys' ? (
        <KeyControl name={name} label={label} />
      ) : control.of === 'models' ? (
        <ModelControl name={name} label={label} />
      ) : (
        <NameControl name={name} label={label} of={control.of} />
      )
    case 'fact':
      return (
        <PlainSelect
          name={label}
          small
          value={valueOf(name)}
          choices={[any, { value: 'true', label: control.yes }, { value: 'false', label: control.no }]}
          onChange={value => setQuery({ [name]: value })}
        />
      )
    case 'range':
      return (
        <>
          <EndControl name={name} label={`${label}, from`} filter={control} />
          <span class='faint'>–</span>
          <EndControl name={max} label={`${label}, to`} filter={control} />
          {control.unit}
        </>
      )
  }
}

const any: Choice = { value: '', label: 'Any' }

interface ControlProps { readonly name: string, readonly label: string }

function TextControl ({
  name,
  label,
  placeholder,
  list
}: ControlProps & { readonly placeholder: string, readonly list?: string }): JSX.Element {
  return (
    <input
      class='input small'
      aria-label={label}
      placeholder={placeholder}
      list={list}
      autocomplete='off'
      value={valueOf(name)}
      onInput={event => setQuery({ [name]: event.currentTarget.value.trim() })}
    />
  )
}

function EndControl ({
  name,
  label,
  filter
}: ControlProps & { readonly filter: Extract<FilterControl, { kind: 'range' }> }): JSX.Element {
  return (
    <input
      class='input small'
      type='number'
      min={0}
      step={filter.unit === '$' ? 'any' : 1}
      placeholder='any'
      aria-label={label}
      value={valueOf(name)}
      onInput={event => setQuery({ [name]: event.currentTarget.value })}
    />
  )
}

/** Chooses a key by its name. A key that is not among the newest is shown by its id. */
function KeyControl ({ name, label }: ControlProps): JSX.Element {
  const { data } = useResource('keys', signal =>
    api('GET /admin/v1/keys', { query: { limit: 200 }, signal })
  )
  return (
    <Chosen
      name={name}
      label={label}
      choices={(data?.data ?? []).map(key => ({ value: key.id, label: key.name }))}
    />
  )
}

function NameControl ({
  name,
  label,
  of
}: ControlProps & { readonly of: 'providers' | 'endpoints' }): JSX.Element {
  useEffect(() => {
    void loadCatalogue()
  }, [])
  const providers = new Set(
    catalogue.value.filter(({ kind }) => kind === 'model').map(({ provider_id }) => provider_id)
  )
  return (
    <Chosen
      name={name}
      label={label}
      choices={(of === 'providers' ? [...providers] : grantedEndpoints).map(value => ({
        value,
        label: value
      }))}
    />
  )
}

function Chosen ({
  name,
  label,
  choices
}: ControlProps & { readonly choices: readonly Choice[] }): JSX.Element {
  const value = valueOf(name)
  const known = value === '' || choices.some(choice => choice.value === value)
  return (
    <PlainSelect
      name={label}
      small
      value={value}
      choices={[any, ...choices, ...(known ? [] : [{ value, label: value }])]}
      onChange={chosen => setQuery({ [name]: chosen })}
    />
  )
}

/** The model may be missing from every list. */
function ModelControl ({ name, label }: ControlProps): JSX.Element {
  useEffect(() => { void loadCatalogue() }, [])
  const list = useId()
  return (
    <>
      <TextControl name={name} label={label} placeholder='openai/gpt-5' list={list} />
      <datalist id={list}>
        {catalogue.value
          .filter(({ kind }) => kind === 'model')
          .map(({ id }) => (
            <option key={id} value={id} />
          ))}
      </datalist>
    </>
  )
}

/** Limits the overview to an end user, a session or tags. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { FilterChip } from '../calls/filter-chip.tsx'
import { attributions, isSet, type AddedFilter } from '../calls/filters.ts'
import { PlainSelect } from '../parts/select.tsx'
import { query, setQuery } from '../state/router.ts'

/** Returns the filters of the overview, as parameters of the admin API and of other pages. */
export function narrowings (): Record<string, string> {
  return Object.fromEntries(['project', ...attributions.map(({ name }) => name)].flatMap(name => {
    const value = query.value.get(name) ?? ''
    return value === '' ? [] : [[name, value]]
  }))
}

export function AttributionFilters (): JSX.Element {
  // One that is emptied stays, to be set anew.
  const added = useSignal<readonly AddedFilter[]>([])
  const shown = attributions.filter(filter => isSet(filter) || added.value.includes(filter))
  const others = attributions.filter(filter => !shown.includes(filter))
  const remove = (filter: AddedFilter): void => {
    added.value = added.value.filter(other => other !== filter)
    setQuery({ [filter.name]: undefined })
  }
  return (
    <div class='filters'>
      {shown.map(filter => (
        <FilterChip
          key={filter.name}
          filter={filter}
          isNew={added.value.at(-1) === filter}
          onRemove={() => remove(filter)}
        />
      ))}
      {others.length > 0 && (
        <PlainSelect
          name='Add a filter'
          small
          value=''
          choices={[
            { value: '', label: 'Add a filter' },
            ...others.map(({ name, label }) => ({ value: name, label }))
          ]}
          onChange={name => {
            added.value = [...added.value, ...attributions.filter(filter => filter.name === name)]
          }}
        />
      )}
    </div>
  )
}

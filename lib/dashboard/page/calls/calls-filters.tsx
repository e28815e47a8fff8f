/** The filters above the list of calls: common ones, and those that were added. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { Search } from '../parts/search.tsx'
import { PlainSelect } from '../parts/select.tsx'
import { projectChoices } from '../state/names.ts'
import { choosePeriod, currentPeriod, periodChoices } from '../state/period.ts'
import { query, setQuery } from '../state/router.ts'
import { range } from '../format/time.ts'
import { FilterChip } from './filter-chip.tsx'
import { addedFilters, clearFilters, isSet, namesOf, outcomeChoices, type AddedFilter } from './filters.ts'

export interface CallsFiltersProps {
  readonly live: boolean
  readonly onLive: (on: boolean) => void
}

export function CallsFilters ({ live, onLive }: CallsFiltersProps): JSX.Element {
  const id = useId()
  // One that is emptied stays, to be set anew.
  const added = useSignal<readonly AddedFilter[]>(addedFilters.filter(isSet))
  const newest = useSignal<AddedFilter | undefined>(undefined)
  const value = (name: string): string => query.value.get(name) ?? ''
  const period = currentPeriod()
  const custom =
    period.name === 'custom' ? [{ value: 'custom', label: range(period.fromMs, period.untilMs) }] : []
  const shown = [
    ...addedFilters.filter(filter => isSet(filter) && !added.value.includes(filter)),
    ...added.value
  ]
  const others = addedFilters
    .filter(filter => !shown.includes(filter))
    .map(({ name, label }) => ({ value: name, label }))
  const add = (name: string): void => {
    const filter = addedFilters.find(other => other.name === name)
    if (filter === undefined) return
    newest.value = filter
    added.value = [...added.value, filter]
  }
  const remove = (filter: AddedFilter): void => {
    added.value = added.value.filter(other => other !== filter)
    setQuery(Object.fromEntries(namesOf(filter).map(name => [name, undefined])))
    document.getElementById(id)?.focus() // its button is gone
  }
  const clear = (): void => {
    added.value = []
    clearFilters()
  }
  return (
    <>
      <div class='filters'>
        <Search
          label='Search request, model, key or error'
          value={value('search')}
          onSearch={search => setQuery({ search })}
        />
        <PlainSelect
          name='Outcome'
          value={value('outcome')}
          choices={outcomeChoices}
          onChange={outcome => setQuery({ outcome })}
        />
        {projectChoices().length > 1 && (
          <PlainSelect
            name='Project'
            value={value('project')}
            choices={[{ value: '', label: 'All projects' }, ...projectChoices()]}
            onChange={project => setQuery({ project })}
          />
        )}
        {!live && (
          <PlainSelect
            name='Period'
            value={period.name}
            choices={[
              ...periodChoices.map(choice => ({
                ...choice,
                label: `Last ${choice.label.replace(/^1 /, '')}`
              })),
              { value: 'all', label: 'All time' },
              ...custom
            ]}
            onChange={choosePeriod}
          />
        )}
        <PlainSelect
          id={id}
          name='Add a filter'
          value=''
          choices={[{ value: '', label: 'Add a filter' }, ...others]}
          onChange={add}
        />
        <span class='grow' />
        <Button
          icon={live ? 'stop' : 'play'}
          kind={live ? 'primary' : 'plain'}
          pressed={live}
          onClick={() => onLive(!live)}
        >
          {live ? 'Stop' : 'Follow live'}
        </Button>
      </div>
      {shown.length > 0 && (
        <div class='filters'>
          {shown.map(filter => (
            <FilterChip
              key={filter.name}
              filter={filter}
              isNew={newest.value === filter}
              onRemove={() => remove(filter)}
            />
          ))}
          <Button kind='plain' small onClick={clear}>
            Clear all
          </Button>
        </div>
      )}
    </>
  )
}

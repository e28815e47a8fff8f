/** The filters above the list of calls: what is often used in one row, the rest behind a button. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Button } from '../parts/button.tsx'
import { Search } from '../parts/search.tsx'
import { PlainSelect } from '../parts/select.tsx'
import { projectChoices } from '../state/names.ts'
import { query, setQuery } from '../state/router.ts'
import { currentPeriodName, moreFilters, outcomeChoices, periods } from './filters.ts'
import { MoreFilters } from './more-filters.tsx'

export interface CallsFiltersProps {
  readonly live: boolean
  readonly onLive: (on: boolean) => void
}

export function CallsFilters ({ live, onLive }: CallsFiltersProps): JSX.Element {
  const more = useSignal(moreFilters() > 0)
  const value = (name: string): string => query.value.get(name) ?? ''
  return (
    <>
      <div class='filters'>
        <Search label='Search request, model, key or error' value={value('search')} onSearch={search => setQuery({ search })} />
        <PlainSelect name='Outcome' value={value('outcome')} choices={outcomeChoices} onChange={outcome => setQuery({ outcome })} />
        {projectChoices().length > 1 && <PlainSelect name='Project' value={value('project')} choices={[{ value: '', label: 'All projects' }, ...projectChoices()]} onChange={project => setQuery({ project })} />}
        {!live && <PlainSelect name='Period' value={currentPeriodName()} choices={periods} onChange={period => setQuery({ period: period === 'day' ? undefined : period })} />}
        <Button pressed={more.value} onClick={() => { more.value = !more.value }}>Filters{moreFilters() > 0 && ` (${moreFilters()})`}</Button>
        <span class='grow' />
        <Button icon={live ? 'stop' : 'play'} kind={live ? 'primary' : 'plain'} pressed={live} onClick={() => onLive(!live)}>{live ? 'Stop' : 'Follow live'}</Button>
      </div>
      {more.value && <MoreFilters />}
    </>
  )
}
